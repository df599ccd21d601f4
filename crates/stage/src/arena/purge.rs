//! When the deleted rows of a table set are completely gone.
//!
//! Idea: InnoDB numbers its transactions and reports how far purge has got. A set is last used at some number; when
//! purge has passed it, nothing of its last case is left. Asking is expensive, so it is done only when the oldest set
//! is not known to be clean, and the answer then covers all sets at once.
//!
//! Assumption: a batch of purge begins only after the previous one is complete. So while purge is busy, only what was
//! reported before the last advance is certain.

use std::collections::VecDeque;

use anchorite_drivers::{PurgeProgress, PurgeQuestion, Session, TargetError, execute};
use anchorite_model::ErrorClass;

use super::set::Set;
use crate::RunOptions;

/// What is known about the progress of purge.
pub(super) struct Purge {
    question: Option<PurgeQuestion>,
    /// The server does not tell us.
    is_refused: bool,
    /// The latest number reported.
    told: u64,
    /// What transactions with smaller numbers deleted is gone.
    certain: u64,
}

impl Purge {
    pub(super) fn new(question: Option<PurgeQuestion>) -> Self {
        Self { question, is_refused: false, told: 0, certain: 0 }
    }

    /// Whether deleted rows of the set can no longer have an effect.
    pub(super) fn has_passed(&self, set: &Set) -> bool {
        self.question.is_none() || set.left_at.is_some_and(|number| number <= self.certain)
    }

    /// Asks the server, and records the number for the sets used since the last time.
    pub(super) fn ask(
        &mut self,
        own_session: &mut dyn Session,
        sets: &mut VecDeque<Set>,
        options: &RunOptions,
    ) -> Result<(), TargetError> {
        let Some(question) = self.question.filter(|_| !self.is_refused) else { return Ok(()) };
        let answer = match execute(own_session, question.sql, options.limits.housekeeping) {
            Ok(answer) => answer,
            // For lack of privileges: no set is ever known to be clean, and each is created anew.
            Err(error) if error.class == ErrorClass::Other => {
                self.is_refused = true;
                return Ok(());
            }
            Err(error) => {
                let target = question.sql.to_owned();
                return Err(TargetError::Prepare { target, reason: error.message });
            }
        };
        if let Some(progress) = (question.read)(&answer) {
            self.learn(progress);
            for set in sets.iter_mut().filter(|set| set.left_at.is_none()) {
                set.left_at = Some(progress.next);
            }
        }
        Ok(())
    }

    fn learn(&mut self, progress: PurgeProgress) {
        if progress.is_idle {
            self.certain = progress.purged;
        } else if progress.purged != self.told {
            self.certain = self.told;
        }
        self.told = progress.purged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_purge_is_certain_only_of_what_it_told_before() {
        let mut purge = Purge::new(None);
        let mut learn = |purged, is_idle| {
            purge.learn(PurgeProgress { next: 100, purged, is_idle });
            purge.certain
        };
        assert_eq!(learn(10, false), 0);
        assert_eq!(learn(10, false), 0);
        assert_eq!(learn(20, false), 10);
        assert_eq!(learn(20, true), 20);
        assert_eq!(learn(30, false), 20);
    }
}
