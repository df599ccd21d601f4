//! Errors of real servers: class, and what is left of the transaction.

use std::time::Duration;

use anchorite_model::{ErrorClass, Level, Product, Value};

use crate::bed::{
    answer_of, fail, on_each_server, on_each_server_that_can_be_asked, run, run_all, wait_of,
};

#[test]
fn constraints_fail_the_statement_only() {
    on_each_server(|bed| {
        let mut session = bed.session();
        run_all(
            &mut *session,
            &[
                "CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL)",
                "INSERT INTO t VALUES (1,1)",
                "BEGIN",
                "INSERT INTO t VALUES (2,2)",
            ],
        );
        for (sql, code) in [
            ("INSERT INTO t VALUES (1,5)", "1062"),
            ("INSERT INTO t VALUES (9,NULL)", "1048"),
            ("UPDATE t SET a = 1 WHERE a = 2", "1062"),
        ] {
            let error = fail(&mut *session, sql);
            assert_eq!((error.class, error.code.as_str()), (ErrorClass::Constraint, code));
            assert!(!error.transaction_gone);
        }
        run(&mut *session, "COMMIT");
        let count = run(&mut *session, "SELECT COUNT(*) FROM t");
        assert_eq!(count.results[0].rows, [vec![Value::Int(2)]]);
    });
}

#[test]
fn a_foreign_key_and_a_check_are_constraints() {
    on_each_server(|bed| {
        if bed.is(Product::named("tidb")) {
            return; // both depend on the version and its settings
        }
        let mut session = bed.session();
        run_all(
            &mut *session,
            &[
                "CREATE TABLE p (a INT PRIMARY KEY)",
                "CREATE TABLE c (a INT, FOREIGN KEY (a) REFERENCES p (a))",
                "CREATE TABLE k (a INT, CHECK (a > 0))",
                "INSERT INTO p VALUES (1)",
                "INSERT INTO c VALUES (1)",
            ],
        );
        assert_eq!(fail(&mut *session, "INSERT INTO c VALUES (2)").class, ErrorClass::Constraint);
        assert_eq!(fail(&mut *session, "DELETE FROM p").class, ErrorClass::Constraint);
        if bed.major() >= 8 {
            let error = fail(&mut *session, "INSERT INTO k VALUES (0)");
            assert_eq!(error.class, ErrorClass::Constraint);
        }
        assert_eq!(fail(&mut *session, "nonsense").class, ErrorClass::Other);
    });
}

#[test]
fn a_deadlock_takes_the_victims_transaction() {
    on_each_server_that_can_be_asked(|bed| {
        let mut setup = bed.session();
        run_all(
            &mut *setup,
            &["CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1,0), (2,0)"],
        );
        let (mut one, mut two) = (bed.session(), bed.session());
        run_all(&mut *one, &["BEGIN", "UPDATE t SET b = 1 WHERE a = 1"]);
        run_all(&mut *two, &["BEGIN", "UPDATE t SET b = 2 WHERE a = 2"]);
        one.submit("UPDATE t SET b = 1 WHERE a = 2");
        wait_of(&mut *bed.watcher(), &mut *one, &[two.id()]);
        two.submit("UPDATE t SET b = 2 WHERE a = 1");
        let replies = [answer_of(&mut *one), answer_of(&mut *two)];
        let errors: Vec<_> = replies.iter().filter_map(|reply| reply.as_ref().err()).collect();
        assert_eq!(errors.len(), 1, "{replies:?}");
        assert_eq!((errors[0].class, errors[0].code.as_str()), (ErrorClass::Deadlock, "1213"));
        assert!(errors[0].transaction_gone);
        let victim = if replies[0].is_err() { &mut one } else { &mut two };
        assert_eq!(run(&mut **victim, "SELECT 1").in_transaction, Some(false));
    });
}

#[test]
fn a_deadlock_of_metadata_locks_takes_the_transaction_too() {
    on_each_server_that_can_be_asked(|bed| {
        if bed.is(Product::named("tidb")) {
            return; // its DDL makes nobody wait
        }
        let (mut one, mut ddl) = (bed.session(), bed.session());
        run_all(
            &mut *one,
            &["CREATE TABLE a (i INT)", "CREATE TABLE b (i INT)", "CREATE TABLE c (i INT)"],
        );
        run_all(&mut *one, &["BEGIN", "INSERT INTO c VALUES (1)", "SELECT * FROM b"]);
        ddl.submit("RENAME TABLE a TO x, b TO y");
        wait_of(&mut *bed.watcher(), &mut *ddl, &[one.id()]);
        let error = fail(&mut *one, "SELECT * FROM a");
        assert_eq!((error.class, error.transaction_gone), (ErrorClass::Deadlock, true));
        assert_eq!(run(&mut *one, "SELECT COUNT(*) FROM c").results[0].rows, [[Value::Int(0)]]);
        answer_of(&mut *ddl).expect("renamed");
    });
}

#[test]
fn a_lock_timeout_fails_the_statement_only() {
    on_each_server(|bed| {
        let mut holder = bed.session();
        let mut waiter = bed.session_with(None, Duration::from_secs(1));
        run_all(
            &mut *holder,
            &["CREATE TABLE t (a INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1,0), (2,0)"],
        );
        run_all(&mut *holder, &["BEGIN", "UPDATE t SET b = 1 WHERE a = 1"]);
        run_all(&mut *waiter, &["BEGIN", "UPDATE t SET b = 2 WHERE a = 2"]);
        let error = fail(&mut *waiter, "UPDATE t SET b = 2 WHERE a = 1");
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::LockTimeout, "1205"));
        let rolls_back =
            variable(&mut *waiter, "innodb_rollback_on_timeout") == Some(Value::Int(1));
        assert_eq!(error.transaction_gone, rolls_back);
        run(&mut *waiter, "COMMIT");
        let kept = run(&mut *waiter, "SELECT b FROM t WHERE a = 2").results[0].rows[0][0].clone();
        assert_eq!(kept, Value::Int(if rolls_back { 0 } else { 2 }));
    });
}

#[test]
fn nowait_is_a_lock_timeout() {
    on_each_server(|bed| {
        if bed.is(Product::named("mysql")) && bed.major() < 8 {
            return; // does not know the word
        }
        let (mut holder, mut other) = (bed.session(), bed.session());
        run_all(
            &mut *holder,
            &[
                "CREATE TABLE t (a INT PRIMARY KEY)",
                "INSERT INTO t VALUES (1)",
                "BEGIN",
                "SELECT * FROM t WHERE a = 1 FOR UPDATE",
            ],
        );
        run(&mut *other, "BEGIN");
        let error = fail(&mut *other, "SELECT * FROM t WHERE a = 1 FOR UPDATE NOWAIT");
        assert_eq!((error.class, error.transaction_gone), (ErrorClass::LockTimeout, false));
        assert_eq!(run(&mut *other, "SELECT 1").in_transaction, Some(true));
    });
}

#[test]
fn a_snapshot_conflict_takes_the_transaction() {
    on_each_server(|bed| {
        if !bed.target.levels().contains(&Level::Snapshot) {
            return;
        }
        let level = Some(Level::Snapshot);
        let (mut one, mut two) = (bed.session_at(level), bed.session_at(level));
        run_all(
            &mut *one,
            &[
                "CREATE TABLE t (a INT PRIMARY KEY, b INT)",
                "INSERT INTO t VALUES (1,0)",
                "BEGIN",
                "SELECT * FROM t",
            ],
        );
        run(&mut *two, "UPDATE t SET b = 5");
        let error = fail(&mut *one, "UPDATE t SET b = 6");
        assert_eq!((error.class, error.code.as_str()), (ErrorClass::Conflict, "1020"));
        assert!(error.transaction_gone);
        assert_eq!(run(&mut *one, "SELECT 1").in_transaction, Some(false));
    });
}

fn variable(session: &mut dyn anchorite_drivers::Session, name: &str) -> Option<Value> {
    let answer =
        anchorite_drivers::execute(session, &format!("SELECT @@{name}"), crate::bed::LIMIT);
    answer.ok().map(|answer| answer.results[0].rows[0][0].clone())
}
