//! Locks that a run must show.

use anchorite_model::Level;

use super::judged;
use super::told::run;

/// On TiDB a point query locks its key at repeatable read, even if there is no row.
#[test]
fn a_point_query_locks_a_key_that_is_not_there() {
    let text = |first: &str, key: u32| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup INSERT INTO t VALUES (1, 0)
             t1 BEGIN
             t2 BEGIN
             t1 {first} -> 0
             t2 INSERT INTO t VALUES ({key}, 5) -> 1
             t2 COMMIT
             t1 COMMIT
             t = (1, 0), ({key}, 5)"
        )
    };
    let verdict = |level: Level, text: &str| judged("lock", &run("tidb 8.5.0", level, text));
    let (rc, rr) = (Level::ReadCommitted, Level::RepeatableRead);
    for first in ["UPDATE t SET b = 1 WHERE a = 2", "DELETE FROM t WHERE a = 2"] {
        assert_eq!(verdict(rr, &text(first, 2)), "violation", "{first}");
        assert_eq!(verdict(rr, &text(first, 3)), "pass", "{first}: another key");
        assert_eq!(verdict(rc, &text(first, 2)), "pass", "{first}: not at this level");
        let range = first.replace("a = 2", "a >= 2");
        assert_eq!(verdict(rr, &text(&range, 2)), "pass", "{range}: no point query");
        let optimistic = text(first, 2).replace("t2 BEGIN", "t2 BEGIN OPTIMISTIC");
        assert_eq!(verdict(rr, &optimistic), "pass", "{first}: who inserts does not wait");
    }
}

/// SQLite has one writer at a time, whatever rows and tables the two are at.
#[test]
fn two_writers_at_a_time_are_one_too_many() {
    let text = |second: &str, meanwhile: &str, later: &str| {
        format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup CREATE TABLE u (a INT)
             setup INSERT INTO t VALUES (1, 0), (2, 0)
             t1 BEGIN
             t1 UPDATE t SET b = 1 WHERE a = 1 -> 1
             {meanwhile}
             {second}
             {later}
             t = (1, 1), (2, 0)
             u = (5)"
        )
    };
    let verdict = |text: &str| judged("lock", &run("sqlite 3.50.0", Level::Serializable, text));
    let (end, insert) = ("t1 COMMIT", "t2 INSERT INTO u VALUES (5) -> 1");
    assert_eq!(verdict(&text(insert, "", end)), "violation");
    assert_eq!(verdict(&text(insert, end, "")), "pass", "one after the other");
    let nothing = "t2 DELETE FROM u -> 0";
    assert_eq!(verdict(&text(nothing, "", end)), "pass", "nothing is written");
    let begun = |begin: &str, first: &str, end: &str| {
        let text = format!(
            "setup CREATE TABLE t (a INT PRIMARY KEY, b INT)
             setup CREATE TABLE u (a INT)
             t1 {begin}
             {first}
             {end}
             t2 INSERT INTO u VALUES (5) -> 1
             t = -
             u = (5)"
        );
        verdict(&text)
    };
    let finds_nothing = "t1 DELETE FROM t -> 0";
    assert_eq!(begun("BEGIN", finds_nothing, ""), "violation", "a write statement makes a writer");
    assert_eq!(begun("BEGIN IMMEDIATE", "", ""), "violation", "so does its BEGIN");
    assert_eq!(begun("BEGIN", "t1 SELECT * FROM t -> -", ""), "pass", "a reader is no writer");
    assert_eq!(begun("BEGIN IMMEDIATE", "", end), "pass", "one after the other");
    // A COMMIT that a deferred key refuses leaves the transaction open, and it is rolled back at the end of the run.
    let waits = format!("{}\n{insert}", insert.replace("-> 1", "-> waits"));
    assert_eq!(verdict(&text(&waits, "", "")), "pass", "it waited for one that never ended");
    assert_eq!(verdict(&text(insert, "", "")), "violation", "nor did it wait");
}
