//! A session between the stage and its driver: most statements are passed on, some are tampered with.
//!
//! A statement goes through three steps: *before* may rewrite it or prepare something, the driver executes what is sent
//! (and may wait for locks, as any statement), *after* may change the answer or the effect. What is done before and
//! after happens at once, with statements that do not wait ([`Shared::execute`]).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use anchorite_model::{Rows, StatementKind};

use super::Sabotage;
use super::records::{Key, Transaction};
use super::shared::Shared;
use super::shared_schema::SharedSchema;
use super::shared_schema::{SharedSession, lock};
use crate::{ConnectionId, Reply};

/// What to do with the answer.
#[derive(Debug, Default)]
pub(super) enum After {
    /// It is passed on.
    #[default]
    HandOn,
    /// The rows that were read may be replaced.
    Reread,
    /// It was the answer of another statement: the tag is made to fit.
    Relabel(&'static str),
    /// It was a COMMIT in place of a ROLLBACK.
    PretendRollback,
    /// The write is undone.
    Undo,
    /// The write is executed once more.
    Repeat,
    /// The write is committed.
    Commit,
    /// Everything up to here will be kept, whatever follows.
    MarkFirstWrite,
    /// A conflict is no reason to fail.
    OvercomeConflict,
    /// A broken constraint is told as something else.
    ExchangeError,
    /// What was changed, compared with this state, is remembered.
    Remember(Vec<(String, Rows)>),
}

/// What is done with a statement.
pub(super) enum Act {
    /// This is sent in its place, and that follows its answer.
    Send(String, After),
    /// It is not sent: this is its answer.
    Answer(Reply),
}

/// A session of the case.
pub(super) struct SabotagedSession {
    pub shared: Arc<Shared>,
    pub key: Key,
    pub id: ConnectionId,
    pub session: SharedSession,
    /// The statement as the stage sent it.
    pub sql: String,
    pub kind: StatementKind,
    /// A savepoint after the transaction's first write was set.
    pub first_write_marked: bool,
    /// The sabotage may act in this statement, where overlaps have no end.
    is_turn: bool,
    after: After,
    /// The answer of a statement that was not sent.
    ready: Option<Reply>,
    /// The driver's descriptor, once it has shown one: a lock's guard cannot lend it.
    descriptor: Option<OwnedFd>,
}

impl SabotagedSession {
    pub(super) fn new(
        shared: Arc<Shared>,
        key: Key,
        id: ConnectionId,
        session: SharedSession,
    ) -> Self {
        Self {
            shared,
            key,
            id,
            session,
            sql: String::new(),
            kind: StatementKind::Other,
            first_write_marked: false,
            is_turn: false,
            after: After::HandOn,
            ready: None,
            descriptor: None,
        }
    }

    /// The session's transaction before the present statement.
    pub(super) fn transaction(&self) -> Transaction {
        lock(&self.shared.records).transaction(self.key)
    }

    /// Whether the sabotage may act now: transactions overlap, and it has not acted yet.
    pub(super) fn may_act(&self) -> bool {
        let records = lock(&self.shared.records);
        let may = if self.shared.is_racing { self.is_turn } else { !records.acted };
        may && records.transaction(self.key).overlapped
    }

    /// The sabotage has acted.
    pub(super) fn acted(&self) {
        lock(&self.shared.records).act();
    }

    /// The schema that the session is in.
    pub(super) fn location(&self) -> Arc<SharedSchema> {
        lock(&self.shared.records).location(self.key)
    }

    /// Executes a statement on this session that must not wait.
    pub(super) fn execute(&self, sql: &str) -> Reply {
        self.shared.execute(&self.location(), lock(&self.session).as_mut(), sql)
    }

    /// Queries the committed state; an error if it cannot be read at once.
    pub(super) fn ask_committed(&self, sql: &str) -> Reply {
        self.shared.ask_committed(&self.location(), sql)
    }

    /// The locks of a transaction for which somebody waits are given away: it is committed, and another one begun,
    /// without its knowledge.
    fn give_locks_away(&self) -> Option<Act> {
        let transaction = self.transaction();
        let possible = transaction.open && transaction.writes > 0 && !transaction.failed;
        let wanted = self.shared.is_racing && self.shared.sabotage == Sabotage::LockNotTaken;
        if !wanted || !possible || transaction.has_savepoint || !self.may_act() {
            return None;
        }
        let location = self.location();
        if !self.commit_would_not_wait() || !self.shared.is_waited_for(&location, self.id) {
            return None;
        }
        self.acted();
        let given = self.execute("COMMIT").and_then(|_| self.execute("BEGIN"));
        given.err().map(|error| Act::Answer(Err(error)))
    }

    fn before(&mut self) -> Act {
        if let Some(act) = self.give_locks_away() {
            return act;
        }
        let act = match &self.kind {
            StatementKind::Select { locking: false } if self.may_act() => {
                Some(Act::Send(self.sql.clone(), After::Reread))
            }
            StatementKind::Select { locking: true } if self.may_act() => self.before_locking_read(),
            kind if kind.writes() => self.before_write(),
            kind if kind.ends_transaction() => self.before_end(),
            StatementKind::RollbackTo(_) => self.before_rollback_to(),
            _ => None,
        };
        act.unwrap_or_else(|| Act::Send(self.sql.clone(), After::HandOn))
    }

    fn conclude(&mut self, reply: Reply) -> Reply {
        match std::mem::take(&mut self.after) {
            After::HandOn => reply,
            After::Reread => self.reread(reply),
            After::Relabel(tag) => reply.map(|mut answer| {
                answer.tag = answer.tag.map(|_| tag.to_owned());
                answer
            }),
            After::PretendRollback => self.pretend_rollback(reply),
            After::Undo => self.undo(reply),
            After::Repeat => self.repeat(reply),
            After::Commit => self.commit_at_once(reply),
            After::MarkFirstWrite => self.mark_first_write(reply),
            After::ExchangeError => self.exchange_error(reply),
            After::OvercomeConflict => self.overcome_conflict(reply),
            After::Remember(before) => self.remember(&before, reply),
        }
    }
}

impl crate::Session for SabotagedSession {
    fn id(&self) -> ConnectionId {
        self.id
    }

    fn submit(&mut self, sql: &str) {
        sql.clone_into(&mut self.sql);
        self.kind = StatementKind::of(sql);
        let entered = self.shared.entered_by(sql);
        let overlap_begins = {
            let mut records = lock(&self.shared.records);
            if let Some(location) = entered {
                records.move_to(self.key, location);
            }
            records.enter(self.key);
            self.is_turn = records.takes_turn();
            let is_new = if self.shared.is_racing { self.is_turn } else { !records.any_open() };
            is_new && self.kind == StatementKind::Begin
        };
        if overlap_begins && self.shared.sabotage == Sabotage::StaleSnapshot {
            self.shared.keep_the_past(&self.location());
        }
        let send = match self.before() {
            Act::Send(send, after) => {
                self.after = after;
                send
            }
            Act::Answer(reply) => {
                self.ready = Some(reply);
                return;
            }
        };
        let mut session = lock(&self.session);
        session.submit(&send);
        if self.descriptor.is_none() {
            self.descriptor = session.fd().and_then(|fd| fd.try_clone_to_owned().ok());
        }
    }

    fn poll(&mut self) -> Option<Reply> {
        let reply = match self.ready.take() {
            Some(reply) => reply,
            None => {
                let reply = lock(&self.session).poll()?;
                self.conclude(reply)
            }
        };
        let nothing_open = {
            let mut records = lock(&self.shared.records);
            records.note(self.key, &self.kind, &reply);
            !records.any_open()
        };
        if nothing_open {
            self.shared.forget_the_past(&self.location());
        }
        Some(reply)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        // An engine in this process shows its descriptor only while that is worth waiting for.
        lock(&self.session).fd()?;
        self.descriptor.as_ref().map(AsFd::as_fd)
    }

    fn cancel(&mut self) {
        lock(&self.session).cancel();
    }

    /// Several statements in one text would not be recognised.
    fn takes_several(&self) -> bool {
        !self.shared.is_racing && lock(&self.session).takes_several()
    }
}

impl Drop for SabotagedSession {
    fn drop(&mut self) {
        lock(&self.shared.records).leave(self.key);
    }
}
