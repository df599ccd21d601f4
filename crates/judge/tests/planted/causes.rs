//! Runs written by hand, and the cause that they must get.

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_judge::{Evidence, Laboratory, causes, oracles};
use anchorite_model::{Level, Run};
use anchorite_stage::{FreshTables, RunOptions};

use crate::told::run;

/// The name of the first cause of a violation that the final-state oracle sees.
fn cause_of(run: &Run) -> String {
    cause_by("final-state", run)
}

/// The name of the first cause of a violation that this oracle sees.
fn cause_by(oracle: &str, run: &Run) -> String {
    let claims = Claims::for_product(run.target.product);
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    let mut fresh = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    let mut laboratory = Laboratory::new(&mut fresh, None);
    let evidence = Evidence::new(run, claims, BTreeMap::new());
    let oracle = oracles::named(oracle).expect("there is one");
    let judgement = oracle.judgement(&evidence, &mut laboratory).expect("SQLite answers");
    let found = causes(&evidence, &judgement, &mut laboratory).expect("SQLite answers");
    found.first().expect("it is a violation").name()
}

/// Two transactions that read what the other one writes: every statement is right, the order is not.
#[test]
fn keys_that_are_taken_are_no_matter_of_snapshots() {
    let text = "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
                setup INSERT INTO t VALUES (1, 0)
                t1 BEGIN
                t1 DELETE FROM t -> 1
                t2 BEGIN
                t2 SELECT * FROM t -> (1, 0)
                t2 INSERT INTO t VALUES (1, 7) ON CONFLICT (a) DO NOTHING -> waits
                t1 COMMIT
                t2 INSERT INTO t VALUES (1, 7) ON CONFLICT (a) DO NOTHING -> 1
                t2 COMMIT
                t = (1, 7)";
    let run = run("postgres 15.0", Level::Serializable, text);
    assert_eq!(cause_of(&run), "no-order-conflict-clause");
}

#[test]
fn a_transaction_that_an_error_has_ended_holds_nothing() {
    let text = "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
                setup INSERT INTO t VALUES (1, 0), (2, 0)
                t1 BEGIN
                t1 UPDATE t SET b = 1 WHERE a = 2 -> 1
                t2 BEGIN
                t2 INSERT INTO t VALUES (3, 0) -> 1
                t2 SELECT * FROM t -> (1, 0), (2, 0), (3, 0)
                t3 BEGIN
                t3 UPDATE t SET b = 2 WHERE a = 1 -> 1
                t3 UPDATE t SET b = 2 WHERE a = 2 -> waits
                t4 DELETE FROM t -> waits
                t2 COMMIT
                t1 ROLLBACK
                t3 UPDATE t SET b = 2 WHERE a = 2 -> fails
                t4 DELETE FROM t -> 2
                t3 ROLLBACK
                t = (3, 0)";
    let run = run("postgres 15.0", Level::Serializable, text);
    assert_eq!(cause_of(&run), "no-order");
}

/// The answers of two statements that one COMMIT sets free say nothing about which of them worked first.
#[test]
fn of_two_that_were_set_free_together_either_may_have_come_first() {
    let text = "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
                setup INSERT INTO t VALUES (6, 0)
                t1 BEGIN
                t1 UPDATE t SET a = 0 -> 1
                t2 DELETE FROM t -> waits
                t3 INSERT INTO t VALUES (6, 6) -> waits
                t1 COMMIT
                t2 DELETE FROM t -> 1
                t3 INSERT INTO t VALUES (6, 6) -> 1
                t = (0, 0)";
    let run = run("mariadb 10.11.18", Level::ReadCommitted, text);
    assert_eq!(cause_of(&run), "row-missed-primary-key-moved");
}

/// One mistake would be enough, but that row had given nobody a reason.
#[test]
fn two_rows_that_were_moved_explain_more_than_one_that_nobody_touched() {
    let text = "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
                setup INSERT INTO t VALUES (0, 1), (-1, 0)
                t1 BEGIN
                t1 UPDATE t SET a = -2 WHERE a = -1 -> 1
                t2 DELETE FROM t -> waits
                t3 UPDATE t SET b = 1 WHERE b = 0 -> waits
                t1 COMMIT
                t2 DELETE FROM t -> 1
                t3 UPDATE t SET b = 1 WHERE b = 0 -> 0
                t4 DELETE FROM t -> 1
                t = -";
    let run = run("mariadb 10.11.18", Level::ReadCommitted, text);
    assert_eq!(cause_of(&run), "row-missed-primary-key-moved");
}

/// Without a primary key, the first unique key without NULLs is the one by which rows are found.
#[test]
fn a_unique_key_without_nulls_serves_as_primary_key() {
    let run_with = |columns: &str| {
        let text = format!(
            "setup CREATE TABLE t ({columns})
             setup INSERT INTO t VALUES (1, 0)
             t1 BEGIN
             t1 UPDATE t SET a = 0 -> 1
             t2 DELETE FROM t -> waits
             t1 COMMIT
             t2 DELETE FROM t -> 0
             t = (0, 0)"
        );
        cause_of(&run("mariadb 10.11.18", Level::ReadCommitted, &text))
    };
    assert_eq!(run_with("a INT NOT NULL UNIQUE, b INT"), "row-missed-primary-key-moved");
    assert_eq!(run_with("a INT UNIQUE, b INT"), "row-missed-unique-key-moved");
    let other = "a INT NOT NULL UNIQUE, b INT PRIMARY KEY";
    assert_eq!(run_with(other), "row-missed-unique-key-moved");
}

/// The row that was inserted behind the scan may be missed; the one that was moved may not.
#[test]
fn a_row_may_be_missed_beside_one_that_was_inserted_meanwhile() {
    let text = "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
                setup INSERT INTO t VALUES (3, 0)
                t1 BEGIN
                t1 UPDATE t SET a = 2 -> 1
                t2 UPDATE t SET b = 1 -> waits
                t3 INSERT INTO t VALUES (0, 0) -> 1
                t1 COMMIT
                t2 UPDATE t SET b = 1 -> 0
                t = (0, 0), (2, 0)";
    let run = run("mariadb 10.11.18", Level::ReadCommitted, text);
    assert_eq!(cause_of(&run), "row-missed-primary-key-moved");
}

/// Only one may write at a time, and only on what it has read: whoever writes on an old snapshot should have failed,
/// whether it finds rows, writes beside what has changed, or writes over it.
#[test]
fn who_writes_on_an_old_snapshot_has_missed_a_conflict() {
    let run_with = |write: &str, rows: &str| {
        let text = format!(
            "setup CREATE TABLE t (a INT, b INT)
             setup INSERT INTO t VALUES (1, 0)
             t1 BEGIN
             t1 SELECT * FROM t -> (1, 0)
             t2 UPDATE t SET b = 1 -> 1
             t1 {write}
             t1 COMMIT
             t = {rows}"
        );
        cause_of(&run("sqlite 3.50.0", Level::Serializable, &text))
    };
    assert_eq!(run_with("DELETE FROM t WHERE b = 1 -> 0", "(1, 1)"), "conflict-missed");
    assert_eq!(run_with("INSERT INTO t VALUES (5, 5) -> 1", "(1, 1), (5, 5)"), "conflict-missed");
    assert_eq!(run_with("INSERT INTO t VALUES (5, 5) -> 1", "(1, 0), (5, 5)"), "conflict-missed");
    // It has looked at what was committed since.
    assert_eq!(run_with("UPDATE t SET a = 2 -> 1", "(2, 1)"), "later-version-used");
}

/// The snapshot of a transaction is taken by its first statement, and no later one sees more.
#[test]
fn a_second_read_may_not_see_what_was_committed_after_the_first() {
    let text = "setup CREATE TABLE t (a INT, b INT)
                setup INSERT INTO t VALUES (1, 0)
                t1 BEGIN
                t1 SELECT * FROM t -> (1, 0)
                t2 UPDATE t SET b = 1 -> 1
                t1 SELECT * FROM t -> (1, 1)
                t1 COMMIT
                t = (1, 1)";
    let run = run("sqlite 3.50.0", Level::Serializable, text);
    assert_eq!(cause_of(&run), "later-version-used");
}

/// That a statement fails is how it shows that it has looked at a row that was gone.
#[test]
fn an_error_is_not_the_cause_of_itself() {
    let text = "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
                setup INSERT INTO t VALUES (1, 0)
                t1 DELETE FROM t -> 1
                t2 BEGIN
                t2 INSERT INTO t VALUES (1, 5) -> taken
                t2 COMMIT
                t = -";
    let run = run("sqlite 3.50.0", Level::Serializable, text);
    assert_eq!(cause_by("errors", &run), "stale-version-used");
    assert_eq!(cause_of(&run), "stale-version-used");
}

/// Who began as the writer of the database is the only one, whatever else goes wrong between the two.
#[test]
fn a_second_writer_explains_what_both_have_lost() {
    let text = "setup CREATE TABLE t (a INT, b INT)
                setup INSERT INTO t VALUES (0, 0)
                t1 BEGIN IMMEDIATE
                t2 UPDATE t SET a = 1 -> 1
                t1 DELETE FROM t WHERE a = 1 -> 0
                t1 COMMIT
                t = (1, 0)";
    assert_eq!(cause_of(&run("sqlite 3.50.0", Level::Serializable, text)), "did-not-wait");
}
