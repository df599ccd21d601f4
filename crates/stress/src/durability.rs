//! What the settings of a server say about commits that a crash may lose.
//!
//! Idea: a vendor's page allows a loss only with certain values of a setting ([`anchorite_claims::Loss`]), so the
//! server is asked for its values. Some of them matter only if the whole machine stops. Blind
//! spot: a session that changes such a setting for itself; ours do not.

use std::time::Duration;

use anchorite_claims::{Claims, Loss};
use anchorite_drivers::{Schema, execute};
use anchorite_model::TargetInfo;

use crate::options::StressError;

/// For one question.
const LIMIT: Duration = Duration::from_secs(10);

/// The settings by whose pages a crash may lose commits of this server, with their values.
pub(crate) fn permits(
    schema: &dyn Schema,
    info: &TargetInfo,
) -> Result<Vec<(&'static Loss, String)>, StressError> {
    let losses = &Claims::for_target(info).losses;
    if losses.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let mut session = schema.own_session(LIMIT)?;
    for loss in losses {
        // A version that does not know the setting has no such page.
        let Ok(answer) = execute(session.as_mut(), &loss.ask, LIMIT) else { continue };
        let row = answer.results.into_iter().flat_map(|result| result.rows).next();
        let value = row.and_then(|row| row.last().map(ToString::to_string)).unwrap_or_default();
        if loss.is_allowed_with(&value) {
            found.push((loss, value));
        }
    }
    Ok(found)
}
