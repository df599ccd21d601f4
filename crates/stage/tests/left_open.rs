//! What a case leaves open is ended, of whatever kind, and nothing of it stays on the server.
//!
//! XA transactions in each phase on MariaDB and MySQL, prepared transactions on PostgreSQL, with other sessions that
//! wait for them; and the same when the run is interrupted in its middle. Servers are the URLs in
//! `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anchorite_drivers::{Schema, Session, Target, execute};
use anchorite_model::{Blocker, Case, Outcome, Product, Run, Value};
use anchorite_stage::{RunOptions, StageError, run_case};
use support::servers;

/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(60);
/// Far less than any limit of the stage: nothing was waited for in vain.
const SOON: Duration = Duration::from_secs(20);

fn is_xa(target: &dyn Target) -> bool {
    matches!(target.info().product.name(), "mariadb" | "mysql")
}

fn is_postgres(target: &dyn Target) -> bool {
    target.info().product == Product::named("postgres")
}

/// An id that no other run of this test uses.
fn unique(name: &str) -> String {
    format!("anchorite-{}-{name}", std::process::id())
}

fn case(steps: &str) -> Case {
    let text = format!(
        "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
         /* setup */ INSERT INTO t VALUES (1, 0), (2, 0);\n{steps}"
    );
    Case::parse("left open", &text).expect("a case")
}

/// The prepared transactions of the server, asked by a session of our own.
struct Spy {
    session: Box<dyn Session>,
    _schema: Box<dyn Schema>,
    sql: &'static str,
}

impl Spy {
    fn new(target: &dyn Target) -> Self {
        let schema = target.create_schema().expect("a schema");
        let session = schema.own_session(LIMIT).expect("a session");
        let sql = if is_xa(target) { "XA RECOVER" } else { "SELECT gid FROM pg_prepared_xacts" };
        Self { session, _schema: schema, sql }
    }

    fn sees(&mut self, id: &str) -> bool {
        let answer = execute(self.session.as_mut(), self.sql, LIMIT).expect("it may be asked");
        let rows = answer.results.iter().flat_map(|rows| &rows.rows).flatten();
        rows.filter_map(|value| match value {
            Value::Text(text) => Some(text.clone()),
            Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        })
        .any(|text| text == id)
    }
}

fn run_soon(target: &dyn Target, case: &Case) -> Run {
    let begun = Instant::now();
    let run = run_case(target, case, &RunOptions::default()).expect("it runs");
    assert!(begun.elapsed() < SOON, "{}: {:?}", target.info(), begun.elapsed());
    run
}

fn values(run: &Run) -> Vec<Value> {
    run.final_state[0].1.rows.iter().map(|row| row[1].clone()).collect()
}

#[test]
fn an_xa_transaction_is_ended_in_whatever_phase_it_is() {
    for target in servers().iter().map(AsRef::as_ref).filter(|target| is_xa(*target)) {
        let mut spy = Spy::new(target);
        let id = unique("xa");
        let phases =
            ["", "/* t1 */ XA END 'ID';", "/* t1 */ XA END 'ID'; /* t1 */ XA PREPARE 'ID';"];
        for phase in phases {
            let steps = format!(
                "/* t1 */ XA START 'ID'; /* t1 */ UPDATE t SET v = 1 WHERE id = 1;\n{phase}\n\
                 /* t2 */ UPDATE t SET v = v + 10; /* t2 */ SELECT v FROM t;"
            );
            let run = run_soon(target, &case(&steps.replace("ID", &id)));
            let note = format!("t1 had the XA transaction '{id}' open: rolled back at the end");
            assert_eq!(run.notes, [note], "{} {phase}", target.info());
            assert_eq!(values(&run), [Value::Int(10), Value::Int(10)], "{}", target.info());
            let blocked = run.events.iter().find_map(|event| match &event.outcome {
                Outcome::Blocked { by, .. } => Some(by.as_slice()),
                _ => None,
            });
            assert_eq!(blocked, Some(&[Blocker::Session(0)][..]), "{}", target.info());
            assert!(!spy.sees(&id), "{}: {phase}", target.info());
        }
        println!("{}: XA transactions are ended in {} phases", target.info(), phases.len());
    }
}

/// A second session may not even begin it; what it did not begin is not ended either.
#[test]
fn what_somebody_else_has_prepared_under_the_same_name_is_left_alone() {
    for target in servers().iter().map(AsRef::as_ref) {
        let id = unique("foreign");
        let [prepare, finish]: [&[&str]; 2] = match () {
            () if is_xa(target) => [
                &["XA START 'ID'", "INSERT INTO mine VALUES (1)", "XA END 'ID'", "XA PREPARE 'ID'"],
                &["XA ROLLBACK 'ID'"],
            ],
            () if is_postgres(target) => [
                &["BEGIN", "INSERT INTO mine VALUES (1)", "PREPARE TRANSACTION 'ID'"],
                &["ROLLBACK PREPARED 'ID'"],
            ],
            () => continue,
        };
        let mut spy = Spy::new(target);
        let mut say = |sql: &str| {
            execute(spy.session.as_mut(), &sql.replace("ID", &id), LIMIT).expect("it is taken")
        };
        say("CREATE TABLE mine (a INT)");
        prepare.iter().for_each(|sql| drop(say(sql)));
        let steps: String = prepare
            .iter()
            .map(|sql| format!("/* t1 */ {};\n", sql.replace("mine", "t").replace("(1)", "(3, 0)")))
            .collect();
        let run = run_soon(target, &case(&steps.replace("ID", &id)));
        let refused = |outcome: &Outcome| matches!(outcome, Outcome::Error(_));
        assert!(run.events.iter().any(|event| refused(&event.outcome)), "{run:?}");
        // It is still there to be ended.
        finish.iter().for_each(|sql| drop(say(sql)));
    }
}

#[test]
fn a_prepared_transaction_is_named_as_such_and_ended() {
    for target in servers().iter().map(AsRef::as_ref).filter(|target| is_postgres(*target)) {
        let mut spy = Spy::new(target);
        let id = unique("pg");
        let steps = format!(
            "/* t1 */ BEGIN; /* t1 */ UPDATE t SET v = 1; /* t1 */ PREPARE TRANSACTION '{id}';\n\
             /* t1 */ UPDATE t SET v = v + 10; /* t1 */ SELECT v FROM t;"
        );
        let run = run_soon(target, &case(&steps));
        let note = format!("the transaction '{id}' was left prepared: rolled back at the end");
        assert_eq!(run.notes, [note]);
        assert_eq!(values(&run), [Value::Int(10), Value::Int(10)]);
        let blockers = run.events.iter().filter_map(|event| match &event.outcome {
            Outcome::Blocked { by, .. } => Some(by.clone()),
            _ => None,
        });
        let named = vec![Blocker::Prepared(format!("'{id}'"))];
        assert_eq!(blockers.collect::<Vec<_>>(), [named]);
        assert!(!spy.sees(&id));
        println!("{}: a prepared transaction is named and ended", target.info());
    }
}

#[test]
fn an_interrupted_run_leaves_nothing_prepared() {
    for target in servers().iter().map(AsRef::as_ref) {
        let id = unique("interrupted");
        let (steps, sleep) = match () {
            () if is_xa(target) => (
                "/* t1 */ XA START 'ID'; /* t1 */ UPDATE t SET v = 1; /* t1 */ XA END 'ID';\n\
                 /* t1 */ XA PREPARE 'ID';",
                "SLEEP(100)",
            ),
            () if is_postgres(target) => (
                "/* t1 */ BEGIN; /* t1 */ UPDATE t SET v = 1; /* t1 */ PREPARE TRANSACTION 'ID';",
                "pg_sleep(100)",
            ),
            () => continue,
        };
        let case = case(&format!("{steps}\n/* t2 */ SELECT {sleep};").replace("ID", &id));
        let mut spy = Spy::new(target);
        let options = RunOptions::default();
        let interrupt = Arc::clone(&options.interrupt);
        let begun = Instant::now();
        let ended = std::thread::scope(|scope| {
            let run = scope.spawn(|| run_case(target, &case, &options));
            // Each look is a question to the server, and waits for its answer.
            while !spy.sees(&id) && begun.elapsed() < LIMIT {}
            interrupt.store(true, Ordering::SeqCst);
            run.join().expect("no panic")
        });
        assert!(matches!(ended, Err(StageError::Interrupted)), "{ended:?}");
        assert!(begun.elapsed() < SOON, "{}: {:?}", target.info(), begun.elapsed());
        assert!(!spy.sees(&id), "{}", target.info());
        println!("{}: interrupted, nothing is prepared", target.info());
    }
}
