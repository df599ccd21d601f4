//! An SQLite with stale caches: a session answers a SELECT that it has run before with the rows that it had then,
//! unless it has noticed a write since.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anchorite_drivers::{
    ConnectionId, OpenedSession, Reply, Schema, Session, SessionOptions, Target, TargetError,
    Upkeep, Watcher, open,
};
use anchorite_model::{DbError, Level, Rows, StatementKind, TargetInfo};

/// The writes that a session notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notices {
    /// Its own: the fault lives in a session, and shows as soon as two sessions take turns.
    ItsOwn,
    /// Those of all sessions of cases, not those of the arena's own session: the fault shows only where tables are
    /// filled anew between two cases.
    ThoseOfCases,
    /// The same, but only the first schema has the fault: it does not show again, whatever is done.
    ThoseOfCasesOnce,
}

/// SQLite with the fault.
pub struct Stale {
    sqlite: Box<dyn Target>,
    notices: Notices,
    schemas: AtomicU64,
}

impl Stale {
    pub fn new(notices: Notices) -> Self {
        let sqlite = open("sqlite").expect("it is built in");
        Self { sqlite, notices, schemas: AtomicU64::new(0) }
    }
}

impl Target for Stale {
    fn info(&self) -> &TargetInfo {
        self.sqlite.info()
    }

    fn levels(&self) -> &[Level] {
        self.sqlite.levels()
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        let (schema, notices) = (self.sqlite.create_schema()?, self.notices);
        let is_first = self.schemas.fetch_add(1, Ordering::SeqCst) == 0;
        if notices == Notices::ThoseOfCasesOnce && !is_first {
            return Ok(schema);
        }
        Ok(Box::new(StaleSchema { schema, notices, writes: Arc::default() }))
    }
}

struct StaleSchema {
    schema: Box<dyn Schema>,
    notices: Notices,
    /// The writes of all sessions.
    writes: Arc<AtomicU64>,
}

impl Schema for StaleSchema {
    fn name(&self) -> &str {
        self.schema.name()
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let OpenedSession { session, level_read_back } = self.schema.open(options)?;
        let writes = match self.notices {
            Notices::ItsOwn => Arc::default(),
            Notices::ThoseOfCases | Notices::ThoseOfCasesOnce => Arc::clone(&self.writes),
        };
        let (cache, has_written, asked) = (HashMap::new(), false, None);
        let session = StaleSession { session, writes, has_written, cache, asked };
        Ok(OpenedSession { session: Box::new(session), level_read_back })
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        self.schema.watcher()
    }

    fn upkeep(&self) -> Upkeep {
        self.schema.upkeep()
    }

    fn own_session(&self, lock_wait: Duration) -> Result<Box<dyn Session>, TargetError> {
        self.schema.own_session(lock_wait)
    }

    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError> {
        self.schema.tables(session, limit)
    }

    fn quote(&self, name: &str) -> String {
        self.schema.quote(name)
    }
}

struct StaleSession {
    session: Box<dyn Session>,
    /// How many writes were noticed.
    writes: Arc<AtomicU64>,
    /// Whether its transaction has.
    has_written: bool,
    /// The rows of each SELECT, and the writes that had been noticed then.
    cache: HashMap<String, (u64, Vec<Rows>)>,
    /// The SELECT that is being run.
    asked: Option<String>,
}

impl Session for StaleSession {
    fn id(&self) -> ConnectionId {
        self.session.id()
    }

    fn submit(&mut self, sql: &str) {
        let kind = StatementKind::of(sql);
        let is_read = matches!(kind, StatementKind::Select { .. });
        let is_end = kind.ends_transaction();
        if kind.writes() || is_end && self.has_written {
            // A write, or what makes it visible to others.
            self.writes.fetch_add(1, Ordering::SeqCst);
        }
        self.has_written = !is_end && (self.has_written || kind.writes());
        self.asked = is_read.then(|| sql.to_owned());
        self.session.submit(sql);
    }

    fn poll(&mut self) -> Option<Reply> {
        let mut reply = self.session.poll()?;
        if let (Some(sql), Ok(answer)) = (self.asked.take(), &mut reply) {
            let now = self.writes.load(Ordering::SeqCst);
            match self.cache.get(&sql) {
                Some((then, rows)) if *then == now => answer.results.clone_from(rows),
                _ => drop(self.cache.insert(sql, (now, answer.results.clone()))),
            }
        }
        Some(reply)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.session.fd()
    }

    fn cancel(&mut self) {
        self.session.cancel();
    }
}
