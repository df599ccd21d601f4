//! One session of a case: what it is doing, what is queued behind it, the state of its transaction.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use anchorite_drivers::{ConnectionId, Reply, Session};
use anchorite_model::sql::StatementKind;
use anchorite_model::transactions::Follower;
use anchorite_model::{DbError, ErrorClass, SessionIndex};

/// A statement that was sent and not yet answered.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Index of the step in the schedule; `None` for the stage's own statements at the end.
    pub step: Option<usize>,
    /// When it was sent.
    pub since: Instant,
    /// Whether it was reported as blocked, and the position of that report among all such reports.
    pub blocked: Option<u64>,
    /// When it was assumed to be blocked although the server did not show that it waits.
    pub guessed: Option<Instant>,
    /// When it was cancelled, if it was.
    pub cancelled: Option<Instant>,
}

/// A session of the case.
pub struct CaseSession {
    /// Its index in the case.
    pub index: SessionIndex,
    /// The connection.
    pub session: Box<dyn Session>,
    /// The server's id of the connection.
    pub id: ConnectionId,
    /// The unanswered statement.
    pub pending: Option<Pending>,
    /// Steps that wait until the session is free again.
    pub queue: VecDeque<usize>,
    /// What became of its transactions, by the statements and their answers.
    transactions: Follower,
    /// Whether the server says that a transaction is open; `None` = it did not say.
    in_transaction: Option<bool>,
    /// The connection is gone.
    pub lost: bool,
    /// How many statements were sent at the end to end what it has open.
    pub endings: usize,
}

impl CaseSession {
    /// A fresh session.
    pub fn new(index: SessionIndex, session: Box<dyn Session>) -> Self {
        Self {
            index,
            id: session.id(),
            session,
            pending: None,
            queue: VecDeque::new(),
            transactions: Follower::default(),
            in_transaction: None,
            lost: false,
            endings: 0,
        }
    }

    /// Whether a statement can be sent.
    pub fn idle(&self) -> bool {
        self.pending.is_none() && !self.lost
    }

    /// Why this statement must not be sent, if so.
    pub fn refuses(&self, kind: &StatementKind) -> Option<&'static str> {
        if self.lost {
            return Some("the connection is lost");
        }
        // It would run outside the transaction that it belongs to.
        let is_orphan = self.transactions.is_orphaned() && !kind.ends_transaction();
        (is_orphan && *kind != StatementKind::Begin)
            .then_some("its transaction was ended by the error before")
    }

    /// Sends a statement.
    pub fn submit(&mut self, step: Option<usize>, sql: &str) {
        self.session.submit(sql);
        let since = Instant::now();
        self.pending = Some(Pending { step, since, blocked: None, guessed: None, cancelled: None });
    }

    /// Closes the connection: what it has open ends on the server, except for what is prepared.
    pub fn close(&mut self) {
        self.lost = true;
        self.pending = None;
        self.session = Box::new(Closed(self.id));
    }

    /// Whether something is, or may be, open here that a rollback would end.
    pub fn maybe_in_transaction(&self) -> bool {
        self.in_transaction.unwrap_or_else(|| self.transactions.is_open())
    }

    /// Records what an answer means for the session's transaction.
    pub fn learn(&mut self, kind: &StatementKind, reply: &Reply) {
        self.transactions.take(kind, reply.as_ref());
        match reply {
            Ok(answer) => {
                self.in_transaction = answer.in_transaction;
                let is_begin = *kind == StatementKind::Begin;
                // A server that says so has begun the next one at once, or has ended this one without being told to.
                match answer.in_transaction {
                    Some(true) if kind.ends_transaction() => self.transactions.correct(true),
                    Some(false) if !is_begin => self.transactions.correct(false),
                    _ => {}
                }
            }
            Err(error) => {
                self.lost |= error.class == ErrorClass::ConnectionLost;
                // If the server sends no status with an error, keep what we know.
                self.in_transaction = error.in_transaction.or(self.in_transaction);
                if error.transaction_gone && error.in_transaction != Some(true) {
                    self.in_transaction = Some(false);
                }
            }
        }
    }
}

/// Replaces a connection that was closed; nothing is ever sent to it.
struct Closed(ConnectionId);

impl Session for Closed {
    fn id(&self) -> ConnectionId {
        self.0
    }

    fn submit(&mut self, _sql: &str) {}

    fn poll(&mut self) -> Option<Reply> {
        Some(Err(DbError::connection_lost("the connection is closed".to_owned())))
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn cancel(&mut self) {}
}
