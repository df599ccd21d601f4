//! The reorder oracle: do the statements give the same answers one after the other?
//!
//! Idea: a run on instrumented tables says on which other statements each statement depends. Where these dependencies
//! form no circle, there are orders that respect all of them. In each of these, in a single session and without any
//! transactions, every statement must read and write what it did in the run, and the tables must end alike: each
//! statement finds the same versions of the same rows.
//!
//! * `replay`: what is replayed, in which orders, and what comes out otherwise. `steady`: whether a statement does
//!   the same whenever it finds the same rows.
//!
//! Source: Jiang et al., *Detecting Transactional Bugs in Database Engines via Graph-Based Oracle Construction*
//! (TxCheck, OSDI 2023). Several orders instead of one, and the counts and the tables at the end are compared as well.
//! Assumption: what a statement does depends on the rows of its tables alone. Blind spot: statements in a circle of
//! dependencies, and what depends on them; keys that an INSERT must not meet.

mod replay;
mod steady;

use anchorite_claims::{Anomaly, Promise};
use anchorite_model::{Case, Ending, Judgement, Run};

use super::graph::TRACING;
use super::{Needs, Oracle, Unjudged};
use crate::evidence::{Evidence, level_of};
use crate::laboratory::Laboratory;
use crate::traced::asked::{asked, prepared};
use replay::Replaying;

/// The oracle.
pub struct Reorder;

impl Oracle for Reorder {
    fn name(&self) -> &'static str {
        "reorder"
    }

    fn about(&self) -> &'static str {
        "the statements, sorted by their dependencies and without transactions, must do the same"
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn must_be_named(&self) -> bool {
        true
    }

    fn prepare(&self, run: &Run, _: bool) -> Vec<Case> {
        prepared(run)
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let run = evidence.run;
        let level =
            level_of(run).ok_or_else(|| "the sessions ran at different levels".to_owned())?;
        let about = evidence.claims.about(&run.target, level, Anomaly::G1a, "G1a");
        if about.promise != Promise::Prevented {
            let reason = "the level does not promise that statements see only what was committed";
            return Err(reason.to_owned().into());
        }
        let (instrumented, told) = asked(evidence, &TRACING, laboratory)?;
        if instrumented.run.ending != Ending::Complete {
            return Err("the instrumented case could not be run".to_owned().into());
        }
        let told = told.as_ref().as_ref().map_err(ToString::to_string)?;
        let traced = told.by(instrumented.transactions()?);
        let verdict = Replaying { traced, run: instrumented.run }.verdict(laboratory)?;
        Ok(Judgement::new(self.name(), verdict))
    }
}
