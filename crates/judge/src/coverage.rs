//! What a verdict is about.
//!
//! Idea: "pass" of an oracle that does not look at reads says nothing about reads, and must not sound as if it did.
//! What the final-state oracle looks at is decided by what the level promises ([`ReadPlace`]), so it can be said beside
//! each verdict.

use anchorite_claims::{Claims, ReadPlace};
use anchorite_model::{Covers, Run, Verdict};

use crate::Oracle;
use crate::compare::level_of;

/// What the oracle's verdict on this run is about; `None` where it did not come to one.
pub fn covers(oracle: Oracle, verdict: &Verdict, run: &Run, claims: &Claims) -> Option<Covers> {
    if matches!(verdict, Verdict::Undecided { .. }) {
        return None;
    }
    match oracle {
        Oracle::FinalState => {
            let documented = claims.writes(&run.target, level_of(run)?)?;
            Some(match documented.claims.reads {
                ReadPlace::Free => Covers::Writes,
                ReadPlace::Serial | ReadPlace::Locked => Covers::WritesAndReads,
            })
        }
    }
}
