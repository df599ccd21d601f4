//! What one attempt at a case came to: it counts, or the target refused it, is gone, or cannot be used.

use anchorite_drivers::TargetError;
use anchorite_model::{ErrorClass, Run};
use anchorite_stage::StageError;

use crate::Examined;
use crate::alert::lost_in;

/// Messages of servers and of the system about a server that is down: it has crashed, is ending, or is just starting
/// again.
const DOWN: [&str; 6] =
    ["refused", "57p02", "recovery mode", "starting up", "shutting down", "not yet accepting"];

/// The result of one attempt at a case.
pub(super) enum Attempt {
    /// It counts.
    Ran(Box<Examined>),
    /// The target refuses its tables.
    Rejected(String),
    /// We have been asked to stop.
    Interrupted,
    /// The target, or a connection to it, is gone.
    Lost(LossSigns),
    /// The target cannot be used like this.
    Unusable(StageError),
}

/// What was seen.
#[derive(Debug, Clone)]
pub(super) struct LossSigns {
    /// In words.
    pub words: String,
    /// Everything the server said meanwhile.
    pub signs: Vec<String>,
    /// Whether this alone shows that the server was down.
    pub was_down: bool,
    /// The run as far as it got.
    pub run: Option<Box<Run>>,
}

impl LossSigns {
    /// Decides by the messages.
    pub(super) fn of_words(words: String) -> Self {
        let lower = words.to_lowercase();
        let was_down = DOWN.iter().any(|down| lower.contains(down));
        Self { words, signs: Vec::new(), was_down, run: None }
    }
}

/// What an attempt means for the campaign.
pub(super) fn sort(attempt: Result<Examined, StageError>) -> Attempt {
    match attempt {
        Ok(tried) => {
            let mut signs = lost_in(&tried.run);
            if signs.is_empty() {
                return Attempt::Ran(Box::new(tried));
            }
            let evidence = LossSigns::of_words(signs.remove(0));
            Attempt::Lost(LossSigns { signs, run: Some(Box::new(tried.run)), ..evidence })
        }
        Err(StageError::Interrupted) => Attempt::Interrupted,
        Err(StageError::Setup { error, .. }) if error.class == ErrorClass::ConnectionLost => {
            Attempt::Lost(LossSigns::of_words(error.message))
        }
        Err(error @ StageError::Setup { .. }) => Attempt::Rejected(error.to_string()),
        Err(StageError::Target(
            error @ (TargetError::Connect { .. } | TargetError::Prepare { .. }),
        )) => Attempt::Lost(LossSigns::of_words(error.to_string())),
        Err(error) => Attempt::Unusable(error),
    }
}
