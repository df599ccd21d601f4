//! The oracles by name.

use std::fmt;
use std::str::FromStr;

use anchorite_claims::Claims;
use anchorite_model::nearest::did_you_mean;
use anchorite_model::{Case, Judgement, Run};

use crate::final_state;

/// A way to tell right from wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Oracle {
    /// The committed transactions, one after the other, must give the same final state.
    FinalState,
}

impl Oracle {
    /// Every oracle that there is.
    pub const ALL: [Self; 1] = [Self::FinalState];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FinalState => "final-state",
        }
    }

    /// Judges a run. Further runs that the oracle needs come from `rehearse`; its errors are passed on.
    pub fn judge<E>(
        self,
        run: &Run,
        claims: &Claims,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Result<Judgement, E> {
        match self {
            Self::FinalState => final_state::judge(run, claims, rehearse),
        }
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no oracle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown oracle '{0}': expected final-state, all or none{hint}",
    hint = did_you_mean(.0, Oracle::ALL.into_iter().map(Oracle::name).chain(["all", "none", "crash"]))
)]
pub struct UnknownOracle(pub String);

impl FromStr for Oracle {
    type Err = UnknownOracle;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|oracle| oracle.name() == text);
        found.ok_or_else(|| UnknownOracle(text.to_owned()))
    }
}
