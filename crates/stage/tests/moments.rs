//! When a statement was sent and when it was answered, in runs of every kind of wait.
//!
//! What must hold: moments are numbered without a gap and never twice; a statement is answered after it was sent, and
//! nothing is answered in between that was sent later by the same session; events stand in the order of their answers,
//! and that a statement waits is told before anything is that happened after it was sent. So a deadlock's victim
//! stands below the statement that closed the cycle.
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use anchorite_drivers::{Target, open};
use anchorite_model::{Case, ErrorClass, Event, Outcome, Run};
use anchorite_stage::{RunOptions, run_case};
use support::{case, plain_level, servers};

fn cases(target: &dyn Target) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/waits");
    let entries = std::fs::read_dir(folder).expect("a folder of cases");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(file).expect("a case is readable");
        Case::parse(&file.to_string_lossy(), &text).unwrap_or_else(|error| panic!("{error}"))
    };
    let is_for = |case: &Case| {
        let products = &case.header.targets;
        products.is_empty() || products.contains(&target.info().product)
    };
    files.iter().map(read).filter(is_for).collect()
}

/// What is wrong with the moments of a run; empty if nothing is.
fn faults(run: &Run) -> Vec<String> {
    let mut faults = Vec::new();
    let sent: BTreeSet<(usize, usize)> =
        run.events.iter().filter_map(|event| Some((event.sent?, event.n))).collect();
    let answered: Vec<(usize, usize)> =
        run.events.iter().filter_map(|event| Some((event.answered?, event.n))).collect();
    let mut moments: Vec<usize> = sent.iter().chain(&answered).map(|(moment, _)| *moment).collect();
    moments.sort_unstable();
    if moments != (1..=moments.len()).collect::<Vec<_>>() {
        faults.push(format!("the moments are {moments:?}"));
    }
    if !answered.is_sorted() {
        faults.push(format!("answers do not stand in their order: {answered:?}"));
    }
    for (at, event) in run.events.iter().enumerate() {
        let n = event.n;
        let is_skipped = matches!(event.outcome, Outcome::Skipped { .. });
        if event.is_answer() != event.answered.is_some() || is_skipped != event.sent.is_none() {
            faults.push(format!("{n} does not say what became of it: {event:?}"));
        }
        if event.answered.is_some_and(|answered| event.sent.is_none_or(|sent| sent >= answered)) {
            faults.push(format!("{n} is answered before it is sent"));
        }
        let is_late = |other: &Event| other.answered > event.sent;
        let is_first = run.events[..at].iter().all(|other| other.n != n);
        let waits = matches!(event.outcome, Outcome::Blocked { .. });
        if is_first && waits && run.events[..at].iter().any(is_late) {
            faults.push(format!("that {n} waits is told after what it brought about"));
        }
    }
    faults
}

#[test]
fn moments_tell_when_statements_were_sent_and_answered() {
    let embedded = ["sqlite", "sqlite:wal", "sqlite:shared-cache"];
    let embedded = embedded.map(|name| open(name).expect("SQLite is there"));
    for target in embedded.into_iter().chain(servers()) {
        let cases = cases(target.as_ref());
        println!("{}: {} cases", target.info(), cases.len());
        for case in cases {
            let run = run_case(target.as_ref(), &case, &RunOptions::default())
                .unwrap_or_else(|error| panic!("{} on {}: {error}", case.name, target.info()));
            let faults = faults(&run);
            assert!(faults.is_empty(), "{} on {}: {faults:#?}", case.name, target.info());
        }
    }
}

#[test]
fn the_statement_that_closes_a_deadlock_was_sent_before_the_victim_heard_of_it() {
    let setup = [
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)".to_owned(),
        "INSERT INTO t VALUES (1, 0), (2, 0)".to_owned(),
    ];
    let steps = [
        (0, "BEGIN"),
        (1, "BEGIN"),
        (0, "UPDATE t SET v = 1 WHERE id = 1"),
        (1, "UPDATE t SET v = 2 WHERE id = 2"),
        (0, "UPDATE t SET v = 1 WHERE id = 2"),
        (1, "UPDATE t SET v = 2 WHERE id = 1"),
    ];
    let steps = steps.map(|(session, sql)| (session, sql.to_owned()));
    let closing = steps.len();
    let case = case("closed", 2, &setup, steps.to_vec());
    for target in servers() {
        let level = plain_level(target.as_ref());
        let options = RunOptions { level, ..RunOptions::default() };
        let run = run_case(target.as_ref(), &case, &options).expect("the case runs");
        let is_victim = |event: &&Event| {
            let classes = [ErrorClass::Deadlock, ErrorClass::Serialization];
            matches!(&event.outcome, Outcome::Error(error) if classes.contains(&error.class))
        };
        let victim = run.events.iter().find(is_victim);
        let victim = victim.unwrap_or_else(|| panic!("no victim on {}: {run:#?}", target.info()));
        let sent = run.events.iter().find(|event| event.n == closing).and_then(|event| event.sent);
        assert!(sent.is_some() && victim.answered > sent, "{}: {:#?}", target.info(), run.events);
    }
}
