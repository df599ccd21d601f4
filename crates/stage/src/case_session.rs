//! One session of a case: what it is doing, what is queued behind it, the state of its transaction.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use anchorite_drivers::{ConnectionId, Reply, Session};
use anchorite_model::sql::StatementKind;
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
    /// Inside BEGIN ... COMMIT, by the statements that succeeded.
    explicit: bool,
    /// Whether the server says that a transaction is open; `None` = it did not say.
    in_transaction: Option<bool>,
    /// The explicit transaction was ended by an error: its remaining statements must not be sent, because they would
    /// run outside it.
    orphaned: bool,
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
            explicit: false,
            in_transaction: None,
            orphaned: false,
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
        (self.orphaned && !kind.ends_transaction() && !begins(kind))
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
        self.in_transaction.unwrap_or(self.explicit)
    }

    /// Records what an answer means for the session's transaction.
    pub fn learn(&mut self, kind: &StatementKind, reply: &Reply) {
        match reply {
            Ok(answer) => {
                self.in_transaction = answer.in_transaction;
                if begins(kind) {
                    self.explicit = true;
                    self.orphaned = false;
                } else if kind.ends_transaction() {
                    // AND CHAIN begins the next one at once.
                    self.explicit = answer.in_transaction == Some(true);
                    self.orphaned = false;
                } else if answer.in_transaction == Some(false) {
                    self.explicit = false;
                }
            }
            Err(error) => {
                self.lost |= error.class == ErrorClass::ConnectionLost;
                // If the server sends no status with an error, keep what we know.
                self.in_transaction = error.in_transaction.or(self.in_transaction);
                if error.transaction_gone && error.in_transaction != Some(true) {
                    self.orphaned = self.explicit && !kind.ends_transaction();
                    self.explicit = false;
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

fn begins(kind: &StatementKind) -> bool {
    matches!(kind, StatementKind::Begin)
}
