//! Several oracles about one run: what each has looked at, where two contradict each other, and the verdict on
//! the case.
//!
//! Idea: oracles look at different things, so a violation beside a pass is usually no contradiction. It is one
//! where the pass covers what the violation is about: then one of the two is wrong, or has a blind spot that
//! should be named. An oracle that looks at a single thing of its own (damaged data, a broken constraint) covers
//! nothing in this sense: its pass contradicts nobody, and nobody's pass contradicts it.
//!
//! Assumption: an oracle says what it covers on this run, since that depends on the level. Blind spot: two oracles that
//! both pass, and are both wrong.

use serde::{Deserialize, Serialize};

use crate::{Judgement, Verdict};

/// What an oracle has looked at; for a violation, what it is about.
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

    /// The words behind a verdict.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Writes => "writes; reads are not judged at this level",
            Self::WritesAndReads => "writes and reads",
        }
    }

    /// Whether who has looked at this has looked at the other, too.
    pub const fn includes(self, other: Self) -> bool {
        matches!((self, other), (Self::WritesAndReads, _) | (Self::Writes, Self::Writes))
    }
}

/// What one oracle says about a run, and about what of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stance<'a> {
    /// The oracle's name.
    pub oracle: &'a str,
    /// What it says.
    pub verdict: &'a Verdict,
    /// What that covers; `None` where it looks at one thing of its own, or came to no verdict.
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

/// Where oracles contradict each other: one says violation, and another one's pass covers what that is about. With
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

/// The verdict on the case: the worst. Who abstains does not make a case undecided that another oracle has judged as a
/// whole.
pub fn worst<'a>(stances: &[Stance<'a>]) -> Option<&'a Verdict> {
    let is_judged = stances.iter().any(|stance| stance.covers.is_some());
    let rank = |stance: &&Stance<'_>| match stance.verdict {
        Verdict::Undecided { .. } if is_judged => 0,
        Verdict::Pass => 1,
        Verdict::Undecided { .. } => 2,
        Verdict::Allowed { .. } => 3,
        Verdict::Violation { .. } => 4,
    };
    // The first of several that are equally bad.
    stances.iter().rev().max_by_key(rank).map(|stance| stance.verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation() -> Verdict {
        Verdict::Violation { anomaly: "P4".to_owned(), because: Vec::new() }
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
            // Each looks at a thing of its own.
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
            // Nobody has judged the run as a whole.
            (vec![of("a", &open, None), of("b", &good, None)], Some(&open)),
            (vec![of("a", &open, None), of("b", &good, whole)], Some(&good)),
        ] {
            assert_eq!(worst(&stances), expected, "{stances:?}");
        }
    }
}
