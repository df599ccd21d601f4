//! Runs written by hand, and the cause that they must get.

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_judge::{Evidence, Laboratory, causes, oracles};
use anchorite_model::{Level, Run};
use anchorite_stage::{FreshTables, RunOptions};

use crate::told::run;

/// The name of the first cause of a violation.
fn cause_of(run: &Run) -> String {
    let claims = Claims::for_product(run.target.product);
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    let mut fresh = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    let mut laboratory = Laboratory::new(&mut fresh, None);
    let evidence = Evidence::new(run, claims, BTreeMap::new());
    let oracle = oracles::named("final-state").expect("there is one");
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
