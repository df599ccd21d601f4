//! Decides many levels with as little work as possible.
//!
//! Idea: a level that holds settles all weaker ones, a level that fails all stronger ones, so the
//! strongest are tried first, after one cheap test from the bottom. The two families are independent and
//! run on two threads if allowed; the verdicts do not depend on it.

use super::Verdicts;
use crate::analysis::Analysis;
use crate::lattice;
use crate::levels::{self, AXIOMATIC, LevelVerdict};
use std::collections::BTreeMap;

/// Strongest first, except for the cheap test at the beginning.
const ADYA_ORDER: [&str; 16] = [
    "read-committed",
    "strict-serializable",
    "strong-session-serializable",
    "serializable",
    "strong-snapshot-isolation",
    "strong-session-snapshot-isolation",
    "snapshot-isolation",
    "repeatable-read",
    "cursor-stability",
    "consistent-view",
    "monotonic-atomic-view",
    "strong-read-committed",
    "strong-session-read-committed",
    "strong-read-uncommitted",
    "strong-session-read-uncommitted",
    "read-uncommitted",
];

pub(super) fn decide(
    analysis: &Analysis<'_>,
    adya: &[&'static str],
    axiomatic: &[&'static str],
    threads: usize,
) -> (Verdicts, Verdicts) {
    if threads < 2 || adya.is_empty() || axiomatic.is_empty() {
        return (adya_levels(analysis, adya), axiomatic_levels(analysis, axiomatic));
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(|| axiomatic_levels(analysis, axiomatic));
        let first = adya_levels(analysis, adya);
        let second = other.join().unwrap_or_else(|_| axiomatic_levels(analysis, axiomatic));
        (first, second)
    })
}

fn adya_levels(analysis: &Analysis<'_>, wanted: &[&'static str]) -> Verdicts {
    let timed = analysis.history.has_real_time();
    let mut known: BTreeMap<&'static str, LevelVerdict> = BTreeMap::new();
    for level in ADYA_ORDER.into_iter().filter(|level| wanted.contains(level)) {
        let model = lattice::canonical(level).unwrap_or(level);
        let settled = known.iter().find_map(|(other, verdict)| {
            let other_model = lattice::canonical(other).unwrap_or(other);
            let follows = match verdict {
                LevelVerdict::Holds => implies(other_model, model),
                LevelVerdict::Fails => implies(model, other_model),
                LevelVerdict::Unknown(_) => false,
            };
            follows.then(|| verdict.clone())
        });
        let untimed = level.strip_prefix("strong-").filter(|rest| !rest.starts_with("session-"));
        let untimed = untimed.or(level.strip_prefix("strict-"));
        let verdict = settled.unwrap_or_else(|| match untimed {
            // Without real time these can only fail, and only where the plain level fails.
            Some(plain) if !timed => match levels::adya(analysis, plain) {
                LevelVerdict::Fails => LevelVerdict::Fails,
                _ => LevelVerdict::Unknown("the history has no real time".to_owned()),
            },
            _ => levels::adya(analysis, level),
        });
        known.insert(level, verdict);
    }
    wanted.iter().filter_map(|level| Some((*level, known.get(level)?.clone()))).collect()
}

/// Whether the first level is at least as strong as the second, in the lattice.
fn implies(strong: &'static str, weak: &'static str) -> bool {
    strong == weak || lattice::weaker(strong).contains(weak)
}

fn axiomatic_levels(analysis: &Analysis<'_>, wanted: &[&'static str]) -> Verdicts {
    let place = |level: &str| AXIOMATIC.iter().position(|name| *name == level).unwrap_or(0);
    let mut known: BTreeMap<&'static str, LevelVerdict> = BTreeMap::new();
    // The cheap three from the bottom, then the strong ones from the top.
    let order =
        ["read-committed", "read-atomic", "causal", "serializable", "snapshot-isolation", "prefix"];
    for level in order.into_iter().filter(|level| wanted.contains(level)) {
        let settled = known.iter().find_map(|(other, verdict)| match verdict {
            LevelVerdict::Holds if place(other) > place(level) => Some(LevelVerdict::Holds),
            LevelVerdict::Fails if place(other) < place(level) => Some(LevelVerdict::Fails),
            _ => None,
        });
        known.insert(level, settled.unwrap_or_else(|| levels::axiomatic(analysis, level)));
    }
    wanted.iter().filter_map(|level| Some((*level, known.get(level)?.clone()))).collect()
}
