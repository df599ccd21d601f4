//! Sabotage of COMMIT, ROLLBACK and ROLLBACK TO.

use anchorite_model::StatementKind;

use super::Sabotage;
use super::images::remembered_by;
use super::session::{Act, After, SabotagedSession};
use super::shared_schema::lock;
use super::writes::FIRST_WRITE;
use crate::Reply;

impl SabotagedSession {
    /// A different end of the transaction, if it has something to lose or to keep.
    pub(super) fn before_end(&mut self) -> Option<Act> {
        let marked = std::mem::take(&mut self.first_write_marked);
        let transaction = self.transaction();
        if transaction.writes == 0 || transaction.failed {
            return None;
        }
        let (commits, chain) = match self.kind {
            StatementKind::Commit { chain } => (true, chain),
            StatementKind::Rollback { chain } => (false, chain),
            _ => return None,
        };
        // Others may have begun since: what they remember does not depend on having acted.
        if commits && self.shared.sabotage == Sabotage::LostUpdate {
            return self.remembering();
        }
        if !self.may_act() {
            return None;
        }
        let and_chain = if chain { " AND CHAIN" } else { "" };
        let act = match self.shared.sabotage {
            Sabotage::CommitLost if commits => {
                Act::Send(format!("ROLLBACK{and_chain}"), After::Relabel("COMMIT"))
            }
            Sabotage::RollbackKept if !commits => {
                Act::Send(format!("COMMIT{and_chain}"), After::PretendRollback)
            }
            Sabotage::CommitTorn if commits && marked && transaction.writes > 1 => {
                self.execute(&format!("ROLLBACK TO SAVEPOINT {FIRST_WRITE}")).ok()?;
                Act::Send(self.sql.clone(), After::HandOn)
            }
            _ => return None,
        };
        self.acted();
        Some(act)
    }

    /// Nothing is undone, and a harmless statement is answered instead.
    pub(super) fn before_rollback_to(&mut self) -> Option<Act> {
        let transaction = self.transaction();
        let possible = transaction.writes_since_savepoint > 0 && !transaction.failed;
        if self.shared.sabotage != Sabotage::SavepointKept || !possible || !self.may_act() {
            return None;
        }
        self.acted();
        Some(Act::Send("SAVEPOINT anchorite_kept".to_owned(), After::Relabel("ROLLBACK")))
    }

    /// A COMMIT that failed in place of a ROLLBACK is still rolled back.
    pub(super) fn pretend_rollback(&self, reply: Reply) -> Reply {
        match reply {
            Ok(mut answer) => {
                answer.tag = answer.tag.map(|_| "ROLLBACK".to_owned());
                Ok(answer)
            }
            Err(_) => self.execute(&self.sql),
        }
    }

    /// Passes the statement on and records which rows it changes for others.
    pub(super) fn remembering(&self) -> Option<Act> {
        let is_watched =
            lock(&self.shared.records).others(self.key).any(|other| other.transaction.open);
        if !is_watched {
            return None;
        }
        let before = self.shared.committed_state(&self.location())?;
        Some(Act::Send(self.sql.clone(), After::Remember(before)))
    }

    /// What the statement has changed is remembered for sessions that were inside a transaction meanwhile.
    pub(super) fn remember(
        &self,
        before: &[(String, anchorite_model::Rows)],
        reply: Reply,
    ) -> Reply {
        if reply.is_ok()
            && let Some(after) = self.shared.committed_state(&self.location())
        {
            let mut records = lock(&self.shared.records);
            let images = remembered_by(&records, self.key, before, &after);
            records.images.extend(images);
        }
        reply
    }
}
