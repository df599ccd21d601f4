//! What is wrong whatever the order of the transactions is: honest runs on embedded SQLite, with a fault written into
//! the record of each. The record without the fault passes, so it is the fault that is seen.

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_judge::oracles::constraint::CONSTRAINT;
use anchorite_judge::oracles::damage::DAMAGE;
use anchorite_judge::oracles::errors::CAUSELESS;
use anchorite_judge::oracles::lock::LOCK;
use anchorite_judge::oracles::refused_key::REFUSED;
use anchorite_judge::{Evidence, Laboratory, Oracle, oracles};
use anchorite_model::{
    Answer, Case, DbError, ErrorClass, Event, Level, Outcome, Product, Run, RunError, Runner,
    Value, Verdict,
};
use anchorite_stage::{FreshTables, RunOptions, StageError, run_case};

fn case(text: &str) -> Case {
    Case::parse("beside", text).expect("a valid case")
}

fn run(case: &Case) -> Result<Run, StageError> {
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    run_case(target.as_ref(), case, &RunOptions::default())
}

/// Counts what it is asked for.
struct Counting<'a>(FreshTables<'a>, usize);

impl Runner for Counting<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.1 += 1;
        self.0.run(case, level)
    }
}

/// What these oracles say about a run, and how many further runs that took.
fn judged(run: &Run, oracles: &[&'static dyn Oracle]) -> (Vec<(&'static str, Verdict)>, usize) {
    let claims = Claims::for_product(run.target.product);
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    let fresh = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    let mut runner = Counting(fresh, 0);
    let mut laboratory = Laboratory::new(&mut runner, run.level);
    let evidence = Evidence::new(run, claims, BTreeMap::new());
    let judge = |oracle: &&'static dyn Oracle| {
        let judged = oracle.judgement(&evidence, &mut laboratory).expect("SQLite answers");
        (oracle.name(), judged.verdict)
    };
    let verdicts = oracles.iter().map(judge).collect();
    (verdicts, runner.1)
}

/// The oracles that call it a violation, each with its word for it.
fn violations(run: &Run) -> Vec<(&'static str, String)> {
    let verdicts = judged(run, oracles::ALL).0.into_iter();
    let bad = verdicts.filter_map(|(oracle, verdict)| match verdict {
        Verdict::Violation { anomaly, .. } => Some((oracle, anomaly)),
        _ => None,
    });
    bad.collect()
}

fn told(run: &Run) -> Vec<String> {
    violations(run).into_iter().map(|(oracle, anomaly)| format!("{oracle}: {anomaly}")).collect()
}

fn affected(count: u64) -> Outcome {
    Outcome::Ok(Answer { affected: Some(count), ..Answer::default() })
}

fn error(class: ErrorClass, code: &str) -> Outcome {
    Outcome::Error(DbError { class, code: code.to_owned(), ..DbError::default() })
}

#[test]
fn a_row_that_refers_to_nothing_breaks_a_constraint() {
    let case = case(
        "/* setup */ CREATE TABLE t (a INT PRIMARY KEY);\n\
         /* setup */ CREATE TABLE u (b INT, FOREIGN KEY (b) REFERENCES t (a));\n\
         /* setup */ INSERT INTO t VALUES (1), (2);\n\
         /* t1 */ INSERT INTO u VALUES (1);\n\
         /* t2 */ DELETE FROM t WHERE a = 1;\n",
    );
    let mut run = run(&case).expect("SQLite answers");
    assert_eq!(told(&run), [""; 0]);
    run.events[1].outcome = affected(1);
    let parents = run.final_state.iter_mut().find(|(name, _)| name == "t").expect("t is there");
    parents.1.rows.retain(|row| *row != [Value::Int(1)]);
    let told = told(&run);
    assert!(told.contains(&format!("constraint: {CONSTRAINT}")), "{told:?}");
}

#[test]
fn a_server_that_calls_its_data_damaged_is_believed() {
    let case = case("/* setup */ CREATE TABLE t (a INT);\n/* t1 */ SELECT * FROM t;\n");
    let mut run = run(&case).expect("SQLite answers");
    assert_eq!(told(&run), [""; 0]);
    run.events[0].outcome = error(ErrorClass::Other, "11");
    assert_eq!(told(&run), [format!("damage: {DAMAGE}")]);
    // Whatever else is not known of the run.
    run.sessions[0].level = None;
    run.sessions[0].level_read_back.clear();
    assert_eq!(told(&run), [format!("damage: {DAMAGE}")]);
}

/// What is found out for one oracle is not found out again for another.
#[test]
fn more_oracles_do_not_cost_more() {
    let case = case(
        "/* setup */ CREATE TABLE t (a INT PRIMARY KEY);\n\
         /* t1 */ INSERT INTO t VALUES (1);\n\
         /* t2 */ INSERT INTO t VALUES (1);\n\
         /* t3 */ DELETE FROM t;\n",
    );
    let mut run = run(&case).expect("SQLite answers");
    let alone = oracles::named("final-state").expect("there is one");
    let count = |run: &Run, oracles: &[&'static dyn Oracle]| judged(run, oracles).1;
    // An oracle that tries every statement by itself has runs of its own.
    let all: Vec<&'static dyn Oracle> =
        oracles::ALL.iter().copied().filter(|oracle| oracle.name() != "views").collect();
    assert_eq!((count(&run, &[alone]), count(&run, &all)), (1, 1));
    // Nothing explains this, so that the constraints are asked, too.
    run.final_state[0].1.rows.push(vec![Value::Int(7)]);
    let tried = count(&run, &[alone]);
    assert_eq!(count(&run, &all), tried + 1);
}

#[test]
fn a_key_that_was_free_must_not_be_refused() {
    let case = case(
        "/* setup */ CREATE TABLE t (a INT PRIMARY KEY);\n\
         /* t1 */ INSERT INTO t VALUES (1);\n\
         /* t2 */ INSERT INTO t VALUES (1);\n\
         /* t3 */ INSERT INTO t VALUES (2);\n",
    );
    let mut run = run(&case).expect("SQLite answers");
    assert_eq!(told(&run), [""; 0]);
    run.events[2].outcome = error(ErrorClass::Constraint, "1555");
    run.final_state[0].1.rows.retain(|row| *row != [Value::Int(2)]);
    assert_eq!(told(&run), ["views: wrong failure".to_owned(), format!("refused-key: {REFUSED}")]);
    // A lock that could not be had is no refusal of the key; but nobody was there to hold it.
    run.events[2].outcome = error(ErrorClass::LockTimeout, "5");
    assert_eq!(told(&run), [format!("errors: {CAUSELESS}")]);
}

#[test]
fn a_key_may_be_refused_that_was_taken_when_the_transaction_began() {
    let case = case(
        "/* setup */ CREATE TABLE t (a INT PRIMARY KEY);\n\
         /* setup */ INSERT INTO t VALUES (1);\n\
         /* t1 */ BEGIN;\n\
         /* t2 */ UPDATE t SET a = 0;\n\
         /* t1 */ INSERT INTO t VALUES (1);\n\
         /* t1 */ ROLLBACK;\n",
    );
    let mut run = run(&case).expect("SQLite answers");
    run.target.product = Product::named("cockroach");
    run.sessions.iter_mut().for_each(|session| session.level = Some(Level::Serializable));
    run.events[2].outcome = error(ErrorClass::Constraint, "23505");
    assert_eq!(told(&run), [""; 0], "t1, then t2 explains it");
    // There a statement sees what was committed before it began.
    run.target.product = Product::named("postgres");
    run.sessions.iter_mut().for_each(|session| session.level = Some(Level::ReadCommitted));
    assert_eq!(told(&run), [format!("refused-key: {REFUSED}")]);
}

#[test]
fn a_row_that_a_locking_read_returned_must_not_change_before_its_end() {
    let case = case(
        "/* setup */ CREATE TABLE t (a INT PRIMARY KEY, b INT);\n\
         /* setup */ INSERT INTO t VALUES (1, 0), (2, 0);\n\
         /* t1 */ BEGIN;\n\
         /* t1 */ SELECT * FROM t WHERE a = 1;\n\
         /* t1 */ COMMIT;\n\
         /* t2 */ UPDATE t SET b = 1 WHERE a = 1;\n",
    );
    let mut run = run(&case).expect("SQLite answers");
    run.target.product = Product::named("postgres");
    run.sessions.iter_mut().for_each(|session| session.level = Some(Level::ReadCommitted));
    "SELECT * FROM t WHERE a = 1 FOR UPDATE".clone_into(&mut run.events[1].sql);
    assert_eq!(told(&run), [""; 0], "the lock ended before the write began");
    run.events.swap(2, 3);
    Event::number(&mut run.events);
    assert_eq!(told(&run), [format!("lock: {LOCK}")]);
    "SELECT * FROM t WHERE a = 1".clone_into(&mut run.events[1].sql);
    assert_eq!(told(&run), [""; 0], "there is no lock");
    "SELECT * FROM t WHERE a = 1 FOR UPDATE".clone_into(&mut run.events[1].sql);
    "UPDATE t SET b = 1 WHERE a = 2".clone_into(&mut run.events[2].sql);
    run.case.steps[3].statement.sql.clone_from(&run.events[2].sql);
    run.final_state[0].1.rows =
        vec![vec![Value::Int(1), Value::Int(0)], vec![Value::Int(2), Value::Int(1)]];
    assert_eq!(told(&run), [""; 0], "another row was locked");
}
