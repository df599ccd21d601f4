//! Runs written by hand, each with one thing in it that a level permits or forbids, and the verdict that it must get.
//!
//! A run is a text: who sends what, and what is answered. Serial orders and single rows are tried on embedded SQLite,
//! whatever product the run is said to be of.

mod causes;
mod locks;
mod told;

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_judge::{Evidence, Laboratory, oracles};
use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Case, Level, Outcome, Rank, Run, RunError, Runner, Verdict};
use anchorite_stage::{FreshTables, RunOptions};
use told::run;

/// SQLite, but an UPDATE counts the rows that it changes, and not those that it matches, as MySQL does.
struct CountsChanges<'a>(FreshTables<'a>);

impl Runner for CountsChanges<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        let mut run = self.0.run(case, level)?;
        let mut before = Case { steps: Vec::new(), ..case.clone() };
        for (at, step) in case.steps.iter().enumerate() {
            if StatementKind::of(&step.statement.sql) == StatementKind::Update {
                let old = self.0.run(&before, level)?.final_state;
                let after = Case { steps: case.steps[..=at].to_vec(), ..case.clone() };
                let new = self.0.run(&after, level)?.final_state;
                let rows = old.iter().zip(&new).flat_map(|((_, old), (_, new))| {
                    old.rows.iter().filter(|row| !new.rows.contains(row))
                });
                let affected = Some(rows.count() as u64);
                let event = run.events.iter_mut().find(|event| event.n == at + 1);
                if let Some(Outcome::Ok(answer)) = event.map(|event| &mut event.outcome) {
                    answer.affected = affected;
                }
            }
            before.steps.push(step.clone());
        }
        Ok(run)
    }
}

fn judged(oracle: &str, run: &Run) -> String {
    let claims = Claims::for_product(run.target.product);
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    let mut fresh = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    let mut counting =
        CountsChanges(FreshTables { target: target.as_ref(), options: RunOptions::default() });
    let counts_changes = run.target.product.dialect() == Dialect::Mysql;
    let runner: &mut dyn Runner = if counts_changes { &mut counting } else { &mut fresh };
    let mut laboratory = Laboratory::new(runner, None);
    let evidence = Evidence::new(run, claims, BTreeMap::new());
    let oracle = oracles::named(oracle).expect("there is one");
    match oracle.judgement(&evidence, &mut laboratory).expect("SQLite answers").verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Violation { rank: Rank::Undocumented, anomaly, .. } => {
            format!("undocumented {anomaly}")
        }
        Verdict::Violation { .. } => "violation".to_owned(),
        Verdict::Allowed { exception, .. } => format!("allowed {exception}"),
        Verdict::Undecided { reason } => format!("undecided: {reason}"),
    }
}

#[test]
fn what_is_ahead_of_a_scan_is_not_excused() {
    let text = |key: i32, columns: &str| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT{columns})
             setup INSERT INTO t VALUES (1, 0), (5, 0)
             t1 BEGIN
             t1 UPDATE t SET b = 1 WHERE a = 1 -> 1
             t2 DELETE FROM t -> waits
             t1 INSERT INTO t VALUES ({key}, 7) -> 1
             t1 COMMIT
             t2 DELETE FROM t -> 2
             t = ({key}, 7)"
        )
    };
    let verdict =
        |target: &str, text: &str| judged("final-state", &run(target, Level::ReadCommitted, text));
    for target in ["mariadb 10.11.6", "mysql 9.7.0"] {
        assert_eq!(verdict(target, &text(9, "")), "violation");
        assert_eq!(verdict(target, &text(3, "")), "violation");
        assert_eq!(verdict(target, &text(0, "")), "allowed free-insertion");
        // If another index may be used, the order of the scan is not known.
        let indexed =
            text(9, ", UNIQUE (b, a)").replace("DELETE FROM t", "DELETE FROM t WHERE b < 8");
        let reason = verdict(target, &indexed);
        assert!(
            reason.ends_with("in which order a scan that waited came to its rows is not known"),
            "{reason}"
        );
    }
}

#[test]
fn a_row_that_did_not_match_is_excused_behind_a_scan_only() {
    let text = |first: i32, second: i32| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup INSERT INTO t VALUES ({first}, 9), (5, 0), ({second}, 9)
             t1 BEGIN
             t1 UPDATE t SET b = 1 WHERE a = 5 -> 1
             t2 DELETE FROM t WHERE b < 5 -> waits
             t1 UPDATE t SET b = 2 WHERE a = 7 -> 1
             t1 COMMIT
             t2 DELETE FROM t WHERE b < 5 -> 1
             t = ({first}, {}), ({second}, {})",
            if first == 7 { 2 } else { 9 },
            if second == 7 { 2 } else { 9 }
        )
    };
    let verdict =
        |text: &str| judged("final-state", &run("mysql 9.7.0", Level::ReadCommitted, text));
    assert_eq!(verdict(&text(1, 7)), "violation");
    assert_eq!(
        verdict(&text(7, 1).replace("(5, 0)", "(8, 0)").replace("a = 5", "a = 8")),
        "allowed released-row"
    );
}

#[test]
fn a_retried_statement_sees_one_state() {
    let text = |count: u32, last: u32| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup INSERT INTO t VALUES (1, 0), (2, 0)
             t1 BEGIN
             t1 UPDATE t SET b = 1 WHERE a = 1 -> 1
             t2 UPDATE t SET b = b + 10 -> waits
             t1 INSERT INTO t VALUES (0, 0) -> 1
             t1 COMMIT
             t2 UPDATE t SET b = b + 10 -> {count}
             t = (0, {last}), (1, 11), (2, 10)"
        )
    };
    for target in ["tidb 8.5.0", "cockroach 24.1.0"] {
        let verdict = |text: &str| judged("final-state", &run(target, Level::ReadCommitted, text));
        assert_eq!(verdict(&text(3, 10)), "pass", "{target}");
        assert_eq!(verdict(&text(2, 0)), "violation", "{target}");
    }
}

#[test]
fn a_locking_read_before_a_write_holds_its_rows() {
    let text = |count: &str| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup CREATE TABLE p (a INT PRIMARY KEY, b INT)
             setup CREATE TABLE c (a INT PRIMARY KEY, b INT REFERENCES p (a) ON DELETE CASCADE)
             setup INSERT INTO t VALUES (1, 0)
             t1 BEGIN
             t1 SELECT * FROM t WHERE a = 1 FOR UPDATE -> (1, 0)
             t1 UPDATE t SET b = 1 WHERE a = 1 -> 1
             t2 UPDATE t SET b = 5 WHERE a = {count}
             t1 COMMIT
             c = -
             p = -
             t = (1, 5)"
        )
    };
    let verdict = |text: &str| judged("lock", &run("postgres 15.0", Level::ReadCommitted, text));
    assert_eq!(verdict(&text("1 -> 1")), "violation");
    assert_eq!(verdict(&text("2 -> 0")), "pass");
}

/// A foreign key's action, and a fault that it has nothing to do with.
#[test]
fn actions_of_foreign_keys_do_not_hide_other_tables() {
    let text = |children: &str, other: u32| {
        format!(
            "setup CREATE TABLE p (a INT PRIMARY KEY, b INT)
             setup CREATE TABLE c (a INT PRIMARY KEY, b INT REFERENCES p (a) ON DELETE CASCADE)
             setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup INSERT INTO p VALUES (1, 0), (2, 0)
             setup INSERT INTO c VALUES (10, 1), (20, 2)
             setup INSERT INTO t VALUES (1, 0), (2, 0)
             t1 BEGIN
             t2 BEGIN
             t1 UPDATE t SET b = 1 WHERE b = 0 -> 2
             t2 DELETE FROM p WHERE a = 1 -> 1
             t2 UPDATE p SET b = 7 -> 1
             t1 INSERT INTO p VALUES (3, 0) -> 1
             t2 COMMIT
             t1 UPDATE p SET b = 5 WHERE b = 7 -> 1
             t1 COMMIT
             c = {children}
             p = (2, 5), (3, 0)
             t = (1, 1), (2, {other})"
        )
    };
    let verdict =
        |text: &str| judged("final-state", &run("mysql 9.7.0", Level::ReadCommitted, text));
    assert_eq!(verdict(&text("(20, 2)", 1)), "pass");
    assert_eq!(verdict(&text("(20, 2)", 0)), "violation", "a row of t is missed");
    assert_eq!(verdict(&text("(10, 1), (20, 2)", 1)), "violation", "the action is missed");
}

#[test]
fn what_an_insert_reads_of_a_transaction_that_is_rolled_back_is_wrong() {
    let text = |count: u32, rows: &str| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup CREATE TABLE u (a INT, b INT)
             setup INSERT INTO t VALUES (1, 0)
             t1 BEGIN
             t1 INSERT INTO t VALUES (7, 7) -> 1
             t2 INSERT INTO u SELECT * FROM t -> {count}
             t1 ROLLBACK
             t = (1, 0)
             u = {rows}"
        )
    };
    for target in ["mysql 9.7.0", "mariadb 10.11.6", "postgres 15.0"] {
        let verdict = |text: &str| judged("final-state", &run(target, Level::ReadCommitted, text));
        assert_eq!(verdict(&text(1, "(1, 0)")), "pass", "{target}");
        assert_eq!(verdict(&text(2, "(1, 0), (7, 7)")), "violation", "{target}");
    }
}

/// The query of an INSERT finds what was there before it waited, and its key is free when it is inserted.
#[test]
fn an_insert_may_read_before_it_waits_and_find_its_key_free_afterwards() {
    let text = "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
                setup INSERT INTO t VALUES (1, 0)
                t1 BEGIN
                t1 UPDATE t SET a = 2 -> 1
                t2 INSERT INTO t SELECT COALESCE(MAX(a), 0) + 1, 0 FROM t WHERE a <> 1 -> waits
                t1 COMMIT
                t2 INSERT INTO t SELECT COALESCE(MAX(a), 0) + 1, 0 FROM t WHERE a <> 1 -> 1
                t = (1, 0), (2, 0)";
    let verdict = judged("final-state", &run("mariadb 10.11.6", Level::ReadCommitted, text));
    assert!(verdict.ends_with("what an INSERT that waited has read is not known"), "{verdict}");
}

#[test]
fn the_rows_of_returning_are_compared() {
    let text = |rows: &str| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup INSERT INTO t VALUES (1, 0)
             t1 UPDATE t SET b = b + 1 RETURNING a, b -> 1: {rows}
             t = (1, 1)"
        )
    };
    let verdict =
        |text: &str| judged("final-state", &run("postgres 15.0", Level::ReadCommitted, text));
    assert_eq!(verdict(&text("(1, 1)")), "pass");
    assert_eq!(verdict(&text("(1, 0)")), "violation");
}

/// What a query inside a write may read at read uncommitted: every version that was there, also one that is taken back
/// later, and nothing else.
#[test]
fn a_query_inside_a_write_reads_what_was_there() {
    let text = |count: u32, rows: &str| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup CREATE TABLE u (a INT, b INT)
             setup INSERT INTO t VALUES (1, 0)
             t1 BEGIN
             t1 UPDATE t SET b = 5 -> 1
             t1 INSERT INTO t VALUES (7, 7) -> 1
             t1 INSERT INTO t VALUES (8, 8) -> 1
             t1 DELETE FROM t WHERE a = 8 -> 1
             t2 INSERT INTO u SELECT * FROM t -> {count}
             t1 ROLLBACK
             t = (1, 0)
             u = {rows}"
        )
    };
    for (target, dirty) in
        [("mysql 9.7.0", "allowed dirty-read"), ("mariadb 10.11.6", "undocumented dirty-read")]
    {
        let verdict =
            |text: &str| judged("final-state", &run(target, Level::ReadUncommitted, text));
        assert_eq!(verdict(&text(1, "(1, 0)")), "pass", "{target}");
        assert_eq!(verdict(&text(2, "(1, 5), (7, 7)")), dirty, "{target}");
        assert_eq!(verdict(&text(1, "(7, 7)")), "violation", "{target}: a row is missed");
        assert_eq!(verdict(&text(2, "(1, 0), (8, 8)")), "violation", "{target}: a row was gone");
    }
}

/// A query inside an UPDATE decides about a row that another transaction never committed.
#[test]
fn a_condition_may_find_what_is_not_committed() {
    let text = |condition: &str, count: u32, value: u32| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup CREATE TABLE u (a INT, b INT)
             setup INSERT INTO t VALUES (1, 0)
             t1 BEGIN
             t1 INSERT INTO u VALUES (3, 3) -> 1
             t2 UPDATE t SET b = 9 WHERE {condition} (SELECT 1 FROM u WHERE u.a = 3) -> {count}
             t1 ROLLBACK
             t = (1, {value})
             u = -"
        )
    };
    let verdict =
        |text: &str| judged("final-state", &run("mysql 9.7.0", Level::ReadUncommitted, text));
    assert_eq!(verdict(&text("EXISTS", 0, 0)), "pass");
    assert_eq!(verdict(&text("EXISTS", 1, 9)), "allowed dirty-read");
    assert_eq!(verdict(&text("NOT EXISTS", 0, 0)), "allowed dirty-read");
    assert_eq!(verdict(&text("1 = 2 AND EXISTS", 1, 9)), "violation");
}

/// An UPDATE that would leave a row as it is has to lock it all the same.
#[test]
fn a_row_that_keeps_its_values_is_waited_for() {
    let text = |value: u32| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup INSERT INTO t VALUES (1, {value}), (2, 0)
             t1 BEGIN
             t2 BEGIN
             t1 UPDATE t SET b = 5 WHERE a = 1 -> 1
             t2 UPDATE t SET b = 1 WHERE b < 3 OR b = 5 -> 1
             t1 COMMIT
             t2 UPDATE t SET b = b + 10 WHERE b = 5 -> 1
             t2 COMMIT
             t = (1, 15), (2, 1)"
        )
    };
    for target in ["mysql 9.7.0", "mariadb 10.11.6"] {
        let verdict = |text: &str| judged("final-state", &run(target, Level::ReadCommitted, text));
        assert_eq!(
            verdict(&text(4)),
            "allowed semi-consistent-read",
            "{target}: it does not match"
        );
        assert_eq!(verdict(&text(1)), "violation", "{target}: it keeps its value");
    }
}

/// Where an UPDATE judges rows by what is not committed, it may pass a row whose key was moved, and moved back.
#[test]
fn a_row_that_was_elsewhere_may_be_passed_by_a_dirty_look() {
    let text = "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
                setup INSERT INTO t VALUES (1, 0)
                t1 BEGIN
                t1 UPDATE t SET a = 2 -> 1
                t2 UPDATE t SET b = 1 -> waits
                t1 ROLLBACK
                t2 UPDATE t SET b = 1 -> 0
                t = (1, 0)";
    let mut run = run("mariadb 11.8.6", Level::ReadUncommitted, text);
    assert_eq!(judged("final-state", &run), "violation");
    for session in &mut run.sessions {
        session.level_read_back += ", innodb_snapshot_isolation=ON";
    }
    assert_eq!(judged("final-state", &run), "undocumented dirty-look");
}

/// A foreign key's action passes a changed key on: the row is still the same one for those who wait for it.
#[test]
fn a_row_whose_key_is_passed_on_is_found_again() {
    let text = |first: u32, second: u32, rows: &str| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup CREATE TABLE u (a INT, b INT REFERENCES t (a) ON UPDATE CASCADE)
             setup INSERT INTO t VALUES (1, 0)
             setup INSERT INTO u VALUES (0, 1)
             t1 BEGIN
             t1 UPDATE t SET a = 2 -> 1
             t1 INSERT INTO t VALUES (1, 5) -> 1
             t2 BEGIN
             t2 UPDATE t SET b = 7 -> waits
             t1 COMMIT
             t2 UPDATE t SET b = 7 -> {first}
             t2 DELETE FROM t WHERE a = 1 -> {second}
             t2 COMMIT
             t = {rows}
             u = (0, 2)"
        )
    };
    let verdict =
        |text: &str| judged("final-state", &run("postgres 15.0", Level::ReadCommitted, text));
    assert_eq!(verdict(&text(1, 1, "(2, 7)")), "allowed statement-snapshot");
    assert_eq!(verdict(&text(0, 1, "(2, 0)")), "violation", "the row is missed");
    assert_eq!(verdict(&text(1, 1, "(2, 0)")), "violation", "the change is lost");
}

/// MariaDB documents that an UPDATE skips locked rows only where it scans with a condition that is not unique.
#[test]
fn a_unique_condition_skips_no_locked_row() {
    let text = |condition: &str| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, UNIQUE (c))
             setup INSERT INTO t VALUES (1, 0, 7)
             t1 BEGIN
             t2 BEGIN
             t1 UPDATE t SET b = 5 WHERE a = 1 -> 1
             t2 UPDATE t SET b = 6 WHERE {condition} AND b = 5 -> 0
             t1 COMMIT
             t2 UPDATE t SET b = b + 10 WHERE b = 5 -> 1
             t2 COMMIT
             t = (1, 15, 7)"
        )
    };
    let verdict = |target: &str, condition: &str| {
        judged("final-state", &run(target, Level::ReadCommitted, &text(condition)))
    };
    let allowed = "allowed semi-consistent-read";
    for (condition, on_mariadb) in [
        ("a = 1", "violation"),
        ("c = 7", "violation"),
        ("a < 3", allowed),
        ("c < 9", "whether an UPDATE that skipped a row scanned its table is not known"),
    ] {
        let found = verdict("mariadb 10.11.6", condition);
        assert!(found.ends_with(on_mariadb), "{condition}: {found}");
        assert_eq!(verdict("mysql 9.7.0", condition), allowed, "{condition}");
    }
}
