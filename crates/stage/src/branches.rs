//! Transactions of two-phase commit that a case has begun and not finished: pure.
//!
//! Idea: a command that succeeded had its effect, whatever the intention. An XA transaction belongs to its session
//! until that ends, and only its own commands end it. A prepared one outlives the session, and then any session can end
//! it. What another run prepared under the same id is not ours: there the command of the case failed.

use anchorite_drivers::Reply;
use anchorite_model::SessionIndex;
use anchorite_model::sql::TwoPhase;

/// PostgreSQL answers PREPARE TRANSACTION of a failed transaction with success and another tag.
const PREPARED_TAG: &str = "PREPARE TRANSACTION";

/// How far a transaction has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// XA, accepts statements.
    Active,
    /// XA, accepts no more statements.
    Ended,
    /// XA, prepared in a session that still exists.
    Prepared,
    /// Prepared, and no longer owned by a session: XA's, whose session could not end it, or PostgreSQL's.
    Detached { is_xa: bool },
}

/// A transaction that is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Branch {
    id: String,
    session: SessionIndex,
    phase: Phase,
}

/// All of a case.
#[derive(Debug, Default)]
pub(crate) struct Branches(Vec<Branch>);

impl Branches {
    /// Records the answer to a session's command.
    pub(crate) fn learn(&mut self, session: SessionIndex, command: &TwoPhase, reply: &Reply) {
        let Ok(answer) = reply else { return };
        match command {
            TwoPhase::Start(id) => self.put(id, session, Phase::Active),
            TwoPhase::End(id) => self.put(id, session, Phase::Ended),
            TwoPhase::Prepare(id) => self.put(id, session, Phase::Prepared),
            TwoPhase::Detach(id) if answer.tag.as_deref() == Some(PREPARED_TAG) => {
                self.put(id, session, Phase::Detached { is_xa: false });
            }
            TwoPhase::Detach(_) => {}
            TwoPhase::Finish(id) => self.forget(id),
        }
    }

    fn put(&mut self, id: &str, session: SessionIndex, phase: Phase) {
        self.forget(id);
        self.0.push(Branch { id: id.to_owned(), session, phase });
    }

    fn forget(&mut self, id: &str) {
        self.0.retain(|branch| branch.id != id);
    }

    /// The next command that the session itself has to be sent.
    pub(crate) fn next_command(&self, session: SessionIndex) -> Option<String> {
        let branch = self.0.iter().find(|branch| branch.session == session)?;
        match branch.phase {
            Phase::Active => Some(format!("XA END {}", branch.id)),
            Phase::Ended | Phase::Prepared => Some(format!("XA ROLLBACK {}", branch.id)),
            Phase::Detached { .. } => None,
        }
    }

    /// Records the result of that command. One that failed is not tried again: an XA transaction that was chosen as a
    /// deadlock's victim refuses END and accepts ROLLBACK.
    pub(crate) fn commanded(&mut self, session: SessionIndex, is_done: bool) {
        let Some(at) = self.0.iter().position(|branch| branch.session == session) else { return };
        match self.0[at].phase {
            Phase::Active => self.0[at].phase = Phase::Ended,
            Phase::Prepared if !is_done => self.0[at].phase = Phase::Detached { is_xa: true },
            Phase::Ended | Phase::Prepared => drop(self.0.remove(at)),
            Phase::Detached { .. } => {}
        }
    }

    /// The session is gone. What it prepared is not.
    pub(crate) fn lose(&mut self, session: SessionIndex) {
        for branch in self.0.iter_mut().filter(|branch| branch.session == session) {
            if branch.phase == Phase::Prepared {
                branch.phase = Phase::Detached { is_xa: true };
            }
        }
    }

    /// Removes those that no session owns any more: id, and the command that rolls it back.
    pub(crate) fn take_detached(&mut self) -> Vec<(String, String)> {
        let detached = |branch: &Branch| match branch.phase {
            Phase::Detached { is_xa: true } => Some(format!("XA ROLLBACK {}", branch.id)),
            Phase::Detached { is_xa: false } => Some(format!("ROLLBACK PREPARED {}", branch.id)),
            Phase::Active | Phase::Ended | Phase::Prepared => None,
        };
        let taken = self.0.iter().filter_map(|branch| Some((branch.id.clone(), detached(branch)?)));
        let taken = taken.collect();
        self.0.retain(|branch| detached(branch).is_none());
        taken
    }

    /// The ids of those that hold locks without a connection.
    pub(crate) fn without_connection(&self) -> Vec<&str> {
        let is_detached = |branch: &&Branch| matches!(branch.phase, Phase::Detached { .. });
        self.0.iter().filter(is_detached).map(|branch| branch.id.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_model::{Answer, DbError};

    fn told(tag: &str) -> Reply {
        Ok(Answer { tag: Some(tag.to_owned()), ..Answer::default() })
    }

    /// What is open after these commands of session 0 were answered with success.
    fn after(commands: &[&str]) -> Branches {
        let mut branches = Branches::default();
        for sql in commands {
            let command = TwoPhase::of(sql).expect("a command");
            branches.learn(0, &command, &told(PREPARED_TAG));
        }
        branches
    }

    #[test]
    fn each_phase_has_its_end() {
        let mut open = after(&["XA START 'a'"]);
        assert_eq!(open.next_command(0).as_deref(), Some("XA END 'a'"));
        assert_eq!(open.next_command(1), None);
        // Even if the command fails: the next one may still be accepted.
        open.commanded(0, false);
        assert_eq!(open.next_command(0).as_deref(), Some("XA ROLLBACK 'a'"));
        open.commanded(0, false);
        assert_eq!(open.next_command(0), None);
        assert!(open.take_detached().is_empty());
        let ended = after(&["XA START 'a'", "XA END 'a'"]);
        assert_eq!(ended.next_command(0).as_deref(), Some("XA ROLLBACK 'a'"));
        let finished = after(&["XA START 'a'", "XA END 'a'", "XA COMMIT 'a' ONE PHASE"]);
        assert_eq!(finished.next_command(0), None);
    }

    #[test]
    fn what_is_prepared_is_ended_by_somebody_else_where_its_session_cannot() {
        let prepare = ["XA START 'a'", "XA END 'a'", "XA PREPARE 'a'"];
        let mut refused = after(&prepare);
        refused.commanded(0, false);
        let mut lost = after(&prepare);
        lost.lose(0);
        for mut branches in [refused, lost] {
            assert_eq!(branches.next_command(0), None);
            assert_eq!(branches.without_connection(), ["'a'"]);
            let rollback = ("'a'".to_owned(), "XA ROLLBACK 'a'".to_owned());
            assert_eq!(branches.take_detached(), [rollback]);
            assert!(branches.take_detached().is_empty());
        }
        let mut done = after(&prepare);
        done.commanded(0, true);
        assert!(done.take_detached().is_empty());
    }

    #[test]
    fn postgres_prepares_what_it_says_it_has_prepared() {
        let command = TwoPhase::of("PREPARE TRANSACTION 'a'").expect("a command");
        let mut branches = Branches::default();
        branches.learn(0, &command, &told("ROLLBACK"));
        branches.learn(0, &command, &Err(DbError::default()));
        assert!(branches.take_detached().is_empty());
        branches.learn(0, &command, &told(PREPARED_TAG));
        assert_eq!(branches.next_command(0), None);
        let rollback = ("'a'".to_owned(), "ROLLBACK PREPARED 'a'".to_owned());
        assert_eq!(branches.take_detached(), [rollback]);
    }
}
