//! What the sessions of a sabotaged schema share: the book, and connections of the saboteur's own.
//!
//! Invariant: when control returns to the stage, no connection of the saboteur's holds a lock that a
//! session of the case could wait for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anchorite_model::sql::Dialect;
use anchorite_model::{DbError, Level, Product, Rows, TargetInfo};

use super::Sabotage;
use super::book::Book;
use super::reads::Past;
use crate::{
    ConnectionId, Reply, Schema, Session, SessionOptions, Watcher, read_table, wait_readable,
};

/// A session of the case: its wrapper and the saboteur use it in turns.
pub(super) type SharedSession = Arc<Mutex<Box<dyn Session>>>;

/// How long a statement of the saboteur's may be silent before the server is asked whether it waits.
const SILENCE: Duration = Duration::from_millis(2);
/// How long it may take altogether.
const LIMIT: Duration = Duration::from_secs(2);
/// How long one wait for an answer lasts.
const SLICE: Duration = Duration::from_millis(1);

/// Everything that belongs to one sabotaged schema.
pub(super) struct Plot {
    pub sabotage: Sabotage,
    pub info: TargetInfo,
    pub levels: Vec<Level>,
    pub book: Mutex<Book>,
    /// Reads the committed state.
    side: Mutex<Option<Box<dyn Session>>>,
    /// Keeps a snapshot of the beginning of the overlap.
    pub past: Mutex<Past>,
    watcher: Mutex<Option<Box<dyn Watcher>>>,
    /// Dropped last.
    pub schema: Mutex<Box<dyn Schema>>,
}

/// A lock that a panic has poisoned is as good as any other: what it guards is looked at once more.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Plot {
    pub(super) fn new(
        schema: Box<dyn Schema>,
        info: TargetInfo,
        levels: Vec<Level>,
        sabotage: Sabotage,
    ) -> Self {
        Self {
            sabotage,
            info,
            levels,
            book: Mutex::default(),
            side: Mutex::default(),
            past: Mutex::default(),
            watcher: Mutex::default(),
            schema: Mutex::new(schema),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        Dialect::of(self.info.product)
    }

    /// Whether an error inside a transaction makes all of it unusable.
    pub(super) fn errors_abort(&self) -> bool {
        matches!(self.info.product, Product::Postgres | Product::Cockroach)
    }

    /// Opens a connection of the saboteur's own.
    pub(super) fn open(&self, level: Option<Level>) -> Option<Box<dyn Session>> {
        let options = SessionOptions { name: "saboteur".to_owned(), level, lock_wait: LIMIT };
        lock(&self.schema).open(&options).ok().map(|opened| opened.session)
    }

    /// Asks the committed state; an error if it cannot be asked at once.
    pub(super) fn ask_committed(&self, sql: &str) -> Reply {
        let mut side = lock(&self.side);
        if side.is_none() {
            *side = self.open(None);
        }
        match side.as_mut() {
            Some(session) => self.execute(session.as_mut(), sql),
            None => Err(DbError::connection_lost("no connection of its own")),
        }
    }

    /// The committed rows of every table; `None` if they cannot be read at once.
    pub(super) fn committed_state(&self) -> Option<Vec<(String, Rows)>> {
        // Also opens the connection.
        self.ask_committed("SELECT 1").ok()?;
        let mut side = lock(&self.side);
        let mut session = Prompt { plot: self, session: side.as_mut()?.as_mut(), reply: None };
        let schema = lock(&self.schema);
        let tables = schema.tables(&mut session, LIMIT).ok()?;
        let read = |table: String| {
            let rows = read_table(&mut session, &schema.quote(&table), LIMIT).ok()?;
            Some((table, rows))
        };
        tables.into_iter().map(read).collect()
    }

    /// Executes a statement that must not wait for a lock: one that does is cancelled.
    pub(super) fn execute(&self, session: &mut dyn Session, sql: &str) -> Reply {
        session.submit(sql);
        let start = Instant::now();
        let mut cancelled = false;
        loop {
            if let Some(reply) = session.poll() {
                return reply;
            }
            let elapsed = start.elapsed();
            let overdue = elapsed >= LIMIT || self.is_waiting(session, elapsed);
            if overdue && !cancelled {
                session.cancel();
                cancelled = true;
            }
            if elapsed >= LIMIT + LIMIT {
                return Err(DbError::connection_lost("it does not answer"));
            }
            match session.fd() {
                Some(fd) => wait_readable(&[fd], SLICE),
                None => wait_readable(&[], Duration::ZERO),
            }
        }
    }

    fn is_waiting(&self, session: &dyn Session, silent_for: Duration) -> bool {
        // An engine in this process knows at once.
        if session.fd().is_some() && silent_for < SILENCE {
            return false;
        }
        let mut watcher = lock(&self.watcher);
        if watcher.is_none() {
            *watcher = lock(&self.schema).watcher().ok();
        }
        let id: ConnectionId = session.id();
        let waits = watcher.as_mut().map(|watcher| watcher.waits(&[id], &[id]));
        matches!(waits, Some(Ok(waits)) if !waits.is_empty())
    }
}

/// A session whose statements do not wait, for [`Schema::tables`].
struct Prompt<'a> {
    plot: &'a Plot,
    session: &'a mut dyn Session,
    reply: Option<Reply>,
}

impl Session for Prompt<'_> {
    fn id(&self) -> ConnectionId {
        self.session.id()
    }

    fn submit(&mut self, sql: &str) {
        self.reply = Some(self.plot.execute(self.session, sql));
    }

    fn poll(&mut self) -> Option<Reply> {
        self.reply.take()
    }

    fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    fn cancel(&mut self) {}
}
