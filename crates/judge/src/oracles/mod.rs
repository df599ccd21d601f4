//! The oracles: ways to decide whether a run is correct.
//!
//! An oracle is one folder (or file) here, one line of [`ALL`], its claims data and its page in `docs/oracles/`. All
//! other code uses it through [`Oracle`] and never by name: its name, which claims it needs, which further runs it
//! requests, what it says about a run, which planted faults it declares to find.
//!
//! What several oracles need to know about one run is in [`crate::evidence`], and is derived once.

pub mod constraint;
pub mod damage;
pub mod differential;
pub mod errors;
pub mod final_state;
pub mod graph;
pub mod lock;
pub mod refused_key;
pub mod reorder;
pub mod views;

use std::fmt;

use anchorite_claims::Claims;
use anchorite_model::nearest::did_you_mean;
use anchorite_model::{Case, Covers, Deed, Judgement, Level, Run, RunError, TargetInfo, Verdict};

use crate::evidence::Evidence;
pub use crate::evidence::{Needs, Unjudged};
use crate::laboratory::Laboratory;

/// Every oracle that judges runs, in the order in which reports show them: one line each.
pub static ALL: &[&dyn Oracle] = &[
    &final_state::FinalState,
    &views::Views,
    &graph::Graph,
    &reorder::Reorder,
    &constraint::Constraint,
    &damage::Damage,
    &lock::Lock,
    &refused_key::RefusedKey,
    &errors::Errors,
    &differential::Differential,
];

/// A server that goes away is also a violation. A campaign judges that, because it needs the server's process and log;
/// the name is defined here, like every other.
pub const CRASH: &str = "crash";

/// A way to decide whether a run is correct.
pub trait Oracle: Send + Sync {
    /// The name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// What it compares a run with, in a few words.
    fn about(&self) -> &'static str;

    /// What must be claimed about the level before this oracle can decide anything.
    fn needs(&self) -> Needs;

    /// Whether it judges only if it is named, because it is expensive, or if there is a second target.
    fn is_optional(&self) -> bool {
        false
    }

    /// Whether it judges only if it is named, also where there is a second target.
    fn must_be_named(&self) -> bool {
        false
    }

    /// Further cases to run where the judged run was made: variants of its case, or the same one again. They are run
    /// before anything is judged ([`Evidence::prepared`]). Most oracles need none.
    fn prepare(&self, _run: &Run, _has_second_target: bool) -> Vec<Case> {
        Vec::new()
    }

    /// Judges a run. Further runs go through the laboratory.
    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged>;

    /// What its violations are, if it looks at one specific thing; `None`: the run is followed for the cause
    /// ([`crate::cause`]).
    fn deed(&self) -> Option<Deed> {
        None
    }

    /// What a violation of this name is, if its violations differ in that.
    fn deed_of(&self, _anomaly: &str) -> Option<Deed> {
        self.deed()
    }

    /// The planted faults that it declares to find.
    fn sees(&self) -> &'static [Sees] {
        &[]
    }

    /// What its verdicts at this level cover; `None` for an oracle that looks at one specific thing. A pass contradicts
    /// another oracle's violation if it covers what that is about.
    fn covers(&self, _claims: &Claims, _target: &TargetInfo, _level: Level) -> Option<Covers> {
        None
    }

    /// What a violation of this name is about, if that is less than what the verdict covers.
    fn narrows(&self, _anomaly: &str) -> Option<Covers> {
        None
    }
}

/// Planted faults that an oracle declares to find, and where.
#[derive(Debug, Clone, Copy)]
pub struct Sees {
    /// The names of the faults.
    pub sabotages: &'static [&'static str],
    /// The only level at which it does; `None`: at all levels.
    pub at: Option<Level>,
}

impl dyn Oracle {
    /// Judges a run; if an assumption is not met, the judgement says so.
    pub fn judgement(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, RunError> {
        let judged = match evidence.has(self.needs()) {
            Ok(()) => self.judge(evidence, laboratory),
            Err(reason) => Err(reason.into()),
        };
        match judged {
            Ok(judgement) => Ok(judgement),
            Err(Unjudged::Undecided(reason)) => {
                Ok(Judgement::new(self.name(), Verdict::Undecided { reason }))
            }
            Err(Unjudged::Failed(error)) => Err(error),
        }
    }

    /// Whether it declares to find a planted fault at a level; `None` = a level that is not known by name.
    pub fn declares(&self, sabotage: &str, level: Option<Level>) -> bool {
        self.sees().iter().any(|sees| {
            sees.sabotages.contains(&sabotage) && (sees.at.is_none() || sees.at == level)
        })
    }

    /// Whether it compares what was read at this level of a target.
    pub fn compares_reads(&self, claims: &Claims, target: &TargetInfo, level: Level) -> bool {
        self.covers(claims, target, level) == Some(Covers::WritesAndReads)
    }
}

impl fmt::Debug for dyn Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for dyn Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl PartialEq for dyn Oracle {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Oracle {}

/// The oracle of this name.
pub fn named(name: &str) -> Result<&'static dyn Oracle, UnknownOracle> {
    let found = ALL.iter().copied().find(|oracle| oracle.name() == name);
    found.ok_or_else(|| UnknownOracle(name.to_owned()))
}

/// The names of all oracles, including that of a campaign.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|oracle| oracle.name()).chain([CRASH])
}

/// A text that is not the name of an oracle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown oracle '{0}': expected {known}, all or none{hint}",
    known = names().collect::<Vec<_>>().join(", "),
    hint = did_you_mean(.0, names().chain(["all", "none"]))
)]
pub struct UnknownOracle(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_once() {
        for oracle in ALL {
            assert_eq!(named(oracle.name()), Ok(*oracle));
            assert_eq!(names().filter(|name| *name == oracle.name()).count(), 1);
        }
        let error = named("final-sate").expect_err("there is no such oracle").to_string();
        assert!(error.contains("expected final-state, "), "{error}");
        assert!(error.ends_with("did you mean final-state?"), "{error}");
    }
}
