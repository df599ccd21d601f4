//! The self-test itself, small: planted faults are found, honest runs are not complained about.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`. The floor is what we do not
//! want to fall below: how many kinds of faults must be found, of those that could be planted.

use anchorite_drivers::sabotage::Sabotage;
use anchorite_drivers::{Target, open};
use anchorite_generate::{Recipe, case};
use anchorite_hunt::SelfTest;
use anchorite_hunt::selftest::Findings;
use anchorite_judge::oracles;
use anchorite_model::Case;
use anchorite_stage::{Limits, RunOptions};

const SEED: u64 = 1;
/// Enough for each sabotage that SQLite can suffer to be planted.
const CASES: u64 = 60;
/// Not one after the other, so that few of them share their tables.
const STRIDE: u64 = 20;
const PLANTS: u64 = 8;
/// So often a fault must have been planted before never finding it counts.
const CHANCES: u64 = 4;
/// Kinds of faults, of nineteen, that are found at least once everywhere.
const FLOOR: usize = 9;

fn findings(target: &dyn Target) -> Findings {
    let recipe = Recipe::new(target.info().product);
    let cases: Vec<Case> = (0..CASES).map(|at| case(&recipe, SEED, at * STRIDE)).collect();
    let test = SelfTest {
        target,
        level: target.levels().last().copied(),
        oracles: oracles::ALL,
        cases: &cases,
        plants: PLANTS,
        jobs: 2,
        options: RunOptions { limits: Limits::hurried(), ..RunOptions::default() },
        progress: &|_| {},
    };
    test.perform().unwrap_or_else(|error| panic!("{}: {error}", target.info()))
}

#[test]
fn planted_faults_are_found_and_honest_runs_are_not_blamed() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    for name in ["sqlite", "sqlite:wal"].into_iter().chain(urls.split_whitespace()) {
        let target = open(name).unwrap_or_else(|error| panic!("{error}"));
        let found = findings(target.as_ref());
        let place = &found.target;
        for honest in &found.honest {
            assert_eq!(honest.first_false_alarm, None, "{place} at {}", found.level);
            assert!(honest.undecided * 20 <= honest.cases, "{place}: {honest:?}");
        }
        // Of a fault that had hardly a chance, a miss says nothing.
        let missed = found.planted.iter().filter(|line| line.is_blind() && line.planted >= CHANCES);
        // At InnoDB's weaker level eleven of twelve runs that differ are serial as well: more are needed than here.
        let missed = missed.filter(|line| line.sabotage != Sabotage::WriteSkew);
        let blind: Vec<_> = missed.collect();
        assert!(blind.is_empty(), "{place} at {}: {blind:?}", found.level);
        let kinds = found.planted.iter().filter(|line| line.found > 0).count();
        assert!(kinds >= FLOOR, "{place} at {}: only {kinds} kinds found", found.level);
    }
}
