//! The sessions of a run, each in a thread of its own; one that loses its connection opens another one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anchorite_check::model::Outcome;
use anchorite_drivers::{
    ConnectionId, OpenedSession, Schema, SessionOptions, heed, wait_for_interrupt,
};
use anchorite_model::{DbError, Level};

use crate::faults::CutAt;
use crate::log::Log;
use crate::options::{Options, StressError};
use crate::series::Series;
use crate::session::Performer;
use crate::status::Status;
use crate::text::Tongue;
use crate::workload::plan;

/// The server's own limit on waits for locks.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(5);

/// A session that is lost tries to connect again for this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(20);

/// No connection.
const NONE: ConnectionId = 0;

/// What the threads of a run share.
pub(crate) struct Shared<'r> {
    pub log: Log,
    pub options: &'r Options,
    pub tongue: Tongue,
    pub status: Mutex<Status>,
    pub series: Mutex<Series>,
    pub lost: Mutex<Option<DbError>>,
    pub failed: Mutex<Option<StressError>>,
    pub committed: AtomicU64,
    pub schema: Mutex<Box<dyn Schema>>,
    /// The connections of the sessions, by their numbers.
    pub connections: Vec<AtomicU64>,
    /// Connections that were given up, and that the server may still have.
    pub given_up: Mutex<Vec<ConnectionId>>,
    /// The transaction in which a connection is cut, and where.
    pub cut: Mutex<Option<(u64, CutAt)>>,
}

/// A panic elsewhere ends the run; what is behind the lock is valid at every moment.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session at the level of the run.
pub(crate) fn open_session(
    schema: &dyn Schema,
    number: usize,
    level: Option<Level>,
) -> Result<OpenedSession, StressError> {
    let name = format!("s{}", number + 1);
    Ok(schema.open(&SessionOptions { name, level, lock_wait: LOCK_WAIT })?)
}

impl<'r> Shared<'r> {
    pub(crate) fn new(
        schema: Box<dyn Schema>,
        options: &'r Options,
        tongue: Tongue,
        opened: &[OpenedSession],
    ) -> Self {
        Self {
            log: Log::new(opened.len()),
            options,
            tongue,
            status: Mutex::default(),
            series: Mutex::default(),
            lost: Mutex::default(),
            failed: Mutex::default(),
            committed: AtomicU64::new(0),
            connections: opened.iter().map(|one| AtomicU64::new(one.session.id())).collect(),
            schema: Mutex::new(schema),
            given_up: Mutex::default(),
            cut: Mutex::default(),
        }
    }

    /// What is to be kept of the first problem that ends the run.
    pub(crate) fn fail(&self, error: StressError) {
        lock(&self.failed).get_or_insert(error);
        self.log.close();
    }

    fn cut_of(&self, number: u64) -> Option<CutAt> {
        if self.options.faults.is_empty() {
            return None;
        }
        let mut cut = lock(&self.cut);
        match *cut {
            Some((wanted, at)) if wanted <= number => {
                *cut = None;
                Some(at)
            }
            _ => None,
        }
    }
}

/// One session, until the run ends or the server does not come back.
pub(crate) fn perform(shared: &Shared<'_>, mut performer: Performer<'_>) {
    let _heeding = heed(Some(&shared.options.interrupt));
    let _leaving = Leaving(&shared.log);
    let options = shared.options;
    while let Some(number) = shared.log.begin(options.transactions, options.is_judged) {
        let plan = plan(&options.workloads, options.seed, number);
        performer.cut = shared.cut_of(number);
        let (record, lost) = performer.perform(&plan, number);
        if record.outcome == Outcome::Committed {
            shared.committed.fetch_add(1, Ordering::Relaxed);
        }
        if lost.is_some() {
            give_up(shared, &mut performer);
        }
        if options.is_judged {
            shared.log.end(Box::new(record));
        }
        if let Some(error) = lost
            && (options.faults.is_empty() || !reconnect(shared, &mut performer))
        {
            lock(&shared.lost).get_or_insert(error);
            shared.log.close();
        }
    }
}

/// Closed and noted before the transaction's end: whoever waits for that has to know that the server may still have the
/// connection, and an engine in this process has it no longer.
fn give_up(shared: &Shared<'_>, performer: &mut Performer<'_>) {
    let place = &shared.connections[performer.number as usize];
    lock(&shared.given_up).push(place.swap(NONE, Ordering::SeqCst));
    performer.session = Box::new(Closed);
}

/// Opens another connection: true; false if that did not succeed in time.
fn reconnect(shared: &Shared<'_>, performer: &mut Performer<'_>) -> bool {
    let number = performer.number as usize;
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE && !shared.options.interrupt.load(Ordering::Relaxed) {
        shared.log.wait_while_shut();
        let opened = open_session(lock(&shared.schema).as_ref(), number, shared.options.level);
        if let Ok(opened) = opened {
            shared.connections[number].store(opened.session.id(), Ordering::SeqCst);
            performer.session = opened.session;
            return true;
        }
        wait_for_interrupt(PAUSE);
    }
    false
}

/// In place of a session that was closed.
struct Closed;

impl anchorite_drivers::Session for Closed {
    fn id(&self) -> ConnectionId {
        NONE
    }

    fn submit(&mut self, _sql: &str) {}

    fn poll(&mut self) -> Option<anchorite_drivers::Reply> {
        Some(Err(DbError::connection_lost("closed")))
    }

    fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    fn cancel(&mut self) {}
}

/// A session that leaves, also by a panic, which ends the run.
struct Leaving<'l>(&'l Log);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
        self.0.leave();
    }
}
