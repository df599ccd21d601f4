//! The differential oracle.
//!
//! Idea: the same case, run where it should give the same result: on a second target (`--against`: another version, or
//! other settings, of the same product), or on twin schemas of the same target, whose tables are stored differently
//! (`twins`). Twice each: with the schedule, and one transaction after the other. The other oracles ask the server what
//! is correct; if it is wrong without any concurrency, they do not notice. A twin does.
//!
//! Source: differential testing (McKeeman, 1998); for one server, the plans of a query (TQS, SIGMOD 2023) and of
//! a database schema.
//!
//! The kind of difference decides (`sides`): an answer that differs although everything before it was the same and
//! nothing had waited is a violation by one side or the other, unless two targets may order transactions differently
//! and their claims allow both answers. If a statement waited, or was refused because of others, on one side only,
//! everything after that may differ: then both runs are judged by their claims. If both are allowed, so is the
//! difference; if it is the second target that breaks its claims, the verdict is Undecided and says so. Different waits
//! alone are never a violation.
//!
//! Assumption: statements do not depend on the order of rows, on time or on chance; if the text says that they may, the
//! verdict is Undecided. Blind spot: what both sides get wrong in the same way; reads after the first wait.

mod other;
mod sides;
mod twins;

use anchorite_claims::Claims;
use anchorite_model::{Case, Covers, Judgement, Level, Run, TargetInfo, Verdict};

use super::{Needs, Oracle, Sees, Unjudged};
use crate::evidence::Evidence;
use crate::laboratory::Laboratory;
use other::{Other, Side};

/// The name of a violation: the same case gives a different result on tables that are stored differently.
pub const TWIN: &str = "different result on a twin schema";
/// … on the second target.
pub const SECOND: &str = "different result on the second target";
/// What allows a difference: both sides keep their claims.
pub const BOTH: &str = "allowed-on-both-sides";

/// Compares a run with the same case elsewhere.
pub struct Differential;

impl Oracle for Differential {
    fn name(&self) -> &'static str {
        "differential"
    }

    fn about(&self) -> &'static str {
        "the same case must give the same result on a second target (--against), or on tables stored differently"
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    /// It makes two to ten further runs of every case, so only on request.
    fn is_optional(&self) -> bool {
        true
    }

    fn prepare(&self, run: &Run, has_second_target: bool) -> Vec<Case> {
        if has_second_target {
            return Vec::new();
        }
        let twins = twins::twins(&run.case, run.target.product.dialect());
        twins.into_iter().map(|twin| twin.case).collect()
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let others = self.others(evidence, laboratory)?;
        if others.is_empty() {
            let reason =
                "there is nothing to compare with: no second target, and no twin of its tables";
            return Err(reason.to_owned().into());
        }
        let mut worst = Judgement::new(self.name(), Verdict::Pass);
        for other in &others {
            let judgement = other.judge(evidence, laboratory)?;
            if rank(&judgement.verdict) > rank(&worst.verdict) {
                worst = judgement;
            }
        }
        Ok(worst)
    }

    fn sees(&self) -> &'static [Sees] {
        const EVERYWHERE: Sees = Sees {
            sabotages: &[
                "dirty-read",
                "row-missed",
                "write-skew",
                "lost-update",
                "conflict-ignored",
                "lock-not-taken",
                "early-commit",
                "row-skipped",
                "write-lost",
                "duplicate-execution",
                "commit-lost",
                "commit-torn",
                "rollback-kept",
                "savepoint-kept",
            ],
            at: None,
        };
        const SERIALIZABLE: Sees = Sees {
            sabotages: &["non-repeatable-read", "phantom", "stale-snapshot", "own-write-invisible"],
            at: Some(Level::Serializable),
        };
        &[EVERYWHERE, SERIALIZABLE]
    }

    fn covers(&self, _: &Claims, _: &TargetInfo, _: Level) -> Option<Covers> {
        Some(Covers::WritesAndReads)
    }
}

impl Differential {
    /// The same case where it should give the same result.
    fn others(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Vec<Other>, Unjudged> {
        let run = evidence.run;
        match laboratory.run_elsewhere(&run.case) {
            Some(Ok(run)) => return Ok(vec![Other { side: Side::Second, run }]),
            Some(Err(error)) if error.is_refusal() => {
                return Err(format!("the second target refuses the case: {error}").into());
            }
            Some(Err(error)) => return Err(error.into()),
            None => {}
        }
        let twins = twins::twins(&run.case, run.target.product.dialect());
        let runs = evidence.prepared(self.name()).iter().cloned();
        let other = |(twin, run): (twins::Twin, Option<Run>)| {
            Some(Other { side: Side::Twin(twin.change), run: run? })
        };
        Ok(twins.into_iter().zip(runs).filter_map(other).collect())
    }
}

/// The worse, the higher.
const fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Allowed { .. } => 1,
        Verdict::Undecided { .. } => 2,
        Verdict::Violation { .. } => 3,
    }
}
