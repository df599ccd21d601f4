//! The classic anomalies by name, held against the probe's own conditions and against what levels promise.
//!
//! The probe's cases say by hand-written conditions whether their anomaly happened. Without these conditions the rows
//! alone must give a name wherever they hold, and none that the level prevents.
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use anchorite_claims::{Anomaly, Claims, Promise};
use anchorite_drivers::{Target, open};
use anchorite_judge::{Observed, observe, observed, probe_cases};
use anchorite_model::Case;
use anchorite_stage::{RunOptions, run_case};

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

/// What the case is about is kept from the detector.
fn without_header(case: &Case) -> Case {
    let mut bare = case.clone();
    bare.header.other.clear();
    bare.name = "bare".to_owned();
    bare
}

/// Whether an anomaly of this name may be told where the probe's case shows its own: OTV is a case of G-single.
fn names(observed: &[Anomaly], own: Anomaly) -> bool {
    match own {
        Anomaly::Otv => !observed.is_empty(),
        own => observed.contains(&own),
    }
}

#[test]
fn the_rows_alone_give_the_name_that_the_conditions_give() {
    let mut wrong = Vec::new();
    for target in targets() {
        let info = target.info();
        let claims = Claims::for_target(info);
        let (mut shown, mut named) = (0, 0);
        for (case, level) in
            probe_cases().iter().flat_map(|case| target.levels().iter().map(move |l| (case, *l)))
        {
            let options = RunOptions { level: Some(level), ..RunOptions::default() };
            let mut run = run_case(target.as_ref(), case, &options).expect("a run");
            let Ok(observation) = observe(case, &run) else { continue };
            run.case = without_header(case);
            let told = observed(&run, claims);
            let found: Vec<Anomaly> = told.iter().map(|observed| observed.anomaly).collect();
            let place = format!("{info} at {level}: {}: {found:?}", case.name);
            shown += usize::from(observation.possible);
            named += usize::from(observation.possible && names(&found, observation.anomaly));
            if observation.possible && found.is_empty() {
                wrong.push(format!("{place}: not named"));
            }
            // A server that breaks its promise does so by the conditions, too.
            let is_prevented = |told: &Observed| told.promise == Promise::Prevented;
            if !observation.possible && told.iter().any(is_prevented) {
                wrong.push(format!("{place}: named although prevented: {told:?}"));
            }
        }
        println!("{info}: {named} of {shown} anomalies got the name of their case");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
