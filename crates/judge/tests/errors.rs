//! Failures that nobody can have caused, deadlocks that do not end and transactions that end untold: runs written by
//! hand, each with the verdict that the errors oracle must give.

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_judge::oracles::errors::{CAUSELESS, ENDLESS, UNTOLD};
use anchorite_judge::{Evidence, Laboratory, oracles};
use anchorite_model::{
    Answer, Blocker, BlockingKnowledge, Case, DbError, Ending, ErrorClass, Event, Level, Outcome,
    Product, Rank, Rows, Run, RunError, Runner, SessionInfo, TargetInfo, Verdict,
};

/// Tables t and u, of which u refers to p.
const SETUP: &str = "/* setup */ CREATE TABLE t (a INT PRIMARY KEY);\n\
     /* setup */ CREATE TABLE p (a INT PRIMARY KEY);\n\
     /* setup */ CREATE TABLE u (b INT, FOREIGN KEY (b) REFERENCES p (a));\n";

/// What happens to a statement: nothing special, unless the script says so.
const DEADLOCK: &str = " -- deadlock";
const BLOCKED: &str = " -- blocked by ";
const CANCELLED: &str = " -- cancelled";
const GONE: &str = " -- gone";

struct Nobody;

impl Runner for Nobody {
    fn run(&mut self, _: &Case, _: Option<Level>) -> Result<Run, RunError> {
        unreachable!("this oracle asks for no runs")
    }
}

fn outcome(product: Product, mark: &str) -> Outcome {
    let error = |class, code: &str| DbError { class, code: code.to_owned(), ..DbError::default() };
    let inside = |is_inside| Answer { in_transaction: Some(is_inside), ..Answer::default() };
    match mark {
        DEADLOCK => Outcome::Error(DbError {
            transaction_gone: true,
            ..error(ErrorClass::Deadlock, "1213")
        }),
        CANCELLED => {
            let code = product.descriptor().cancelled.first().expect("it has one");
            Outcome::Error(error(ErrorClass::Other, code))
        }
        GONE => Outcome::Ok(inside(false)),
        _ => match mark.strip_prefix(BLOCKED) {
            Some(session) => {
                let by = vec![Blocker::Session(session.parse().expect("a session"))];
                Outcome::Blocked { by, wait: String::new() }
            }
            None => Outcome::Ok(inside(true)),
        },
    }
}

/// A run of a script: `SESSION STATEMENT -- what happens`, a line each; the same statement again is its next event.
fn run(product: Product, script: &[(usize, &str)]) -> Run {
    let mut text = SETUP.to_owned();
    let mut events: Vec<Event> = Vec::new();
    for (session, line) in script {
        let (sql, mark) = line.split_at(line.find(" -- ").unwrap_or(line.len()));
        let earlier = events.iter().find(|event| event.sql == sql && event.session == *session);
        let n = earlier.map_or_else(
            || events.iter().map(|event| event.n).max().unwrap_or(0) + 1,
            |event| event.n,
        );
        if earlier.is_none() {
            text += &format!("/* t{session} */ {sql};\n");
        }
        let (sql, outcome) = (sql.to_owned(), outcome(product, mark));
        let (at_us, sent, answered) = (0, None, None);
        events.push(Event { n, session: *session, sql, outcome, at_us, sent, answered });
    }
    Event::number(&mut events);
    let case = Case::parse("errors", &text).expect("a case");
    let level = Some(Level::Serializable);
    let info = |name: &String| SessionInfo {
        name: name.clone(),
        level,
        level_read_back: "SERIALIZABLE".to_owned(),
    };
    Run {
        sessions: case.sessions.iter().map(info).collect(),
        case,
        target: TargetInfo { product, version: "9.7.0".to_owned(), variant: String::new() },
        level,
        settings: Vec::new(),
        blocking: BlockingKnowledge::Asked("a list".to_owned()),
        events,
        final_state: ["p", "t", "u"].map(|table| (table.to_owned(), Rows::default())).to_vec(),
        checks: Vec::new(),
        notes: Vec::new(),
        ending: Ending::Complete,
    }
}

fn verdict(run: &Run) -> Verdict {
    let claims = Claims::for_product(run.target.product);
    let evidence = Evidence::new(run, claims, BTreeMap::new());
    let oracle = oracles::named("errors").expect("it is registered");
    let mut nobody = Nobody;
    let mut laboratory = Laboratory::new(&mut nobody, run.level);
    oracle.judgement(&evidence, &mut laboratory).expect("nothing is run").verdict
}

/// What is said, in short.
fn said(product: &str, script: &[(usize, &str)]) -> String {
    match verdict(&run(Product::named(product), script)) {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Violation { anomaly, rank, .. } => {
            assert_eq!(rank, Rank::Undocumented, "no manual promises the contrary");
            anomaly
        }
        Verdict::Allowed { exception, .. } => exception,
        Verdict::Undecided { reason } => reason,
    }
}

#[test]
fn a_failure_needs_somebody_else_at_the_same_tables() {
    let fails = |other: &'static str| {
        let victim = [(0, "BEGIN"), (1, "BEGIN"), (1, other), (0, "DELETE FROM u -- deadlock")];
        [&victim[..], &[(1, "COMMIT")]].concat()
    };
    for (product, other, expected) in [
        ("mysql", "DELETE FROM u", "pass"),
        ("mysql", "SELECT * FROM `U`", "pass"),
        ("mysql", "DELETE FROM p", "pass"),
        ("mysql", "DELETE FROM t", CAUSELESS),
        ("sqlite", "DELETE FROM t", "whole-database-lock"),
    ] {
        assert_eq!(said(product, &fails(other)), expected, "{other} on {product}");
    }
}

#[test]
fn a_failure_needs_somebody_at_the_same_time() {
    let before = [(1, "BEGIN"), (1, "DELETE FROM u"), (1, "COMMIT")];
    let alone = [(0, "BEGIN"), (0, "DELETE FROM u -- deadlock")];
    for product in ["mysql", "sqlite"] {
        assert_eq!(said(product, &[&before[..], &alone].concat()), CAUSELESS, "{product}");
        assert_eq!(said(product, &[&alone[..1], &before, &alone[1..]].concat()), "pass");
    }
    assert_eq!(said("postgres", &[&before[..], &alone].concat()), "plan-dependent-conflicts");
}

#[test]
fn tables_that_change_are_not_judged() {
    let script = [(1, "ALTER TABLE u ADD c INT"), (0, "DELETE FROM u -- deadlock")];
    assert_eq!(said("mysql", &script), "a table was altered while others used it");
}

#[test]
fn a_circle_of_waits_must_end_by_itself() {
    let begun = [
        (0, "BEGIN"),
        (1, "BEGIN"),
        (0, "UPDATE t SET a = 1"),
        (1, "UPDATE p SET a = 1"),
        (0, "UPDATE p SET a = 2 -- blocked by 1"),
    ];
    let circle =
        [(1, "UPDATE t SET a = 3 -- blocked by 0"), (1, "UPDATE t SET a = 3 -- cancelled")];
    assert_eq!(said("mysql", &[&begun[..], &circle].concat()), ENDLESS);
    let mut unwatched = run(Product::named("mysql"), &[&begun[..], &circle].concat());
    unwatched.settings.push(("innodb_deadlock_detect".to_owned(), "OFF".to_owned()));
    assert_eq!(verdict(&unwatched), Verdict::Pass, "nobody looks for it");
    let line = [(0, "UPDATE p SET a = 2 -- cancelled")];
    assert_eq!(said("mysql", &[&begun[..], &line].concat()), "pass", "it only waited to the end");
}

#[test]
fn a_transaction_does_not_end_without_an_error() {
    let script = |mark: &'static str| [(0, "BEGIN"), (0, mark), (0, "COMMIT -- gone")];
    assert_eq!(said("mysql", &script("DELETE FROM t")), "pass");
    assert_eq!(said("mysql", &script("DELETE FROM t -- gone")), UNTOLD);
    assert_eq!(said("mysql", &script("DELETE FROM t -- deadlock")), CAUSELESS);
}
