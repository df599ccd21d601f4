//! What the sabotage knows about the sessions of a target: which are inside a transaction, which overlapped.

use std::sync::Arc;

use anchorite_model::{DbError, StatementKind, Value};

use super::shared_schema::{SharedSchema, SharedSession};
use crate::{ConnectionId, Reply};

/// The number of a session in the records; never used twice.
pub(super) type Key = u64;

/// One session of the case.
pub(super) struct Entry {
    pub key: Key,
    pub id: ConnectionId,
    pub session: SharedSession,
    /// The schema that it is in.
    pub location: Arc<SharedSchema>,
    pub transaction: Transaction,
    /// A statement is on its way.
    pub busy: bool,
}

/// What is known about a session's present transaction; the default is: there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Transaction {
    pub open: bool,
    /// Another session's transaction, or statement, ran at the same time.
    pub overlapped: bool,
    /// Some statement of it was answered.
    pub touched: bool,
    /// Writes that had, or may have had, an effect.
    pub writes: usize,
    /// The same, since the latest savepoint.
    pub writes_since_savepoint: usize,
    /// The case has set a savepoint in it.
    pub has_savepoint: bool,
    /// An error has made it unusable (PostgreSQL).
    pub failed: bool,
}

/// The sessions, and what happened in the present overlap.
#[derive(Default)]
pub(super) struct Records {
    pub entries: Vec<Entry>,
    last_key: Key,
    /// The sabotage has been carried out in this overlap.
    pub acted: bool,
    /// How often it has been carried out in all.
    pub acts: u64,
    /// Who has committed changes in this overlap.
    pub committed: Vec<Key>,
    /// Rows that were changed by those commits.
    pub images: Vec<Image>,
    /// Statements so far.
    statements: u64,
}

/// Where overlaps have no end, the sabotage may act in one of so many statements.
const TURN: u64 = 4;

/// One row that a commit changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Image {
    pub table: String,
    pub columns: Vec<String>,
    pub before: Vec<Value>,
    pub after: Vec<Value>,
    /// The sessions that were inside a transaction when it was committed.
    pub open_for: Vec<Key>,
}

impl Records {
    pub(super) fn join(
        &mut self,
        id: ConnectionId,
        session: SharedSession,
        location: Arc<SharedSchema>,
    ) -> Key {
        self.last_key += 1;
        let transaction = Transaction::default();
        let key = self.last_key;
        self.entries.push(Entry { key, id, session, location, transaction, busy: false });
        self.last_key
    }

    pub(super) fn leave(&mut self, key: Key) {
        self.entries.retain(|entry| entry.key != key);
        self.end_overlap();
    }

    fn at(&self, key: Key) -> usize {
        let at = self.entries.iter().position(|entry| entry.key == key);
        at.expect("a session stays in the records until it is closed")
    }

    pub(super) fn location(&self, key: Key) -> Arc<SharedSchema> {
        Arc::clone(&self.entries[self.at(key)].location)
    }

    /// A session moves into another schema.
    pub(super) fn move_to(&mut self, key: Key, location: Arc<SharedSchema>) {
        let at = self.at(key);
        self.entries[at].location = location;
    }

    pub(super) fn transaction(&self, key: Key) -> Transaction {
        self.entries[self.at(key)].transaction
    }

    /// Whether the sabotage may act in the statement that is about to be sent, where overlaps have no end.
    pub(super) fn takes_turn(&mut self) -> bool {
        self.statements += 1;
        self.statements.is_multiple_of(TURN)
    }

    /// Whether a statement of this session is on its way.
    pub(super) fn is_busy(&self, key: Key) -> bool {
        self.entries[self.at(key)].busy
    }

    pub(super) fn others(&self, key: Key) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.key != key)
    }

    /// The sabotage is carried out.
    pub(super) fn act(&mut self) {
        self.acted = true;
        self.acts += 1;
    }

    /// Whether any session has a transaction open.
    pub(super) fn any_open(&self) -> bool {
        self.entries.iter().any(|entry| entry.transaction.open)
    }

    /// A statement is about to be sent: everything running now overlaps with it.
    pub(super) fn enter(&mut self, key: Key) {
        let at = self.at(key);
        self.entries[at].busy = true;
        let mut overlaps = false;
        for entry in &mut self.entries {
            if entry.key != key && (entry.transaction.open || entry.busy) {
                entry.transaction.overlapped = true;
                overlaps = true;
            }
        }
        self.entries[at].transaction.overlapped |= overlaps;
    }

    /// A statement was answered.
    pub(super) fn note(&mut self, key: Key, kind: &StatementKind, reply: &Reply) {
        let at = self.at(key);
        let entry = &mut self.entries[at];
        entry.busy = false;
        let before = entry.transaction;
        let open = match reply {
            Ok(answer) => answer.in_transaction.unwrap_or(match kind {
                StatementKind::Begin => true,
                StatementKind::Commit { chain } | StatementKind::Rollback { chain } => *chain,
                _ => before.open,
            }),
            Err(error) => is_open_after(error, before.open),
        };
        let wrote = usize::from(kind.writes() && has_effect(reply));
        let ended = kind.ends_transaction() || !open;
        let total = before.writes + wrote;
        let committed = ended && reply.is_ok() && !matches!(kind, StatementKind::Rollback { .. });
        entry.transaction = if ended {
            Transaction { open, ..Transaction::default() }
        } else {
            let mut now = Transaction { open, writes: total, ..before };
            now.touched |= !matches!(kind, StatementKind::Begin);
            now.writes_since_savepoint += wrote;
            now.failed = is_failed(before.failed, kind, reply);
            if let StatementKind::Savepoint(_) = kind {
                now.has_savepoint = true;
                now.writes_since_savepoint = 0;
            }
            now
        };
        if committed && total > 0 && !self.committed.contains(&key) {
            self.committed.push(key);
        }
        if ended {
            self.images.iter_mut().for_each(|image| image.open_for.retain(|open| *open != key));
            self.images.retain(|image| !image.open_for.is_empty());
        }
        self.end_overlap();
    }

    fn end_overlap(&mut self) {
        if !self.any_open() {
            self.acted = false;
            self.committed.clear();
            self.images.clear();
        }
    }
}

/// Whether a write changed something, as far as its answer says.
pub(super) fn has_effect(reply: &Reply) -> bool {
    matches!(reply, Ok(answer) if answer.affected != Some(0))
}

/// Whether a transaction is open after an error.
pub(super) fn is_open_after(error: &DbError, was_open: bool) -> bool {
    error.in_transaction.unwrap_or(was_open && !error.transaction_gone)
}

/// PostgreSQL: after an error only ROLLBACK, and ROLLBACK TO, are obeyed.
fn is_failed(was_failed: bool, kind: &StatementKind, reply: &Reply) -> bool {
    match reply {
        Ok(_) => was_failed && !matches!(kind, StatementKind::RollbackTo(_)),
        Err(error) => was_failed || (error.transaction_gone && error.in_transaction == Some(true)),
    }
}
