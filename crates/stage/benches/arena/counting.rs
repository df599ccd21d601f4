//! A target that counts what is asked of the one behind it.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anchorite_drivers::{
    ConnectionId, OpenedSession, Reply, Schema, Session, SessionOptions, Target, TargetError,
    Upkeep, Wait, Watcher,
};
use anchorite_model::{DbError, Level, TargetInfo};

/// What was asked.
#[derive(Default)]
pub struct Counts {
    /// Statements of cases' sessions, each a round trip; also of sessions that set up and read.
    pub statements: AtomicU64,
    /// Round trips of the arena's own session.
    pub own_session: AtomicU64,
    /// Looks at who waits for whom.
    pub looks: AtomicU64,
    /// Sessions and watchers opened, schemas created.
    pub opened: AtomicU64,
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A target with counters.
pub struct Counting {
    /// The real one.
    pub inner: Box<dyn Target>,
    /// Shared by everything it makes.
    pub counts: Arc<Counts>,
}

impl Target for Counting {
    fn info(&self) -> &TargetInfo {
        self.inner.info()
    }

    fn levels(&self) -> &[Level] {
        self.inner.levels()
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        add(&self.counts.opened);
        let inner = self.inner.create_schema()?;
        Ok(Box::new(CountingSchema { inner, counts: Arc::clone(&self.counts) }))
    }
}

struct CountingSchema {
    inner: Box<dyn Schema>,
    counts: Arc<Counts>,
}

impl CountingSchema {
    fn session(&self, inner: Box<dyn Session>, is_caretaker: bool) -> Box<dyn Session> {
        add(&self.counts.opened);
        Box::new(CountingSession { inner, counts: Arc::clone(&self.counts), is_caretaker })
    }
}

impl Schema for CountingSchema {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let opened = self.inner.open(options)?;
        Ok(OpenedSession { session: self.session(opened.session, false), ..opened })
    }

    fn own_session(&self, lock_wait: Duration) -> Result<Box<dyn Session>, TargetError> {
        Ok(self.session(self.inner.own_session(lock_wait)?, true))
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        add(&self.counts.opened);
        let inner = self.inner.watcher()?;
        Ok(Box::new(CountingWatcher { inner, counts: Arc::clone(&self.counts) }))
    }

    fn hold_still(&self) -> Result<Box<dyn Send>, TargetError> {
        self.inner.hold_still()
    }

    fn upkeep(&self) -> Upkeep {
        self.inner.upkeep()
    }

    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError> {
        self.inner.tables(session, limit)
    }

    fn quote(&self, name: &str) -> String {
        self.inner.quote(name)
    }
}

struct CountingSession {
    inner: Box<dyn Session>,
    counts: Arc<Counts>,
    is_caretaker: bool,
}

impl Session for CountingSession {
    fn id(&self) -> ConnectionId {
        self.inner.id()
    }

    fn submit(&mut self, sql: &str) {
        add(if self.is_caretaker { &self.counts.own_session } else { &self.counts.statements });
        self.inner.submit(sql);
    }

    fn poll(&mut self) -> Option<Reply> {
        self.inner.poll()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.fd()
    }

    fn cancel(&mut self) {
        self.inner.cancel();
    }

    fn takes_several(&self) -> bool {
        self.inner.takes_several()
    }
}

struct CountingWatcher {
    inner: Box<dyn Watcher>,
    counts: Arc<Counts>,
}

impl Watcher for CountingWatcher {
    fn method(&self) -> String {
        self.inner.method()
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        add(&self.counts.looks);
        self.inner.waits(outstanding, all)
    }

    fn describe(&mut self, waiter: ConnectionId) -> String {
        add(&self.counts.looks);
        self.inner.describe(waiter)
    }

    fn grant_delay(&self) -> Duration {
        self.inner.grant_delay()
    }

    fn deadlock_check(&self) -> Duration {
        self.inner.deadlock_check()
    }

    fn waits_last(&self) -> bool {
        self.inner.waits_last()
    }

    fn look_twice(&self) -> bool {
        self.inner.look_twice()
    }

    fn misses_waits(&self) -> bool {
        self.inner.misses_waits()
    }
}
