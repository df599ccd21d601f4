//! Levels, types, errors, limits, and what is left behind.

use std::path::Path;
use std::time::Duration;

use anchorite_model::{ErrorClass, Level, Value};

use super::super::{Sqlite, Variant};
use super::{Fixture, check, options, told};
use crate::{SessionOptions, Target, TargetError, execute};

const VARIANTS: [Variant; 3] = [Variant::Journal, Variant::Wal, Variant::SharedCache];
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn targets_are_known_by_their_variant() {
    for variant in VARIANTS {
        let target = Sqlite::connect(variant.name()).expect("the variant has a name");
        assert_eq!(target.info().variant, variant.name());
        assert!(target.info().version.starts_with("3."));
    }
    let error = Sqlite::connect("shared").expect_err("there is no such variant").to_string();
    assert!(error.contains("sqlite:shared-cache"), "{error}");
}

#[test]
fn levels_are_set_and_read_back() {
    let table = [
        (Variant::Journal, None, "serializable (rollback journal)"),
        (Variant::Wal, Some(Level::Serializable), "serializable (write-ahead log)"),
        (Variant::SharedCache, None, "serializable (shared cache)"),
        (Variant::SharedCache, Some(Level::ReadUncommitted), "read uncommitted (shared cache)"),
    ];
    for (variant, level, expected) in table {
        let schema = Sqlite::new(variant).create_schema().expect("a folder can be made");
        let opened = schema.open(&options(level)).expect("the level exists");
        assert_eq!(opened.level_read_back, expected);
    }
    for (variant, level) in
        [(Variant::Wal, Level::ReadUncommitted), (Variant::SharedCache, Level::RepeatableRead)]
    {
        let schema = Sqlite::new(variant).create_schema().expect("a folder can be made");
        let error = schema.open(&options(Some(level))).err().expect("the level does not exist");
        assert!(matches!(error, TargetError::UnsupportedLevel { .. }), "{error}");
    }
}

#[test]
fn values_are_typed_and_columns_named() {
    let mut fixture = Fixture::new(Variant::Journal, None, 1);
    let session = fixture.sessions[0].session.as_mut();
    let sql =
        "SELECT NULL AS n, 1 AS i, 1.5 AS r, 'é;' AS t, x'00ff' AS b, CAST(x'ff' AS TEXT) AS u";
    let answer = execute(session, sql, LIMIT).expect("the statement is right");
    let result = &answer.results[0];
    assert_eq!(result.columns, ["n", "i", "r", "t", "b", "u"]);
    let expected = [
        Value::Null,
        Value::Int(1),
        Value::Float(1.5),
        Value::Text("é;".to_owned()),
        Value::Bytes(vec![0, 255]),
        Value::Bytes(vec![255]),
    ];
    assert_eq!(result.rows, [expected]);
    assert_eq!(answer.affected, None);
    assert_eq!(answer.in_transaction, Some(false));
}

#[test]
fn answers_and_errors_say_what_is_left_of_the_transaction() {
    for variant in VARIANTS {
        check(
            variant,
            None,
            "t0 CREATE TABLE u(k INTEGER PRIMARY KEY, v CHECK (v > 0), r UNIQUE ON CONFLICT ROLLBACK) => t0 ok
             t0 INSERT INTO u VALUES (1, 1, 1), (2, 2, 2) RETURNING k => t0 ok 2 [1, 2]
             t0 WITH n AS (SELECT 1) UPDATE u SET v = 5 => t0 ok 2
             t0 REPLACE INTO u VALUES (2, 3, 2) => t0 ok 1
             t0 BEGIN => t0 ok
             t0 INSERT INTO u VALUES (1, 1, 3) => t0 constraint 1555
             t0 INSERT INTO u VALUES (3, 0, 3) => t0 constraint 275
             t0 INSERT INTO u VALUES (4, 1, 1) => t0 constraint 2067 gone
             t0 COMMIT => t0 other 1
             t0 SELEC 1 => t0 other 1
             t0 SELECT 1; SELECT 2 => t0 other 21
             t0 SAVEPOINT s => t0 ok
             t0 DELETE FROM u WHERE k = 1 => t0 ok 1
             t0 ROLLBACK TO s => t0 ok
             t0 RELEASE s => t0 ok
             t0 SELECT count(*) FROM u => t0 ok [2]",
        );
    }
}

#[test]
fn tables_are_listed_and_names_quoted() {
    let mut fixture = Fixture::new(Variant::Wal, None, 1);
    fixture.run_lines(
        "t0 CREATE TABLE \"b \"\"q\"(x INTEGER PRIMARY KEY AUTOINCREMENT)\n\
         t0 CREATE TABLE a(x)\nt0 CREATE VIEW v AS SELECT 1",
    );
    let session = fixture.sessions[0].session.as_mut();
    let tables = fixture.schema.tables(session, LIMIT).expect("tables can be listed");
    assert_eq!(tables, ["a", "b \"q"]);
    assert_eq!(fixture.schema.quote(&tables[1]), "\"b \"\"q\"");
}

#[test]
fn a_wait_ends_when_it_is_cancelled_or_takes_too_long() {
    for variant in VARIANTS {
        let mut fixture = Fixture::new(variant, None, 2);
        fixture.run_lines("t0 CREATE TABLE a(x)\nt0 BEGIN\nt0 INSERT INTO a VALUES (1)");
        assert!(fixture.submit(1, "INSERT INTO a VALUES (2)")[0].contains("waits for t0"));
        fixture.sessions[1].session.cancel();
        let answers = fixture.answers(None);
        assert!(answers[0].starts_with("t1 lock-timeout "), "{answers:?}");
        let impatient = SessionOptions { lock_wait: Duration::ZERO, ..options(None) };
        let mut opened = fixture.schema.open(&impatient).expect("a session opens");
        let reply = execute(opened.session.as_mut(), "INSERT INTO a VALUES (2)", LIMIT);
        assert!(reply.is_err_and(|error| error.class == ErrorClass::LockTimeout));
        assert_eq!(fixture.submit(0, "COMMIT"), ["t0 ok"]);
        let count = fixture.submit(1, "SELECT count(*) FROM a");
        assert_eq!(count, ["t1 ok [1]"]);
    }
}

#[test]
fn a_busy_timeout_of_the_case_does_not_replace_ours() {
    check(
        Variant::Journal,
        None,
        "t1 PRAGMA busy_timeout = 0 => t1 ok [0]
         t0 BEGIN IMMEDIATE => t0 ok
         t1 BEGIN IMMEDIATE => t1 waits for t0: RESERVED lock on the database
         t0 COMMIT => t0 ok; t1 ok",
    );
}

/// A statement that would run for ever leaves its caller alone and can be cancelled; meanwhile
/// others go on, and a session that is dropped ends its statement.
#[test]
fn an_endless_statement_runs_beside_the_caller_until_it_is_cancelled() {
    const ENDLESS: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n";
    let mut fixture = Fixture::new(Variant::Wal, None, 3);
    fixture.run_lines("t0 CREATE TABLE a(x)");
    fixture.start(1, ENDLESS);
    assert_eq!(fixture.wait_of(1), "runs");
    assert!(fixture.sessions[1].session.fd().is_some());
    assert!(fixture.sessions[0].session.fd().is_none());
    let reply = execute(fixture.sessions[0].session.as_mut(), "INSERT INTO a VALUES (1)", LIMIT);
    assert_eq!(told(&reply), "ok 1");
    let session = fixture.sessions[1].session.as_mut();
    session.cancel();
    crate::wait_readable(
        &[session.fd().expect("the cancelled statement is not yet polled")],
        LIMIT,
    );
    let reply = session.poll().expect("the wake_up rang");
    assert_eq!(told(&reply), "other 9");
    fixture.pending[1] = false;
    fixture.start(2, ENDLESS);
    drop(fixture.sessions.pop());
    assert_eq!(fixture.sessions.len(), 2);
}

#[test]
fn a_dropped_session_releases_its_waiters() {
    let mut fixture = Fixture::new(Variant::Journal, None, 2);
    fixture.run_lines("t0 CREATE TABLE a(x)\nt1 BEGIN IMMEDIATE");
    assert!(fixture.submit(0, "INSERT INTO a VALUES (1)")[0].contains("waits for t1"));
    drop(fixture.sessions.pop());
    assert_eq!(fixture.answers(None), ["t0 ok 1"]);
}

#[test]
fn no_folder_is_left_behind_also_after_a_panic() {
    let folder_of = |fixture: &Fixture| {
        Path::new(fixture.schema.name()).parent().expect("the file is in a folder").to_owned()
    };
    for variant in VARIANTS {
        let mut fixture = Fixture::new(variant, None, 2);
        fixture.run_lines("t0 CREATE TABLE a(x)\nt0 BEGIN IMMEDIATE");
        fixture.submit(1, "BEGIN IMMEDIATE");
        let folder = folder_of(&fixture);
        assert!(folder.is_dir());
        drop(fixture);
        assert!(!folder.exists());

        let fixture = Fixture::new(variant, None, 1);
        let folder = folder_of(&fixture);
        let panicked = std::thread::spawn(move || {
            let _scene = fixture;
            std::panic::resume_unwind(Box::new("a panic without a message"));
        });
        assert!(panicked.join().is_err());
        assert!(!folder.exists());
    }
}
