//! Servers that behave as documented give no violation but those of known bugs, whatever is generated.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`. How many cases run at each
//! level is `ANCHORITE_FALSE_ALARM_CASES` (default: a few).
//!
//! A violation that does not come out again is an alarm like any other: nobody knows what it was. And silence is no
//! proof: at every level each oracle must have passed so many runs as `floors/passes.toml` says.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod floors;

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_generate::Recipe;
use anchorite_hunt::{Effort, Examiner, Investigation, Recorded, Suspicion, investigate};
use anchorite_judge::oracles;
use anchorite_model::{Case, Level, Origin, Run, Signature, Verdict};
use anchorite_reduce::known;
use anchorite_stage::{Arena, FreshTables, Limits, RunOptions};
use floors::{Passes, name_of};

const SEED: u64 = 20_261_116;
const FEW: u64 = 60;

/// What one oracle said at one level.
#[derive(Debug, Default)]
struct Counts {
    pass: u64,
    allowed: BTreeMap<String, u64>,
    undecided: BTreeMap<String, u64>,
    known: u64,
}

/// What was said at one level.
#[derive(Debug, Default)]
struct Said {
    by: BTreeMap<String, Counts>,
    alarms: Vec<String>,
}

fn options() -> RunOptions {
    RunOptions { limits: Limits::hurried(), ..RunOptions::default() }
}

/// Whether a violation is a known issue of the server; otherwise what is the matter with it.
fn known(
    target: &dyn Target,
    examiner: &Examiner<'_>,
    case: &Case,
    level: Level,
    signature: &Signature,
) -> Result<(), &'static str> {
    let mut fast = Arena::new(target, options()).expect("the target can be used");
    let mut fresh = FreshTables { target, options: options() };
    let origin = Origin::Generated { seed: SEED, number: 0 };
    let signature = Some(signature.clone());
    let suspect = Suspicion { case, level: Some(level), signature, origin, on: "", against: None };
    let effort = Effort { confirmations: 2, contrasts: 0, ..Effort::default() };
    let recorded = Recorded { known: known::built_in(), found: &[] };
    match investigate(examiner, &mut fast, &mut fresh, &suspect, &effort, recorded) {
        Ok(Investigation::Confirmed { finding, .. }) if finding.known.is_some() => Ok(()),
        Ok(Investigation::Again(_)) => Err("is a finding that was never found"),
        Ok(Investigation::Confirmed { .. }) => Err("comes out every time and is no known issue"),
        Ok(Investigation::Flaky(_)) => Err("comes out sometimes"),
        Ok(Investigation::NotShownAgain { .. }) => Err("did not come out again"),
        Err(error) => panic!("{}: {error}", target.info()),
    }
}

fn hunt(target: &dyn Target, level: Level, cases: u64) -> Said {
    let claims = Claims::for_target(target.info());
    let examiner = Examiner { claims, oracles: oracles::ALL, strict: false };
    let recipe = Recipe::new(target.info().product);
    let mut arena = Arena::new(target, options()).expect("the target can be used");
    let mut said = Said::default();
    for number in 0..cases {
        let case = anchorite_generate::case(&recipe, SEED, number);
        let examined = match examiner.examine(&mut arena, &case, Some(level)) {
            Ok(examined) => examined,
            Err(error) => panic!("{}: {error}\n{case}", target.info()),
        };
        for judgement in &examined.judgements {
            let counts = said.by.entry(judgement.oracle.clone()).or_default();
            match &judgement.verdict {
                Verdict::Pass => counts.pass += 1,
                Verdict::Allowed { exception, .. } => {
                    *counts.allowed.entry(exception.clone()).or_default() += 1;
                }
                Verdict::Undecided { reason } => {
                    *counts.undecided.entry(reason.clone()).or_default() += 1;
                }
                Verdict::Violation { because, .. } => {
                    let signature = judgement.signature(false).expect("a violation has one");
                    match known(target, &examiner, &case, level, &signature) {
                        Ok(()) => counts.known += 1,
                        Err(how) => said.alarms.push(told(&examined.run, how, because)),
                    }
                }
            }
        }
    }
    said
}

fn told(run: &Run, how: &str, because: &[String]) -> String {
    let events: Vec<String> =
        run.events.iter().map(|event| format!("{} {:?}", event.n, event.outcome)).collect();
    format!("{how}\n{}\n{}\n-- {}\n", run.case, events.join("\n"), because.join("\n-- "))
}

#[test]
fn generated_cases_raise_no_false_alarm() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    let cases = std::env::var("ANCHORITE_FALSE_ALARM_CASES");
    let cases = cases.ok().and_then(|text| text.parse().ok()).unwrap_or(FEW);
    let floors = Passes::read();
    let mut complaints = Vec::new();
    for text in
        ["sqlite", "sqlite:wal", "sqlite:shared-cache"].into_iter().chain(urls.split_whitespace())
    {
        let target = open(text).unwrap_or_else(|error| panic!("{error}"));
        for level in target.levels() {
            let said = hunt(target.as_ref(), *level, cases);
            let place = format!("{} at {level}", target.info());
            for (oracle, counts) in &said.by {
                println!("{place}, {oracle}: {counts:?}");
                let (floor, passes) =
                    (floors.floor(&name_of(target.as_ref()), *level, oracle), counts.pass * 100);
                if passes < floor * cases {
                    let told = format!("{oracle} passed {} of {cases}, less than", counts.pass);
                    complaints.push(format!("{place}: {told} {floor} %: {counts:?}"));
                }
            }
            complaints.extend(said.alarms.into_iter().map(|text| format!("{place}\n{text}")));
        }
    }
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n\n"));
}
