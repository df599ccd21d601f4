//! The instrumented run of a case, for every oracle that wants it.
//!
//! Idea: it is made once beside the run that is judged, and what it tells is found out once; the oracles use the same.

use std::rc::Rc;

use anchorite_model::{Case, Ending, Run};

use super::case::chained_case;
use super::{Told, Untold, told};
use crate::evidence::{Evidence, Prepared};
use crate::laboratory::Laboratory;

/// The case that an oracle has to prepare; none if the statements cannot keep chains.
pub fn prepared(run: &Run) -> Vec<Case> {
    let chained = chained_case(&run.case, run.target.product);
    chained.into_iter().map(|chained| chained.case).collect()
}

/// The instrumented run that belongs to a run, prepared by any of these oracles, and what it tells.
pub fn asked<'e>(
    evidence: &'e Evidence<'_>,
    oracles: &[&str],
    laboratory: &mut Laboratory<'_>,
) -> Result<(Evidence<'e>, Rc<Result<Told, Untold>>), Untold> {
    let run = evidence.run;
    let case = chained_case(&run.case, run.target.product)?;
    let all = oracles.iter().flat_map(|oracle| evidence.prepared(oracle));
    let Some(instrumented) = all.flatten().next() else {
        return Err("the instrumented case could not be run".into());
    };
    if let Ending::TargetLost(_) = &instrumented.ending {
        return Err("the server went away during the instrumented run".into());
    }
    let instrumented = Evidence::new(instrumented, evidence.claims, Prepared::new());
    let found = evidence.found("traced", || match told(case, &instrumented, laboratory) {
        Err(Untold::Failed(error)) => Err(Untold::Failed(error)),
        told => Ok(told),
    })?;
    Ok((instrumented, found))
}
