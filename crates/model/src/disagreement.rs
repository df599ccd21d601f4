//! Several oracles on one run: what each verdict covers, where two contradict each other, and the verdict on the case.
//!
//! Idea: oracles look at different things, so a violation next to a pass is usually not a contradiction. It is one if
//! the pass covers what the violation is about: then one of the two is wrong, or has a blind spot that should be named.
//! An oracle that looks at one specific thing (damaged data, a broken constraint) covers nothing in this sense: its
//! pass contradicts no other oracle, and no other pass contradicts it.
//!
//! Assumption: an oracle says what it covers on this run, since that depends on the level. Blind spot: two oracles that
//! both pass, and are both wrong.

use serde::{Deserialize, Serialize};

use crate::{Judgement, Rank, Verdict};

/// What a verdict covers; for a violation, what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covers {
    /// What was written, and the counts of the writes.
    Writes,
    /// That, and what was read.
    WritesAndReads,
}

impl Covers {
    /// The words of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::WritesAndReads => "writes and reads",
        }
    }

    /// The words after a verdict.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Writes => "writes; reads are not judged at this level",
            Self::WritesAndReads => "writes and reads",
        }
    }

    /// Whether this includes the other.
    pub const fn includes(self, other: Self) -> bool {
        matches!((self, other), (Self::WritesAndReads, _) | (Self::Writes, Self::Writes))
    }
}

/// What one oracle says about a run, and what that covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stance<'a> {
    /// The oracle's name.
    pub oracle: &'a str,
    /// What it says.
    pub verdict: &'a Verdict,
    /// What that covers; `None` if it looks at one specific thing, or reached no verdict.
    pub covers: Option<Covers>,
}

impl<'a> Stance<'a> {
    /// Of a judgement; `covers` is by the oracles' names.
    pub fn of(judgement: &'a Judgement, covers: &[(String, Covers)]) -> Self {
        let Judgement { oracle, verdict, .. } = judgement;
        let covers = covers.iter().find(|(name, _)| name == oracle).map(|(_, covers)| *covers);
        Self { oracle, verdict, covers }
    }
}

/// Two oracles that cannot both be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disagreement<'a> {
    /// Says that the run breaks a promise.
    pub violation: Stance<'a>,
    /// Says that the same is as promised.
    pub pass: Stance<'a>,
}

/// Where oracles contradict each other: one reports a violation, and another's pass covers what that is about. With
/// `strict`, documented exceptions are violations.
pub fn disagreements<'a>(stances: &[Stance<'a>], strict: bool) -> Vec<Disagreement<'a>> {
    let is_violation = |verdict: &Verdict| match verdict {
        Verdict::Violation { .. } => true,
        Verdict::Allowed { .. } => strict,
        Verdict::Pass | Verdict::Undecided { .. } => false,
    };
    let mut found = Vec::new();
    for violation in stances.iter().filter(|stance| is_violation(stance.verdict)) {
        let Some(about) = violation.covers else { continue };
        for pass in stances.iter().filter(|stance| *stance.verdict == Verdict::Pass) {
            if pass.covers.is_some_and(|covers| covers.includes(about)) {
                found.push(Disagreement { violation: *violation, pass: *pass });
            }
        }
    }
    found
}

/// The verdict on the case: the worst one. An oracle that cannot decide does not make a case undecided that another
/// oracle has judged completely.
pub fn worst<'a>(stances: &[Stance<'a>]) -> Option<&'a Verdict> {
    let is_judged = stances.iter().any(|stance| stance.covers.is_some());
    let rank = |stance: &&Stance<'_>| match stance.verdict {
        Verdict::Undecided { .. } if is_judged => 0,
        Verdict::Pass => 1,
        Verdict::Undecided { .. } => 2,
        Verdict::Allowed { .. } => 3,
        Verdict::Violation { rank: Rank::Undocumented, .. } => 4,
        Verdict::Violation { rank: Rank::Broken, .. } => 5,
    };
    // The first of several that are equally bad.
    stances.iter().rev().max_by_key(rank).map(|stance| stance.verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation() -> Verdict {
        Verdict::broken("P4", Vec::new())
    }

    fn allowed() -> Verdict {
        Verdict::Allowed { exception: "x".to_owned(), because: Vec::new() }
    }

    fn undecided() -> Verdict {
        Verdict::Undecided { reason: "DDL".to_owned() }
    }

    fn of<'a>(oracle: &'a str, verdict: &'a Verdict, covers: Option<Covers>) -> Stance<'a> {
        Stance { oracle, verdict, covers }
    }

    #[test]
    fn a_pass_contradicts_a_violation_that_it_covers() {
        use Covers::{Writes, WritesAndReads};
        let (bad, good, fine, open) = (violation(), Verdict::Pass, allowed(), undecided());
        for (about, other, covers, expected) in [
            (Some(Writes), &good, Some(Writes), 1),
            (Some(Writes), &good, Some(WritesAndReads), 1),
            (Some(WritesAndReads), &good, Some(WritesAndReads), 1),
            // What the violation is about may have been read.
            (Some(WritesAndReads), &good, Some(Writes), 0),
            // Each looks at one specific thing.
            (Some(Writes), &good, None, 0),
            (None, &good, Some(WritesAndReads), 0),
            (Some(Writes), &fine, Some(Writes), 0),
            (Some(Writes), &open, None, 0),
            (Some(Writes), &bad, Some(Writes), 0),
        ] {
            let stances = [of("a", &bad, about), of("b", other, covers)];
            let found = disagreements(&stances, false);
            assert_eq!(found.len(), expected, "{stances:?}");
            for disagreement in found {
                assert_eq!((disagreement.violation.oracle, disagreement.pass.oracle), ("a", "b"));
            }
        }
        let excused = [of("a", &fine, Some(Writes)), of("b", &good, Some(Writes))];
        assert_eq!(disagreements(&excused, true).len(), 1, "strictly, nothing is excused");
    }

    #[test]
    fn the_worst_verdict_is_that_of_the_case() {
        let (bad, good, fine, open) = (violation(), Verdict::Pass, allowed(), undecided());
        let whole = Some(Covers::Writes);
        for (stances, expected) in [
            (vec![], None),
            (vec![of("a", &good, whole), of("b", &bad, None)], Some(&bad)),
            (vec![of("a", &fine, whole), of("b", &bad, whole)], Some(&bad)),
            (vec![of("a", &fine, whole), of("b", &good, None)], Some(&fine)),
            (vec![of("a", &fine, whole), of("b", &open, None)], Some(&fine)),
            // No oracle has judged the run completely.
            (vec![of("a", &open, None), of("b", &good, None)], Some(&open)),
            (vec![of("a", &open, None), of("b", &good, whole)], Some(&good)),
        ] {
            assert_eq!(worst(&stances), expected, "{stances:?}");
        }
    }
}
