//! Sabotage of reads: the honest answer is awaited, then replaced by other rows; or locks are not taken.
//!
//! The honest statement is executed in any case, so that the session's snapshot and locks are what they would
//! be. An answer is only replaced by one that differs from it.

use std::sync::Arc;

use anchorite_model::{Answer, Rows};
use anchorite_sql::without_locking_clause;

use super::Sabotage;
use super::records::Key;
use super::session::{Act, After, SabotagedSession};
use super::shared::Shared;
use super::shared_schema::SharedSchema;
use super::shared_schema::{SharedSession, lock};
use crate::{Reply, Session};

const SAVEPOINT: &str = "anchorite_read";

impl Shared {
    /// Takes a snapshot that holds no lock. SQLite has this only with a write-ahead log.
    pub(super) fn keep_the_past(&self, location: &SharedSchema) {
        let transactions = &self.info.product.descriptor().transactions;
        let statements = transactions.snapshot_in(&self.info.variant);
        if statements.is_empty() {
            return;
        }
        let mut past = lock(&self.past);
        if past.open {
            return;
        }
        self.bring(&mut past.aside, location, transactions.snapshot_level);
        let Some(aside) = past.aside.as_mut() else { return };
        let is_taken = |sql: &String| self.execute(location, aside.session.as_mut(), sql).is_ok();
        past.open = statements.iter().all(is_taken);
    }

    /// Queries the snapshot, once: afterwards it is gone, and with it the metadata locks of the read.
    fn ask_the_past(&self, location: &SharedSchema, sql: &str) -> Option<Answer> {
        let answer = {
            let mut past = lock(&self.past);
            let open = past.open;
            let aside = past.aside.as_mut().filter(|_| open)?;
            self.execute(location, aside.session.as_mut(), sql).ok()
        };
        self.forget_the_past(location);
        answer
    }

    /// Releases the snapshot.
    pub(super) fn forget_the_past(&self, location: &SharedSchema) {
        let mut past = lock(&self.past);
        if std::mem::take(&mut past.open)
            && let Some(aside) = past.aside.as_mut()
            && self.execute(location, aside.session.as_mut(), "ROLLBACK").is_err()
        {
            // A connection that cannot even roll back is replaced by a new one.
            past.aside = None;
        }
    }
}

impl SabotagedSession {
    /// A locking read without its locks.
    pub(super) fn before_locking_read(&self) -> Option<Act> {
        if self.shared.sabotage != Sabotage::ReadLockNotTaken {
            return None;
        }
        let plain = without_locking_clause(&self.sql, self.shared.dialect())?;
        self.acted();
        Some(Act::Send(plain.to_owned(), After::HandOn))
    }

    /// The answer to a SELECT, or a wrong one.
    pub(super) fn reread(&self, reply: Reply) -> Reply {
        let Ok(honest) = reply else { return reply };
        let wrong = if self.may_act() { self.wrong_answer(&honest) } else { None };
        let Some(wrong) = wrong else { return Ok(honest) };
        self.acted();
        Ok(Answer { results: wrong.results, tag: wrong.tag, ..honest })
    }

    fn wrong_answer(&self, honest: &Answer) -> Option<Answer> {
        let transaction = self.transaction();
        let reads_only = transaction.writes == 0;
        let same_count = |wrong: &Answer| row_count(wrong) == row_count(honest);
        let wrong = match self.shared.sabotage {
            Sabotage::DirtyRead => return self.dirty_answer(honest),
            Sabotage::NonRepeatableRead if transaction.open && reads_only => {
                self.ask_committed(&self.sql).ok().filter(same_count)
            }
            Sabotage::Phantom if transaction.open && reads_only => {
                self.ask_committed(&self.sql).ok().filter(|wrong| !same_count(wrong))
            }
            Sabotage::OwnWriteInvisible if !reads_only => self.ask_committed(&self.sql).ok(),
            Sabotage::StaleSnapshot if reads_only && self.others_committed() => {
                self.shared.ask_the_past(&self.location(), &self.sql)
            }
            Sabotage::RowMissed => without_last_row(honest),
            _ => None,
        };
        wrong.filter(|wrong| differs(wrong, honest))
    }

    fn others_committed(&self) -> bool {
        lock(&self.shared.records).committed.iter().any(|key| *key != self.key)
    }

    /// What another session's uncommitted transaction sees.
    fn dirty_answer(&self, honest: &Answer) -> Option<Answer> {
        let writers: Vec<(Key, SharedSession)> = lock(&self.shared.records)
            .others(self.key)
            .filter(|other| !other.busy && !other.transaction.failed)
            .filter(|other| other.transaction.open && other.transaction.writes > 0)
            .map(|other| (other.key, Arc::clone(&other.session)))
            .collect();
        let location = self.location();
        let ask = |(key, writer): (Key, SharedSession)| {
            let mut writer = lock(&writer);
            // Its own thread may have sent something meanwhile.
            let is_busy = lock(&self.shared.records).is_busy(key);
            if is_busy { None } else { self.ask_through(&location, writer.as_mut()) }
        };
        writers.into_iter().filter_map(ask).find(|dirty| differs(dirty, honest))
    }

    /// Asks over another session's connection; an error there must not abort its transaction.
    fn ask_through(&self, location: &SharedSchema, other: &mut dyn Session) -> Option<Answer> {
        if !self.shared.errors_abort() {
            return self.shared.execute(location, other, &self.sql).ok();
        }
        self.shared.execute(location, other, &format!("SAVEPOINT {SAVEPOINT}")).ok()?;
        let answer = self.shared.execute(location, other, &self.sql).ok();
        for undo in ["ROLLBACK TO SAVEPOINT", "RELEASE SAVEPOINT"] {
            self.shared.execute(location, other, &format!("{undo} {SAVEPOINT}")).ok()?;
        }
        answer
    }
}

fn row_count(answer: &Answer) -> usize {
    answer.results.iter().map(|rows| rows.rows.len()).sum()
}

fn without_last_row(honest: &Answer) -> Option<Answer> {
    let mut wrong = honest.clone();
    wrong.results.first_mut()?.rows.pop()?;
    let count = row_count(&wrong);
    wrong.tag = wrong.tag.map(|_| format!("SELECT {count}"));
    Some(wrong)
}

/// Whether the rows differ, as multisets.
fn differs(one: &Answer, other: &Answer) -> bool {
    let sorted = |answer: &Answer| -> Vec<Rows> {
        let mut results = answer.results.clone();
        results.iter_mut().for_each(|rows| rows.rows.sort());
        results
    };
    sorted(one) != sorted(other)
}
