//! Exceptions that are about locks excuse nothing else: runs in which a lock is missing that no exception names.
//!
//! The runs are made of a serial execution on embedded SQLite, whose answers are put into another order, as a server
//! would give them that does not take the lock.

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_judge::{Evidence, Laboratory, oracles};
use anchorite_model::{
    Case, Level, Outcome, Product, Run, RunError, Runner, TargetInfo, Value, Verdict,
};
use anchorite_stage::{FreshTables, RunOptions, run_case};

/// Executes cases on SQLite, which knows no locking clauses.
struct Sqlite<'a>(FreshTables<'a>);

fn without_clauses(case: &Case) -> Case {
    let mut case = case.clone();
    for step in &mut case.steps {
        step.statement.sql = step.statement.sql.replace(" FOR UPDATE", "");
    }
    case
}

impl Runner for Sqlite<'_> {
    fn run(&mut self, case: &Case, _: Option<Level>) -> Result<Run, RunError> {
        self.0.run(&without_clauses(case), None)
    }
}

/// The run of a case whose sessions were executed in this order, as if the product had interleaved them.
fn pretended(product: &str, text: &str, order: &[usize]) -> Run {
    let case = Case::parse("lenient", text).expect("a valid case");
    let mut numbers: Vec<usize> = (0..case.steps.len()).collect();
    numbers.sort_by_key(|n| order.iter().position(|one| *one == case.steps[*n].session));
    let steps = numbers.iter().map(|n| case.steps[*n].clone()).collect();
    let serial = without_clauses(&Case { steps, ..case.clone() });
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    let mut run = run_case(target.as_ref(), &serial, &RunOptions::default()).expect("it runs");
    for event in &mut run.events {
        event.n = numbers[event.n - 1] + 1;
        event.sql.clone_from(&case.steps[event.n - 1].statement.sql);
        (event.sent, event.answered) = (Some(2 * event.n - 1), Some(2 * event.n));
    }
    run.events.sort_by_key(|event| event.n);
    for session in &mut run.sessions {
        session.level = Some(Level::Serializable);
        session.level_read_back = "SERIALIZABLE".to_owned();
    }
    let (version, variant) = ("10.11.18".to_owned(), String::new());
    run.target = TargetInfo { product: Product::named(product), version, variant };
    run.level = Some(Level::Serializable);
    run.case = case;
    run
}

fn judged(run: &Run) -> Verdict {
    let claims = Claims::for_product(run.target.product);
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    let fresh = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    let mut runner = Sqlite(fresh);
    let mut laboratory = Laboratory::new(&mut runner, run.level);
    let evidence = Evidence::new(run, claims, BTreeMap::new());
    let oracle = oracles::named("final-state").expect("it is registered");
    oracle.judgement(&evidence, &mut laboratory).expect("SQLite answers").verdict
}

fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Violation { anomaly, rank, .. } => format!("{} {anomaly}", rank.name()),
        Verdict::Allowed { exception, .. } => format!("allowed {exception}"),
        Verdict::Undecided { reason } => format!("undecided: {reason}"),
        Verdict::Pass => "pass".to_owned(),
    }
}

const TABLES: &str = "/* setup */ CREATE TABLE t (a INT PRIMARY KEY);\n\
                      /* setup */ CREATE TABLE u (a INT PRIMARY KEY, b INT UNIQUE);\n\
                      /* setup */ INSERT INTO t VALUES (1);\n\
                      /* setup */ INSERT INTO u VALUES (1, 1), (7, 7);\n";

const READS: &str = "serializability of reads";

#[test]
fn only_the_very_key_that_was_free_may_be_taken() {
    let first = [0, 1];
    for (steps, expected) in [
        // The lock that is missing is one on a gap of another table.
        (
            "/* t1 */ BEGIN;\n/* t1 */ REPLACE INTO u VALUES (1, 2);\n\
             /* t1 */ SELECT * FROM t WHERE a < 10;\n/* t2 */ INSERT INTO t VALUES (5);\n\
             /* t1 */ COMMIT;\n",
            format!("broken {READS}"),
        ),
        // … of the same table, but of no key that the REPLACE looked at.
        (
            "/* t1 */ BEGIN;\n/* t1 */ REPLACE INTO u VALUES (1, 2);\n\
             /* t1 */ SELECT * FROM u WHERE a > 8;\n/* t2 */ INSERT INTO u VALUES (9, 9);\n\
             /* t1 */ COMMIT;\n",
            format!("broken {READS}"),
        ),
        // … of the key that it inserted: no other key was taken.
        (
            "/* t1 */ BEGIN;\n/* t1 */ INSERT IGNORE INTO u VALUES (3, 3);\n\
             /* t1 */ SELECT * FROM u WHERE a > 8;\n/* t2 */ INSERT INTO u VALUES (9, 9);\n\
             /* t1 */ COMMIT;\n",
            format!("broken {READS}"),
        ),
        // … of the key that was free, while the other one was taken.
        (
            "/* t1 */ BEGIN;\n/* t1 */ INSERT IGNORE INTO u VALUES (3, 7);\n\
             /* t1 */ SELECT * FROM u WHERE a = 3;\n/* t2 */ INSERT INTO u VALUES (3, 4);\n\
             /* t1 */ COMMIT;\n",
            "undocumented free-key-not-kept".to_owned(),
        ),
    ] {
        // SQLite spells it differently.
        let text = [TABLES, &steps.replace("INSERT IGNORE", "INSERT OR IGNORE")].concat();
        let run = pretended("mariadb", &text, &first);
        assert_eq!(told(&judged(&run)), expected, "{steps}");
    }
}

/// The query waits for t1; its subquery may read what was committed when it began.
const QUERY: &str = "/* t1 */ BEGIN;\n/* t1 */ UPDATE t SET a = 3;\n/* t1 */ UPDATE t SET a = 2;\n\
                     /* t1 */ DELETE FROM u WHERE a = 7;\n/* t2 */ NESTED;\n/* t1 */ COMMIT;\n";
const NESTED: &str = "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = 7) FOR UPDATE";

/// That query waits until t1 has committed, and gives these rows.
fn answered(product: &str, query: &str, rows: &[i128]) -> Run {
    let text = [TABLES, &QUERY.replace("NESTED", query)].concat();
    let mut run = pretended(product, &text, &[0, 1]);
    let end = run.events.len();
    let query = run.events.iter_mut().find(|event| event.sql.starts_with("SELECT")).expect("it");
    query.answered = Some(2 * end + 1);
    if let Outcome::Ok(answer) = &mut query.outcome {
        answer.results[0].rows = rows.iter().map(|value| vec![Value::Int(*value)]).collect();
    }
    run
}

#[test]
fn a_query_has_one_of_the_views_that_it_may_have() {
    for (product, rows, expected) in [
        ("mysql", &[][..], "pass".to_owned()),
        ("mysql", &[1], "pass".to_owned()),
        ("mysql", &[2], "allowed unlocked-subquery".to_owned()),
        ("mariadb", &[2], "undocumented unlocked-subquery".to_owned()),
        // Never committed.
        ("mysql", &[3], format!("broken {READS}")),
    ] {
        let run = answered(product, NESTED, rows);
        assert_eq!(told(&judged(&run)), expected, "{product} {rows:?}");
    }
}

#[test]
fn only_a_nested_query_that_takes_no_locks_may_be_older() {
    for (other, rows) in [
        ("SELECT a FROM t UNION SELECT a FROM u WHERE a = 7 FOR UPDATE", &[2, 7][..]),
        (
            "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = 7 FOR UPDATE) FOR UPDATE",
            &[2],
        ),
        ("SELECT * FROM t FOR UPDATE", &[3]),
    ] {
        let run = answered("mysql", other, rows);
        assert_eq!(told(&judged(&run)), format!("broken {READS}"), "{other}");
    }
    let twice = "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.a = 1) FOR UPDATE";
    let run = answered("mysql", twice, &[2]);
    assert!(told(&judged(&run)).starts_with("undecided: "), "{:?}", judged(&run));
}
