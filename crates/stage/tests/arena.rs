//! The arena's runs are the runs of fresh tables, and stay so however often its tables are used again.
//!
//! Every case under `cases/`, and hand-made ones like those that a generator makes, at every level: events,
//! rows, final state, levels and blocking must be equal, but for the clock and for names of schemas. Where a
//! server is free to choose (who of two waiters goes first), one of several fresh runs must be equal.
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod support;

use std::path::Path;

use anchorite_drivers::{Target, open};
use anchorite_model::{Case, Level, Outcome, Product, Run};
use anchorite_stage::{Arena, FreshTables, RunOptions, Runner};
use support::servers;

/// Fresh runs before two runs count as different.
const FRESH_RUNS: usize = 6;
/// Uses of the same case in one arena.
const USES: usize = 100;

fn targets() -> Vec<Box<dyn Target>> {
    let embedded = ["sqlite", "sqlite:wal", "sqlite:shared-cache"];
    let embedded = embedded.map(|name| open(name).expect("SQLite is there"));
    embedded.into_iter().chain(servers()).collect()
}

/// Cases like those of a generator.
const MADE: &str = "tests/made";
/// Cases that are data of the repository.
const KEPT: [&str; 3] = ["../../cases/probe", "../../cases/waits", "../../cases/bugs"];

fn cases(folder: &str, target: &dyn Target) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).expect("a folder of cases");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(file).expect("a case is readable");
        let name = file.file_stem().expect("a case has a name").to_string_lossy();
        Case::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"))
    };
    let is_for = |case: &Case| {
        let products = &case.header.targets;
        products.is_empty() || products.contains(&target.info().product)
    };
    let is_free = |case: &Case| match target.info().product.name() {
        // There two waiters on one row may overtake each other: any order is right.
        "postgres" => case.name == "two-waiters",
        // There victims are drawn by lot.
        "cockroach" => case.name.starts_with("deadlock"),
        _ => false,
    };
    files.iter().map(read).filter(|case| is_for(case) && !is_free(case)).collect()
}

/// A run without what differs between any two runs: the clock, names of schemas; and without the settings, which an
/// arena does not ask for.
fn essence(run: &Run) -> String {
    let mut run = run.clone();
    run.settings.clear();
    for event in &mut run.events {
        event.at_us = 0;
        // There a retry error tells times and ids.
        if let ("cockroach", Outcome::Error(error)) =
            (run.target.product.name(), &mut event.outcome)
        {
            error.message.clear();
        }
    }
    let text = format!("{run:#?}");
    let mut rest = text.as_str();
    let mut told = String::new();
    while let Some(at) = rest.find("anchorite_") {
        told.push_str(&rest[..at]);
        told.push_str("SCHEMA");
        let name_end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        rest = rest[at..].find(name_end).map_or("", |end| &rest[at + end..]);
    }
    told + rest
}

fn first_difference(left: &str, right: &str) -> String {
    let lines = left.lines().zip(right.lines()).enumerate();
    let found = lines.into_iter().find(|(_, (left, right))| left != right);
    found.map_or_else(
        || format!("{} and {} lines", left.lines().count(), right.lines().count()),
        |(number, (left, right))| format!("line {number}: {left} / {right}"),
    )
}

fn levels(target: &dyn Target) -> Vec<Option<Level>> {
    std::iter::once(None).chain(target.levels().iter().copied().map(Some)).collect()
}

/// The same sessions without concurrency: each says all it has to say before the next one begins.
fn one_after_the_other(case: &Case) -> Case {
    let mut serial = Case { name: format!("{}, serial", case.name), ..case.clone() };
    serial.steps.sort_by_key(|step| step.session);
    serial
}

/// So many runs of more than a thousand may differ on servers, which are not quite deterministic.
const TOLERATED: usize = 4;

#[test]
fn runs_are_those_of_fresh_tables() {
    let mut wrong = Vec::new();
    for target in targets() {
        let target = target.as_ref();
        let options = RunOptions { terse: true, ..RunOptions::default() };
        let mut fresh = FreshTables { target, options: options.clone() };
        let mut arena = Arena::new(target, options).expect("an arena");
        let mut compared = 0;
        let kept = KEPT.into_iter().flat_map(|folder| cases(folder, target));
        let made = cases(MADE, target);
        let serial: Vec<Case> = made.iter().map(one_after_the_other).collect();
        for case in &kept.chain(made).chain(serial).collect::<Vec<_>>() {
            for level in levels(target) {
                let run = arena.run(case, level).map(|run| essence(&run));
                let mut difference = String::new();
                let is_equal = (0..FRESH_RUNS).any(|_| match (&run, fresh.run(case, level)) {
                    (Ok(run), Ok(expected)) => {
                        let expected = essence(&expected);
                        difference = first_difference(run, &expected);
                        *run == expected
                    }
                    (Err(error), Err(expected)) => error.to_string() == expected.to_string(),
                    (run, expected) => {
                        difference = format!("{:?} / {:?}", run.as_ref().err(), expected.err());
                        false
                    }
                });
                compared += 1;
                if !is_equal {
                    let place = format!("{} at {level:?}: {}", target.info(), case.name);
                    assert_ne!(
                        target.info().product,
                        Product::named("sqlite"),
                        "{place}: {difference}"
                    );
                    wrong.push(format!("{place}: {difference}"));
                }
            }
        }
        println!("{}: {compared} runs compared", target.info());
    }
    // Servers grant waiters in either order now and then.
    assert!(wrong.len() <= TOLERATED, "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

/// What most of them are, so that one odd run counts once, whichever it is.
fn commonest(runs: &[String]) -> &String {
    let count = |run: &&String| runs.iter().filter(|other| other == run).count();
    runs.iter().max_by_key(count).expect("there are runs")
}

#[test]
fn a_case_stays_the_same_however_often_it_runs() {
    for target in targets() {
        let target = target.as_ref();
        let mut arena = Arena::new(target, RunOptions::default()).expect("an arena");
        let mut different = Vec::new();
        for case in cases(MADE, target) {
            // On a busy machine a timer that is late chooses the victim there.
            if case.name == "deadlock" && target.info().product == Product::named("postgres") {
                continue;
            }
            let mut run = |case: &Case| essence(&arena.run(case, None).expect("the case runs"));
            let uses: Vec<String> = (0..USES).map(|_| run(&case)).collect();
            let usual = commonest(&uses);
            for (number, odd) in uses.iter().enumerate().filter(|(_, one)| *one != usual) {
                let difference = first_difference(usual, odd);
                different.push(format!("{}, use {}: {difference}", case.name, number + 1));
            }
        }
        println!("{}: {} runs differ from the others", target.info(), different.len());
        let tolerated =
            if target.info().product == Product::named("sqlite") { 0 } else { TOLERATED };
        assert!(different.len() <= tolerated, "{}\n{}", target.info(), different.join("\n"));
    }
}

#[test]
fn a_failing_set_up_is_reported_as_on_fresh_tables_and_leaves_nothing() {
    for target in targets() {
        let target = target.as_ref();
        let case = |rows: &str| {
            let text = format!(
                "/* setup */ CREATE TABLE t (a INT PRIMARY KEY);\n\
                 /* setup */ INSERT INTO t VALUES {rows};\n/* t1 */ SELECT * FROM t;"
            );
            Case::parse("set-up", &text).expect("a case")
        };
        let mut arena = Arena::new(target, RunOptions::default()).expect("an arena");
        let mut fresh = FreshTables { target, options: RunOptions::default() };
        let expected = fresh.run(&case("(1)"), None).expect("it runs");
        for _ in 0..3 {
            let run = arena.run(&case("(1)"), None).expect("it runs");
            assert_eq!(essence(&run), essence(&expected));
            let error = arena.run(&case("(1), (1)"), None).expect_err("a duplicate");
            let fresh_error = fresh.run(&case("(1), (1)"), None).expect_err("a duplicate");
            assert_eq!(error.to_string(), fresh_error.to_string());
        }
    }
}

#[test]
fn an_arena_can_be_given_to_a_thread() {
    fn is_send<T: Send>() {}
    is_send::<Arena<'_>>();
}

/// Serial schedules, as oracles ask for them: the same tables with other rows, and a statement that may fail.
fn small(number: usize, tables: &str) -> Case {
    let text = format!(
        "/* setup */ CREATE TABLE t (a INT PRIMARY KEY{tables});\n\
         /* t1 */ INSERT INTO t (a) VALUES ({number});\n\
         /* t1 */ INSERT INTO t (a) VALUES (3);\n\
         /* t1 */ UPDATE t SET a = a + 10 WHERE a < 5;\n"
    );
    Case::parse("small", &text).expect("a valid case")
}

#[test]
fn several_schedules_at_once_give_the_runs_of_each() {
    for target in targets() {
        let mut arena = Arena::new(target.as_ref(), RunOptions::default()).expect("an arena");
        // More than fit into one round trip; the fourth fails with a duplicate key.
        let alike: Vec<Case> = (0..40).map(|number| small(number, "")).collect();
        let mixed = [alike[0].clone(), small(1, ", b INT"), alike[2].clone()];
        for cases in [&alike[..], &mixed, &alike[..1], &[]] {
            for _ in 0..2 {
                let together = arena.rehearse_all(cases, None).expect("they run");
                assert_eq!(together.len(), cases.len());
                for (case, run) in cases.iter().zip(&together) {
                    let alone = arena.run(case, None).expect("it runs");
                    assert_eq!(essence(run), essence(&alone), "{}", target.info());
                    let rehearsed = arena.rehearse(case, None).expect("it runs");
                    assert_eq!(essence(&rehearsed), essence(&alone), "{}", target.info());
                }
            }
        }
    }
}
