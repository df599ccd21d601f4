//! Failures that nobody can have caused, errors that no serial order gives, deadlocks that do not end and transactions
//! that end untold: runs written by hand, each with the verdict that the errors oracle must give.

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_judge::oracles::errors::{CAUSELESS, ENDLESS, OTHERWISE, UNREASONED, UNTOLD};
use anchorite_judge::{Evidence, Laboratory, oracles};
use anchorite_model::{
    Answer, Blocker, BlockingKnowledge, Case, DbError, Ending, ErrorClass, Event, Level, Outcome,
    Product, Rank, Rows, Run, RunError, Runner, SessionInfo, TargetInfo, Verdict,
};

/// Tables t and u, of which u refers to p.
const SETUP: &str = "/* setup */ CREATE TABLE t (a INT PRIMARY KEY, b INT);\n\
     /* setup */ CREATE TABLE p (a INT PRIMARY KEY);\n\
     /* setup */ CREATE TABLE u (b INT, FOREIGN KEY (b) REFERENCES p (a));\n";

/// What happens to a statement: nothing special, unless the script says so.
const DEADLOCK: &str = " -- deadlock";
const BLOCKED: &str = " -- blocked by ";
const CANCELLED: &str = " -- cancelled";
const GONE: &str = " -- gone";
const REFUSED: &str = " -- refused";

/// Performs serial orders: each statement succeeds, but those that are sent after `refused_after` are refused.
#[derive(Default)]
struct Serially {
    product: Option<Product>,
    refused_after: Option<&'static str>,
    performed: Vec<Vec<String>>,
}

impl Runner for Serially {
    fn run(&mut self, case: &Case, _: Option<Level>) -> Result<Run, RunError> {
        let texts: Vec<String> = case.steps.iter().map(|step| step.statement.sql.clone()).collect();
        let refused = self.refused_after.and_then(|sql| texts.iter().position(|text| text == sql));
        let marked = |(at, text): (usize, &String)| match refused {
            Some(refused) if at > refused => format!("{text}{REFUSED}"),
            _ => text.clone(),
        };
        let script: Vec<String> = texts.iter().enumerate().map(marked).collect();
        let script: Vec<(usize, &str)> = script.iter().map(|text| (0, text.as_str())).collect();
        let product = self.product.expect("a product");
        self.performed.push(texts);
        Ok(run(product, &script))
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
        REFUSED => Outcome::Error(error(ErrorClass::Constraint, "1062")),
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
    verdict_by(run, &mut Serially::default())
}

fn verdict_by(run: &Run, serially: &mut Serially) -> Verdict {
    let claims = Claims::for_product(run.target.product);
    let evidence = Evidence::new(run, claims, BTreeMap::new());
    let oracle = oracles::named("errors").expect("it is registered");
    let mut laboratory = Laboratory::new(serially, run.level);
    oracle.judgement(&evidence, &mut laboratory).expect("it is judged").verdict
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
    // Who has looked at all rows is not only at the one that it names afterwards.
    let script = [
        (1, "BEGIN"),
        (1, "SELECT * FROM t"),
        (1, "UPDATE t SET b = 2 WHERE a = 2"),
        (0, "UPDATE t SET b = 1 WHERE a = 1 -- deadlock"),
        (1, "COMMIT"),
    ];
    assert_eq!(said("mysql", &script), "pass");
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
fn a_failure_needs_somebody_at_the_same_rows() {
    let fails = |other: &'static str| {
        let failed = "UPDATE t SET b = 1 WHERE a = 1 -- deadlock";
        [(0, "BEGIN"), (1, "BEGIN"), (1, other), (0, failed), (1, "DELETE FROM t"), (1, "COMMIT")]
    };
    for (product, other, expected) in [
        ("mysql", "UPDATE t SET b = 2 WHERE a = 2", CAUSELESS),
        ("mysql", "UPDATE t SET b = 2 WHERE a = 2 OR b = 2", "pass"),
        ("mysql", "UPDATE t SET a = 1 WHERE a = 2", "pass"),
        ("mysql", "DELETE FROM t WHERE a IN (2, 1)", "pass"),
        // Who inserts may meet a gap.
        ("mysql", "INSERT INTO t VALUES (2, 2)", "pass"),
        ("postgres", "INSERT INTO t VALUES (2, 2)", "plan-dependent-conflicts"),
        ("sqlite", "UPDATE t SET b = 2 WHERE a = 2", "whole-database-lock"),
    ] {
        assert_eq!(said(product, &fails(other)), expected, "{other} on {product}");
    }
}

#[test]
fn who_has_only_begun_is_in_nobodys_way() {
    let fails = |begin: &'static str| {
        [(1, begin), (0, "BEGIN"), (0, "DELETE FROM u -- deadlock"), (1, "DELETE FROM u")]
    };
    assert_eq!(said("mysql", &fails("BEGIN")), CAUSELESS);
    assert_eq!(said("sqlite", &fails("BEGIN")), CAUSELESS);
    assert_eq!(said("sqlite", &fails("BEGIN IMMEDIATE")), "whole-database-lock");
}

/// What is said about a refused statement if serial orders refuse what comes after this one, and the orders.
fn refused(
    script: &[(usize, &str)],
    refused_after: Option<&'static str>,
) -> (bool, Vec<Vec<String>>) {
    let product = Product::named("mysql");
    let mut serially = Serially { product: Some(product), refused_after, performed: Vec::new() };
    let verdict = verdict_by(&run(product, script), &mut serially);
    let names = [OTHERWISE, UNREASONED];
    let is_wrong =
        matches!(&verdict, Verdict::Violation { anomaly, .. } if names.contains(&anomaly.as_str()));
    assert!(is_wrong || verdict == Verdict::Pass, "{verdict:?}");
    (is_wrong, serially.performed)
}

#[test]
fn an_error_must_be_one_that_a_serial_order_gives() {
    let (insert, other) = ("INSERT INTO t SELECT 1, 1", "INSERT INTO t VALUES (1, 2)");
    let failed = "INSERT INTO t SELECT 1, 1 -- refused";
    let alone = [(0, "BEGIN"), (0, "DELETE FROM t"), (0, failed), (0, "ROLLBACK")];
    assert_eq!(
        refused(&alone, None),
        (true, vec![["BEGIN", "DELETE FROM t", insert, "COMMIT"].map(str::to_owned).to_vec()])
    );
    assert!(!refused(&alone, Some("DELETE FROM t")).0, "its own transaction is a reason");
    let beside = [(1, "BEGIN"), (1, other), (0, failed), (1, "COMMIT")];
    let (is_wrong, performed) = refused(&beside, None);
    assert!(is_wrong && performed.len() == 2, "before and after the other: {performed:?}");
    assert!(!refused(&beside, Some(other)).0, "the other one is a reason");
    let key =
        [(1, "BEGIN"), (1, other), (0, "INSERT INTO t VALUES (1, 1) -- refused"), (1, "COMMIT")];
    assert_eq!(refused(&key, None), (false, Vec::new()), "another oracle looks at keys");
}

#[test]
fn nothing_is_said_of_errors_that_others_may_have_caused() {
    let (other, failed) = ("DELETE FROM t", "INSERT INTO t VALUES (1, 1) -- refused");
    for script in [
        [(1, "BEGIN"), (1, other), (0, failed), (1, "ROLLBACK")].as_slice(),
        &[(0, "BEGIN"), (0, other), (1, "DELETE FROM t WHERE a = 7"), (0, failed)],
        &[
            (1, "BEGIN"),
            (1, other),
            (0, "INSERT INTO t VALUES (1, 1) -- blocked by 1"),
            (1, "COMMIT"),
            (0, failed),
        ],
    ] {
        assert_eq!(refused(script, None), (false, Vec::new()), "{script:?}");
    }
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
