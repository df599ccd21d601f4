//! What a target rejects, learnt by trying.
//!
//! Idea: every option of the generator's grammar has a probe of a few statements. A probe in which a statement
//! fails with an error of no class (syntax, unknown type, not supported) means that the target lacks the option; a
//! constraint or a lock only means that the statement was understood.
//!
//! Blind spot: an option that is accepted and ignored (CHECK in old MySQL) counts as there.

use anchorite_generate::{Feature, Support, learn as support_of, probe_cases};
use anchorite_model::{Ending, ErrorClass, Outcome, Product, Run};
use anchorite_stage::{Runner, StageError};

/// Runs the probes of all options and tells which ones the target rejects.
pub fn learn(runner: &mut dyn Runner, product: Product) -> Result<Support, StageError> {
    let outcomes: Vec<(&Feature, bool)> = probe_cases(product)
        .map(|(feature, case)| Ok((feature, is_accepted(&runner.run(&case, None)?))))
        .collect::<Result<_, StageError>>()?;
    Ok(support_of(&outcomes))
}

fn is_accepted(run: &Run) -> bool {
    let is_understood = |outcome: &Outcome| match outcome {
        Outcome::Error(error) => {
            !matches!(error.class, ErrorClass::Other | ErrorClass::ConnectionLost)
        }
        Outcome::Skipped { .. } => false,
        Outcome::Ok(_) | Outcome::Resumed(_) | Outcome::Blocked { .. } => true,
    };
    run.ending == Ending::Complete && run.events.iter().all(|event| is_understood(&event.outcome))
}
