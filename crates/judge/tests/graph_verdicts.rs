//! The graph and reorder oracles on generated cases and engines that are right: no violation at any level.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`, and `ANCHORITE_GRAPH_CASES` says how
//! many cases are run at each level.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_generate::{Recipe, case};
use anchorite_judge::evidence::Prepared;
use anchorite_judge::{Evidence, Laboratory, oracles};
use anchorite_model::{Case, Ending, Level, Run, Runner, Verdict};
use anchorite_stage::{Arena, FreshTables, RunOptions};

/// How many cases are run at each level unless the environment says otherwise.
const CASES: u64 = 8;

fn targets() -> Vec<Box<dyn Target>> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    let all = ["sqlite", "sqlite:wal"].into_iter().chain(urls.split_whitespace());
    all.map(|target| open(target).unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// What an oracle says about a run, with the further runs that it wants.
fn verdict(name: &str, run: &Run, runner: &mut dyn Runner, level: Level) -> Verdict {
    let oracle = oracles::named(name).expect("there is one");
    let cases = oracle.prepare(run, false);
    let runs = cases.iter().map(|case| runner.run(case, Some(level)).ok()).collect();
    let prepared = Prepared::from([(oracle.name(), runs)]);
    let evidence = Evidence::new(run, Claims::for_target(&run.target), prepared);
    let mut laboratory = Laboratory::new(runner, Some(level));
    oracle.judgement(&evidence, &mut laboratory).expect("the engine answers").verdict
}

/// The verdict in a word, or with its reason.
fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Allowed { exception, .. } => format!("allowed {exception}"),
        Verdict::Undecided { reason } => format!("undecided: {reason}"),
        Verdict::Violation { anomaly, .. } => format!("violation {anomaly}"),
    }
}

#[test]
fn nothing_is_wrong_with_what_is_right() {
    let count = std::env::var("ANCHORITE_GRAPH_CASES").ok().and_then(|count| count.parse().ok());
    let mut wrong = Vec::new();
    for target in targets() {
        let recipe = Recipe::new(target.info().product);
        for &level in target.levels() {
            let options = RunOptions { level: Some(level), ..RunOptions::default() };
            let mut arena = Arena::new(target.as_ref(), options.clone()).expect("an arena");
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for at in 0..count.unwrap_or(CASES) {
                // Far apart, so that they do not share their tables.
                let case: Case = case(&recipe, 17, at * 50);
                let Ok(run) = arena.run(&case, Some(level)) else { continue };
                if run.ending != Ending::Complete {
                    continue;
                }
                for oracle in ["graph", "reorder"] {
                    let mut said = verdict(oracle, &run, &mut arena, level);
                    if matches!(said, Verdict::Violation { .. }) {
                        // What is reported must show on fresh tables.
                        let options = options.clone();
                        let mut fresh = FreshTables { target: target.as_ref(), options };
                        let run = fresh.run(&case, Some(level)).expect("a run");
                        said = verdict(oracle, &run, &mut fresh, level);
                    }
                    if let Verdict::Violation { anomaly, because, .. } = &said {
                        let place = format!("{} at {level}, case {at}", target.info());
                        wrong.push(format!("{place}: {oracle}: {anomaly}: {because:#?}\n{case}"));
                    }
                    *counts.entry(format!("{oracle}: {}", told(&said))).or_default() += 1;
                }
            }
            println!("{} at {level}: {counts:#?}", target.info());
        }
    }
    assert!(wrong.is_empty(), "{} wrong, the first:\n{}", wrong.len(), wrong[0]);
}
