//! What a target rejects, learnt by trying.
//!
//! Idea: every option of the generator's grammar has a probe of a few statements. A probe in which a statement fails
//! with an error of no class (syntax, unknown type, not supported) means that the target lacks the option; an error
//! about a constraint or a lock only means that the statement was understood.
//!
//! A lost connection proves nothing about an option. Such a probe is run once more; if the connection is lost again
//! although the server answers, the option is left out, and that is not remembered for longer than needed.
//!
//! Nor does a missing privilege: what the account may not do is left out, and that is not remembered either.
//!
//! Blind spot: an option that is accepted but ignored (CHECK in old MySQL) counts as available.

use anchorite_generate::{Feature, Support, learn as support_of, probe_cases};
use anchorite_model::{Case, Ending, ErrorClass, Outcome, Product, Run};
use anchorite_stage::{Runner, StageError};

use crate::alert::lost_in;

/// What was learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learnt {
    /// What the target has.
    pub support: Support,
    /// Options that are left out only because their probes lost the connection.
    pub unsure: Vec<&'static str>,
    /// Options that are left out only because the account lacks a privilege.
    pub forbidden: Vec<&'static str>,
}

/// What a probe says about its option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Accepted,
    Rejected,
    Forbidden,
    Lost,
}

/// Runs the probes of all options and returns which ones the target rejects.
pub fn learn(runner: &mut dyn Runner, product: Product) -> Result<Learnt, StageError> {
    let mut outcomes: Vec<(&Feature, bool)> = Vec::new();
    let (mut unsure, mut forbidden) = (Vec::new(), Vec::new());
    for (feature, case) in probe_cases(product) {
        let said = match ask(runner, &case)? {
            Said::Lost => ask(runner, &case)?,
            said => said,
        };
        match said {
            Said::Lost => unsure.push(feature.name),
            Said::Forbidden => forbidden.push(feature.name),
            Said::Accepted | Said::Rejected => {}
        }
        outcomes.push((feature, said == Said::Accepted));
    }
    Ok(Learnt { support: support_of(&outcomes), unsure, forbidden })
}

fn ask(runner: &mut dyn Runner, case: &Case) -> Result<Said, StageError> {
    match runner.run(case, None).map_err(StageError::from) {
        Ok(run) if !lost_in(&run).is_empty() => Ok(Said::Lost),
        Ok(run) if is_accepted(&run) => Ok(Said::Accepted),
        Ok(run) if is_forbidden(&run) => Ok(Said::Forbidden),
        Ok(_) => Ok(Said::Rejected),
        Err(StageError::Setup { error, .. }) if error.class == ErrorClass::ConnectionLost => {
            Ok(Said::Lost)
        }
        Err(error) => Err(error),
    }
}

fn is_forbidden(run: &Run) -> bool {
    let codes = &run.target.product.descriptor().forbidden;
    run.events.iter().any(|event| match &event.outcome {
        Outcome::Error(error) => codes.contains(&error.code),
        _ => false,
    })
}

fn is_accepted(run: &Run) -> bool {
    let is_understood = |outcome: &Outcome| match outcome {
        Outcome::Error(error) => error.class != ErrorClass::Other,
        Outcome::Skipped { .. } => false,
        Outcome::Ok(_) | Outcome::Resumed(_) | Outcome::Blocked { .. } => true,
    };
    run.ending == Ending::Complete && run.events.iter().all(|event| is_understood(&event.outcome))
}
