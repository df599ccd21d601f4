//! What a verdict is about.
//!
//! Idea: a pass of an oracle that does not judge reads says nothing about reads, and must not sound as if it did. What
//! an oracle looks at may depend on what the level promises ([`Oracle::covers`]), so it is said beside each verdict.

use anchorite_claims::Claims;
use anchorite_model::{Covers, Run, Verdict};

use crate::evidence::level_of;
use crate::oracles::Oracle;

/// What the oracle's verdict on this run is about; `None` where it did not come to one, or it goes without saying.
pub fn covers(
    oracle: &dyn Oracle,
    verdict: &Verdict,
    run: &Run,
    claims: &Claims,
) -> Option<Covers> {
    let narrowed = match verdict {
        Verdict::Undecided { .. } => return None,
        Verdict::Violation { anomaly, .. } => oracle.narrows(anomaly),
        Verdict::Pass | Verdict::Allowed { .. } => None,
    };
    let covers = oracle.covers(claims, &run.target, level_of(run)?)?;
    Some(narrowed.unwrap_or(covers))
}
