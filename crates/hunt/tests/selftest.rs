//! The self-test itself, small: planted faults are found, honest runs are not complained about.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`, each at two levels. The floor is
//! `floors/faults.toml`: which oracle has found which fault where; what was found must still be found. With
//! `ANCHORITE_MEASURE=1` the test runs at every level and prints what that file would say now.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod floors;

use std::collections::BTreeMap;

use anchorite_drivers::{Target, open};
use anchorite_generate::{Recipe, case};
use anchorite_hunt::SelfTest;
use anchorite_hunt::selftest::{Findings, Planted};
use anchorite_judge::oracles;
use anchorite_model::{Case, Level};
use anchorite_stage::{Limits, RunOptions};
use floors::{Faults, name_of};

const SEED: u64 = 1;
/// Enough for each sabotage that SQLite can suffer to be planted.
const CASES: u64 = 60;
/// Not one after the other, so that few of them share their tables.
const STRIDE: u64 = 20;
const PLANTS: u64 = 8;
/// So often a fault must have been planted before never finding it counts.
const CHANCES: u64 = 4;
/// So often it was found when it was measured: what was found once may be an accident of that version.
const SURE: u64 = 2;

fn findings(target: &dyn Target, level: Level) -> Findings {
    let recipe = Recipe::new(target.info().product);
    // An oracle that costs much is tested where nothing goes over a network.
    let is_embedded = target.info().product.name() == "sqlite";
    let all = oracles::ALL.iter().filter(|oracle| is_embedded || !oracle.is_optional());
    let all: Vec<_> = all.copied().collect();
    let cases: Vec<Case> = (0..CASES).map(|at| case(&recipe, SEED, at * STRIDE)).collect();
    let test = SelfTest {
        target,
        level: Some(level),
        oracles: &all,
        cases: &cases,
        plants: PLANTS,
        jobs: 2,
        options: RunOptions { limits: Limits::hurried(), ..RunOptions::default() },
        progress: &|_| {},
    };
    test.perform().unwrap_or_else(|error| panic!("{}: {error}", target.info()))
}

/// The levels that are tested: of a server, where a run takes longer, the strongest and read committed.
fn levels(target: &dyn Target, is_measuring: bool) -> impl Iterator<Item = &Level> {
    let all = target.levels();
    let is_embedded = target.info().product.name() == "sqlite";
    let strongest = all.last();
    all.iter().filter(move |level| {
        is_measuring || is_embedded || Some(*level) == strongest || **level == Level::ReadCommitted
    })
}

/// What is wrong with one line of the matrix.
fn complaint(floor: &Faults, target: &str, level: Level, line: &Planted) -> Option<String> {
    let (oracle, sabotage) = (line.oracle.name(), line.sabotage.name());
    if line.found > 0 {
        return None;
    }
    if floor.is_found(target, level, oracle, sabotage) {
        return Some(format!("{oracle} has found {sabotage} before: {line:?}"));
    }
    // Of a fault that had hardly a chance, a miss says nothing. An exception that allows all of them is named.
    let is_blind = line.declared && line.found == 0 && line.planted >= CHANCES;
    let is_excused = floor.is_missed(target, level, oracle, sabotage);
    (is_blind && !is_excused).then(|| format!("{oracle} is blind for {sabotage}: {line:?}"))
}

/// The lines of the file of floors for what was found here.
fn measured(target: &str, level: Level, planted: &[Planted]) -> String {
    let mut by_oracle: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in planted.iter().filter(|line| line.found >= SURE) {
        let name = format!("{:?}", line.sabotage.name());
        by_oracle.entry(line.oracle.name()).or_default().push(name);
    }
    let told = by_oracle.into_iter().map(|(oracle, names)| {
        let place = format!("target = \"{target}\"\nlevel = \"{}\"", level.short());
        format!("[[found]]\noracle = \"{oracle}\"\n{place}\nsabotages = [{}]\n", names.join(", "))
    });
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn planted_faults_are_found_and_honest_runs_are_not_blamed() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let is_measuring = std::env::var_os("ANCHORITE_MEASURE").is_some();
    let floor = Faults::read();
    let mut complaints = Vec::new();
    let embedded = ["sqlite", "sqlite:wal", "sqlite:shared-cache"];
    for url in embedded.into_iter().chain(urls.split_whitespace()) {
        let target = open(url).unwrap_or_else(|error| panic!("{error}"));
        let name = name_of(target.as_ref());
        for level in levels(target.as_ref(), is_measuring) {
            let found = findings(target.as_ref(), *level);
            if is_measuring {
                println!("{}", measured(&name, *level, &found.planted));
            }
            let place = format!("{} at {level}", found.target);
            for honest in &found.honest {
                let most = floor.undecided(&name, *level, honest.oracle.name());
                let is_vague = honest.undecided * 100 > honest.cases * most;
                if honest.first_false_alarm.is_some() || is_vague {
                    complaints.push(format!("{place}: {honest:?}"));
                }
            }
            let lines = found.planted.iter();
            let bad = lines.filter_map(|line| complaint(&floor, &name, *level, line));
            complaints.extend(bad.map(|what| format!("{place}: {what}")));
        }
    }
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
}
