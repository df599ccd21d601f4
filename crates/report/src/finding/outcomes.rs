//! What would have been correct, and why the run is wrong, each said once.
//!
//! Idea: oracles are deliberately redundant: a sentence per serial order, with the tables spelled out in it, and the
//! same tables as data; the promise as a sentence, and again as the claim. A report shows tables as tables, groups
//! orders with the same result, and keeps only sentences that add something.

use anchorite_model::{Expected, Finding};

use super::compare::{TablePair, compare};
use super::words::{address_in, because, deciding};

/// Outcomes beyond this many are counted.
const SHOWN_MAX: usize = 4;

/// Correct outcomes that end with the same tables.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group<'a> {
    /// Expected and actual; empty if the oracle knows no tables.
    pub tables: Vec<TablePair<'a>>,
    /// How each comes about, and how the run differs from it apart from the tables.
    pub ways: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Group<'a> {
    /// How the run differs from all of them.
    pub fn common(&self) -> Vec<&'a str> {
        let (first, rest) = match self.ways.split_first() {
            Some(((_, first), rest)) => (first, rest),
            None => return Vec::new(),
        };
        let everywhere = |line: &&&str| rest.iter().all(|(_, other)| other.contains(line));
        first.iter().filter(everywhere).copied().collect()
    }

    /// How it differs from each beyond that; only where it does.
    pub fn further(&self) -> Vec<(&'a str, Vec<&'a str>)> {
        let common = self.common();
        let beyond = |(title, all): &(&'a str, Vec<&'a str>)| {
            (*title, all.iter().filter(|line| !common.contains(line)).copied().collect())
        };
        let all = self.ways.iter().map(beyond);
        all.filter(|(_, lines): &(&str, Vec<&str>)| !lines.is_empty()).collect()
    }
}

/// The correct outcomes by their tables, and how many more there are.
pub(crate) fn outcomes(finding: &Finding) -> (Vec<Group<'_>>, usize) {
    let all = deciding(finding).map_or(&[][..], |judgement| judgement.expected.as_slice());
    let shown = all.len().min(SHOWN_MAX);
    let mut groups: Vec<(&Expected, Group<'_>)> = Vec::new();
    for outcome in &all[..shown] {
        let way = (outcome.title.as_str(), beyond_tables(outcome));
        let alike = groups.iter_mut().find(|(first, _)| first.final_state == outcome.final_state);
        match alike {
            Some((_, group)) => group.ways.push(way),
            None => {
                let tables = match outcome.final_state.is_empty() {
                    true => Vec::new(),
                    false => compare(&outcome.final_state, &finding.run.final_state),
                };
                groups.push((outcome, Group { tables, ways: vec![way] }));
            }
        }
    }
    (groups.into_iter().map(|(_, group)| group).collect(), all.len() - shown)
}

/// The differences that the tables beside them do not show.
fn beyond_tables(outcome: &Expected) -> Vec<&str> {
    let is_shown = |difference: &&String| {
        let of = |name: &str| difference.starts_with(&format!("table {name} ends with "));
        outcome.final_state.iter().any(|(name, _)| of(name))
    };
    outcome.differences.iter().filter(|d| !is_shown(d)).map(String::as_str).collect()
}

/// The sentences that say more than the outcomes and the claim do.
pub(crate) fn reasons(finding: &Finding) -> Vec<&str> {
    let Some(judgement) = deciding(finding) else { return Vec::new() };
    let order = |outcome: &Expected, sentence: &str| {
        let rest = sentence.strip_prefix("not ").and_then(|s| s.strip_prefix(&outcome.title));
        rest.is_some_and(|rest| rest.starts_with(": "))
    };
    let is_order = |sentence: &str| {
        judgement.expected.iter().take(SHOWN_MAX).any(|outcome| order(outcome, sentence))
    };
    let is_claimed = |sentence: &str| {
        let mut addresses = sentence.split(' ').map(|word| address_in(word).1);
        let address = addresses.find(|address| !address.is_empty());
        let claimed = |address: &str| finding.claim.iter().any(|line| line.contains(address));
        sentence.starts_with("promised: ") && address.is_some_and(claimed)
    };
    let new = |sentence: &&String| !is_order(sentence) && !is_claimed(sentence);
    because(&judgement.verdict).iter().filter(new).map(String::as_str).collect()
}
