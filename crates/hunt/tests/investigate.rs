//! Reductions with real engines: SQLite always, servers where `ANCHORITE_TEST_URLS` names them.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::time::Instant;

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_hunt::{Effort, Examiner, Investigation, Recorded, Suspicion, investigate};
use anchorite_judge::oracles;
use anchorite_model::{
    Case, Ending, ErrorClass, Level, Origin, Outcome, Product, Run, StatementKind,
};
use anchorite_reduce::{Budget, Reduced, known, reduce};
use anchorite_stage::{Arena, FreshTables, RunOptions, Runner, StageError};

/// MDEV-27992 among other tables, indexes, rows, columns, sessions and statements.
const BLOWN_UP: &str = include_str!("mdev-27992-blown-up.case");

fn servers(products: &[Product]) -> Vec<Box<dyn Target>> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let targets: Vec<Box<dyn Target>> = urls
        .split_whitespace()
        .map(|url| open(url).unwrap_or_else(|error| panic!("ANCHORITE_TEST_URLS: {error}")))
        .filter(|target| products.contains(&target.info().product))
        .collect();
    if targets.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server of {products:?}");
    }
    targets
}

/// Reduces by asking a question about the run.
fn reduced(
    runner: &mut dyn Runner,
    product: Product,
    text: &str,
    interesting: impl Fn(&Run) -> bool,
) -> Reduced {
    let case = Case::parse("real", text).expect("a case");
    let mut still = |case: &Case| match runner.run(case, None).map_err(StageError::from) {
        Ok(run) => Ok(run.ending == Ending::Complete && interesting(&run)),
        Err(StageError::Setup { .. }) => Ok(false),
        Err(error) => Err(error),
    };
    assert!(still(&case).expect("the original runs"), "the original is interesting");
    let budget = Budget { questions: 2_000, time_left: &mut || true };
    let reduced = reduce(&case, product, budget, &mut still).expect("every candidate runs");
    assert!(still(&reduced.case).expect("the reduced case runs"), "it is still interesting");
    reduced
}

fn statements(case: &Case) -> usize {
    case.setup.len() + case.steps.len()
}

/// A DELETE waits, deletes nothing, and a table is not empty in the end.
fn delete_misses_a_row(run: &Run) -> bool {
    let missed = run.events.iter().any(|event| {
        let Outcome::Resumed(answer) = &event.outcome else { return false };
        StatementKind::of(&event.sql) == StatementKind::Delete && answer.affected == Some(0)
    });
    let errors = run.events.iter().any(|event| matches!(event.outcome, Outcome::Error(_)));
    missed && !errors && run.final_state.iter().any(|(_, rows)| !rows.rows.is_empty())
}

#[test]
fn a_deadlock_of_sqlite_becomes_small() {
    let text = "\
/* setup */ CREATE TABLE t0 (c0 INTEGER PRIMARY KEY, c1 TEXT DEFAULT 'x', c2 REAL, CHECK (c2 < 100));
/* setup */ CREATE TABLE t1 (c0 INT UNIQUE, c1 INT);
/* setup */ CREATE INDEX i0 ON t0 (c1) WHERE c2 > 0;
/* setup */ INSERT INTO t0 VALUES (1, 'a', 1.5), (2, 'b', 2.5);
/* setup */ INSERT INTO t1 VALUES (10, 20), (30, 40);
/* w1 */ BEGIN;
/* w2 */ BEGIN;
/* w3 */ SELECT COUNT(*) FROM t0 JOIN t1 ON t0.c0 = t1.c0;
/* w1 */ UPDATE t0 SET c2 = c2 + 1 WHERE c1 IN (SELECT 'a');
/* w2 */ SELECT * FROM t1 ORDER BY c0 DESC;
/* w2 */ INSERT INTO t1 VALUES (50, 60), (70, 80) ON CONFLICT DO NOTHING;
/* w1 */ DELETE FROM t1 WHERE c0 = 10 AND c1 = 20;
/* w3 */ UPDATE t1 SET c1 = 5 WHERE c0 = 30;
/* w1 */ COMMIT;
/* w2 */ COMMIT;
";
    let target = open("sqlite").expect("SQLite is embedded");
    let mut runner = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    let interesting = |run: &Run| {
        let fails = |kind: &StatementKind, class| {
            run.events.iter().any(|event| {
                StatementKind::of(&event.sql) == *kind
                    && matches!(&event.outcome, Outcome::Error(error) if error.class == class)
            })
        };
        fails(&StatementKind::Insert, ErrorClass::Deadlock)
            && !run.events.iter().any(|event| {
                matches!(&event.outcome, Outcome::Error(error) if error.class == ErrorClass::Other)
            })
    };
    let reduced = reduced(&mut runner, Product::named("sqlite"), text, interesting);
    insta::assert_snapshot!(format!("{} questions\n\n{}", reduced.questions, reduced.case));
    assert!(statements(&reduced.case) <= 9);
}

#[test]
fn a_blown_up_case_becomes_small_again() {
    for target in servers(&[Product::named("mariadb"), Product::named("mysql")]) {
        let start = Instant::now();
        let mut arena = Arena::new(target.as_ref(), RunOptions::default()).expect("an arena");
        let product = target.info().product;
        let reduced = reduced(&mut arena, product, BLOWN_UP, delete_misses_a_row);
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{}: {} questions, {seconds:.1} s\n{}",
            target.info(),
            reduced.questions,
            reduced.case
        );
        assert!(statements(&reduced.case) <= 8, "{}", reduced.case);
        assert!(reduced.complete);
    }
}

#[test]
fn an_investigation_ends_with_a_known_issue() {
    for target in servers(&[Product::named("mariadb"), Product::named("mysql")]) {
        let case = Case::parse("blown-up", BLOWN_UP).expect("a case");
        let claims = Claims::for_target(target.info());
        let examiner = Examiner { claims, oracles: oracles::ALL, strict: false };
        let options = RunOptions::default();
        let mut fast = Arena::new(target.as_ref(), options.clone()).expect("an arena");
        let mut fresh = FreshTables { target: target.as_ref(), options };
        let suspect = Suspicion {
            against: None,
            case: &case,
            level: None,
            signature: None,
            origin: Origin::File("a test".to_owned()),
            on: "",
        };
        let effort = Effort::default();
        let start = Instant::now();
        let recorded = Recorded { known: known::built_in(), found: &[] };
        let outcome = investigate(&examiner, &mut fast, &mut fresh, &suspect, &effort, recorded);
        let outcome = outcome.expect("the server answers");
        let Investigation::Confirmed { finding, questions, .. } = outcome else {
            panic!("{}: {outcome:?}", target.info());
        };
        let seconds = start.elapsed().as_secs_f64();
        let cause = finding.cause.as_ref().expect("it has a cause");
        println!("{}: {questions} questions, {seconds:.1} s, {cause}", target.info());
        println!("{}\n{:#?}", finding.run.case, finding.contrast);
        assert_eq!(finding.known.as_deref(), Some("MDEV-27992"));
        assert!(statements(&finding.run.case) <= 8);
        let at = |level: Level| format!("at {level}");
        assert!(finding.contrast.iter().any(|c| c.change == at(Level::RepeatableRead)));
    }
}
