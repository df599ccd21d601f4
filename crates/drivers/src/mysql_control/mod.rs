//! What everything that asks a server of the MySQL protocol shares: answers as text, the process list, and threads
//! that wait for something other than row locks (`state_watch`).

mod answers;
mod metadata;
mod processlist;
mod state_watch;

use std::time::Duration;

use crate::TargetError;
use crate::mysql_wire::WireError;

pub(crate) use answers::{first_text, known_answer, rows, text, variable};
pub(crate) use processlist::waiting_states;
pub(crate) use state_watch::{StateWatch, Threads};

/// How long one statement of setting up, tidying up or watching may take.
pub(crate) const CONTROL_LIMIT: Duration = Duration::from_secs(10);

/// The server could not be asked who waits for whom.
pub(crate) fn cannot_ask(endpoint: &str, error: &WireError) -> TargetError {
    TargetError::Prepare {
        target: endpoint.to_owned(),
        reason: format!("the server could not be asked who waits for whom: {error}"),
    }
}
