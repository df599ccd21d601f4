//! One cause has few names: planted faults, each in one place, are hunted, and the names of what is found are counted.
//!
//! A name is made of the cause that is found in the reduced run, so this measures both the diagnosis and the reducer.
//! Serial runs go to the honest target: a fault is where sessions meet.

use std::collections::{BTreeMap, BTreeSet};

use anchorite_claims::Claims;
use anchorite_drivers::sabotage::{Sabotage, sabotaged};
use anchorite_drivers::{Target, open};
use anchorite_generate::Recipe;
use anchorite_hunt::{Effort, Examiner, Investigation, Recorded, Suspicion, investigate};
use anchorite_judge::oracles;
use anchorite_model::{Level, Origin};
use anchorite_stage::{Arena, FreshTables, RunOptions};

const SEED: u64 = 16;
/// The most cases per fault, and the most violations that are looked at.
const CASES: u64 = 200;
const LOOKS: usize = 4;
/// The most names that the median fault may have.
const NAMES_MEDIAN: usize = 3;

/// The names of what is found on a target with a fault, with how often each was.
fn names(target: &dyn Target, level: Level, sabotage: Sabotage) -> BTreeMap<String, usize> {
    let faulty = sabotaged(target, sabotage);
    let all = oracles::ALL.iter().copied().filter(|oracle| !oracle.is_optional());
    let all: Vec<_> = all.collect();
    let examiner =
        Examiner { claims: Claims::for_target(target.info()), oracles: &all, strict: false };
    let recipe = Recipe::new(target.info().product);
    let options = RunOptions::default();
    let mut arena = Arena::new(&faulty, options.clone()).expect("the target can be used");
    let mut fresh = FreshTables { target: &faulty, options };
    let mut names = BTreeMap::new();
    for number in 0..CASES {
        let case = anchorite_generate::case(&recipe, SEED, number);
        let Ok(tried) = examiner.examine(&mut arena, &case, Some(level)) else { continue };
        let Some(signature) = tried.signatures.first().cloned() else { continue };
        let found: Vec<String> = names.keys().cloned().collect();
        let suspect = Suspicion {
            case: &case,
            level: Some(level),
            signature: Some(signature),
            origin: Origin::Generated { seed: SEED, number },
            on: "",
            against: None,
        };
        let effort = Effort { confirmations: 1, contrasts: 0, ..Effort::default() };
        let recorded = Recorded { known: &[], found: &found };
        let outcome = investigate(&examiner, &mut arena, &mut fresh, &suspect, &effort, recorded);
        match outcome.expect("the target answers") {
            Investigation::Confirmed { finding, .. } => {
                *names.entry(finding.fingerprint).or_default() += 1;
            }
            Investigation::Again(name) => *names.entry(name).or_default() += 1,
            Investigation::Flaky(_) | Investigation::NotShownAgain { .. } => {}
        }
        if names.values().sum::<usize>() >= LOOKS {
            break;
        }
    }
    names
}

#[expect(clippy::print_stdout, reason = "a measurement is shown")]
fn measure(target: &dyn Target, level: Level) {
    let mut counts = Vec::new();
    for sabotage in Sabotage::ALL {
        let names = names(target, level, sabotage);
        println!("{} {level} {sabotage}: {names:?}", target.info());
        counts.extend((!names.is_empty()).then_some(names.len()));
    }
    counts.sort_unstable();
    assert!(counts.len() > 5, "too few faults were found: {counts:?}");
    let median = counts[counts.len() / 2];
    assert!(median <= NAMES_MEDIAN, "{}: the median fault has {median} names", target.info());
    let all: BTreeSet<usize> = counts.into_iter().collect();
    println!("{} {level}: names per fault {all:?}, median {median}", target.info());
}

#[test]
fn the_median_fault_has_few_names() {
    let target = open("sqlite:wal").expect("SQLite is built in");
    measure(target.as_ref(), Level::Serializable);
}

#[test]
#[ignore = "a measurement of some minutes per server: cargo test -p anchorite-hunt --test names -- --ignored"]
fn the_median_fault_has_few_names_on_servers() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    for url in urls.split_whitespace() {
        let target = open(url).unwrap_or_else(|error| panic!("{error}"));
        measure(target.as_ref(), Level::ReadCommitted);
    }
}
