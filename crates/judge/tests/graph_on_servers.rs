//! The anomalies of the probe, named by the graph of an instrumented run and held against the hand-written conditions.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use anchorite_claims::{Anomaly, Claims};
use anchorite_drivers::{Target, open};
use anchorite_judge::traced::named::named;
use anchorite_judge::{observe, probe_cases};
use anchorite_model::{Case, Level, Runner};
use anchorite_stage::{FreshTables, RunOptions};

fn targets() -> Vec<Box<dyn Target>> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    ["sqlite", "sqlite:wal", "sqlite:shared-cache"]
        .into_iter()
        .chain(urls.split_whitespace())
        .map(|target| open(target).unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

/// What the graph of a case says.
struct Said {
    found: Vec<Anomaly>,
    because: Vec<String>,
}

fn said(target: &dyn Target, case: &Case, level: Level) -> Said {
    let options = RunOptions { level: Some(level), ..RunOptions::default() };
    let mut runner = FreshTables { target, options };
    let product = target.info().product;
    let claims = Claims::for_target(target.info());
    let named =
        named(case, product, claims, &mut runner, Some(level)).expect("every version is known");
    let sightings = named.sightings;
    Said {
        found: sightings.iter().map(|seen| seen.anomaly).collect(),
        because: sightings.iter().flat_map(|seen| seen.because.clone()).collect(),
    }
}

/// Whether these names tell what the case is about: OTV is a case of G-single, PMP one with a condition, and a dirty
/// write that is noticed by a read is a circle of information.
fn names(found: &[Anomaly], own: Anomaly) -> bool {
    let any = |names: &[Anomaly]| found.iter().any(|name| names.contains(name));
    match own {
        Anomaly::Otv => any(&[Anomaly::GSingle, Anomaly::Pmp, Anomaly::G1c]),
        Anomaly::GSingle | Anomaly::Pmp => any(&[Anomaly::GSingle, Anomaly::Pmp]),
        Anomaly::G2 | Anomaly::G2Item => any(&[Anomaly::G2, Anomaly::G2Item]),
        own => found.contains(&own),
    }
}

#[test]
fn the_graph_agrees_with_the_hand_written_conditions() {
    let mut wrong = Vec::new();
    for target in targets() {
        let info = target.info();
        let (mut shown, mut named) = (0, 0);
        for (case, level) in
            probe_cases().iter().flat_map(|case| target.levels().iter().map(move |l| (case, *l)))
        {
            let options = RunOptions { level: Some(level), ..RunOptions::default() };
            let mut runner = FreshTables { target: target.as_ref(), options };
            let run = runner.run(case, Some(level)).expect("a run");
            let Ok(observation) = observe(case, &run) else { continue };
            let said = said(target.as_ref(), case, level);
            let place = format!("{info} at {level}: {}: {:?}", case.name, said.found);
            let is_named = names(&said.found, observation.anomaly);
            shown += usize::from(observation.possible);
            named += usize::from(observation.possible && is_named);
            if observation.possible && !is_named {
                wrong.push(format!("{place}: not named; {:?}", said.because));
            }
            if !observation.possible && said.found.contains(&observation.anomaly) {
                wrong.push(format!("{place}: did not happen; {:?}", said.because));
            }
        }
        println!("{info}: {named} of {shown} anomalies got the name of their case");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
