//! Servers that behave as documented give no violation but those of known bugs, whatever is generated.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`. How many cases run at each
//! level is `ANCHORITE_FALSE_ALARM_CASES` (default: a few).

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_generate::Recipe;
use anchorite_hunt::{Effort, Examiner, Investigation, Suspicion, investigate};
use anchorite_judge::oracles;
use anchorite_model::{Case, Level, Origin, Run, Verdict};
use anchorite_reduce::known;
use anchorite_stage::{Arena, FreshTables, Limits, RunOptions};

const SEED: u64 = 20_261_116;
const FEW: u64 = 60;

#[derive(Default)]
struct Counts {
    pass: u64,
    allowed: BTreeMap<String, u64>,
    undecided: BTreeMap<String, u64>,
    known: u64,
    violations: Vec<String>,
}

/// Whether a violation is a known issue of the server, or does not come out again.
fn is_known(target: &dyn Target, examiner: &Examiner<'_>, case: &Case, level: Level) -> bool {
    let options = RunOptions { limits: Limits::hurried(), ..RunOptions::default() };
    let mut fast = Arena::new(target, options.clone()).expect("the target can be used");
    let mut fresh = FreshTables { target, options };
    let origin = Origin::Generated { seed: SEED, number: 0 };
    let suspect =
        Suspicion { case, level: Some(level), signature: None, origin, on: "", against: None };
    let effort = Effort { confirmations: 2, contrasts: 0, ..Effort::default() };
    let known = known::built_in();
    match investigate(examiner, &mut fast, &mut fresh, &suspect, &effort, known) {
        Ok(Investigation::Confirmed { finding, .. }) => finding.known.is_some(),
        Ok(_) => true,
        Err(error) => panic!("{}: {error}", target.info()),
    }
}

fn hunt(target: &dyn Target, level: Level, cases: u64) -> Counts {
    let claims = Claims::for_target(target.info());
    let examiner = Examiner { claims, oracles: oracles::ALL, strict: false };
    let recipe = Recipe::new(target.info().product);
    let mut arena =
        Arena::new(target, RunOptions { limits: Limits::hurried(), ..RunOptions::default() })
            .expect("the target can be used");
    let mut counts = Counts::default();
    for number in 0..cases {
        let case = anchorite_generate::case(&recipe, SEED, number);
        let tried = match examiner.examine(&mut arena, &case, Some(level)) {
            Ok(tried) => tried,
            Err(error) => panic!("{}: {error}\n{case}", target.info()),
        };
        match &tried.judgements[0].verdict {
            Verdict::Pass => counts.pass += 1,
            Verdict::Allowed { exception, .. } => {
                *counts.allowed.entry(exception.clone()).or_default() += 1;
            }
            Verdict::Undecided { reason } => {
                *counts.undecided.entry(reason.clone()).or_default() += 1;
            }
            Verdict::Violation { because, .. } if !is_known(target, &examiner, &case, level) => {
                counts.violations.push(violation(&tried.run, because));
            }
            Verdict::Violation { .. } => counts.known += 1,
        }
    }
    counts
}

fn violation(run: &Run, because: &[String]) -> String {
    let events: Vec<String> =
        run.events.iter().map(|event| format!("{} {:?}", event.n, event.outcome)).collect();
    format!("{}\n{}\n-- {}\n", run.case, events.join("\n"), because.join("\n-- "))
}

#[test]
fn generated_cases_raise_no_false_alarm() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    let cases = std::env::var("ANCHORITE_FALSE_ALARM_CASES");
    let cases = cases.ok().and_then(|text| text.parse().ok()).unwrap_or(FEW);
    let mut alarms = Vec::new();
    for text in
        ["sqlite", "sqlite:wal", "sqlite:shared-cache"].into_iter().chain(urls.split_whitespace())
    {
        let target = open(text).unwrap_or_else(|error| panic!("{error}"));
        for level in target.levels() {
            let counts = hunt(target.as_ref(), *level, cases);
            println!(
                "{} at {level}: {} pass, {:?} allowed, {:?} undecided, {} known issues, {} violations",
                target.info(),
                counts.pass,
                counts.allowed,
                counts.undecided,
                counts.known,
                counts.violations.len()
            );
            let place = format!("{} at {level}", target.info());
            alarms.extend(counts.violations.into_iter().map(|text| format!("{place}\n{text}")));
        }
    }
    assert!(alarms.is_empty(), "{} violations\n{}", alarms.len(), alarms.join("\n\n"));
}
