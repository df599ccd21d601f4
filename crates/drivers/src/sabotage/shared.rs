//! What the sessions of a sabotaged target share: the records, and the sabotage's own connections.
//!
//! Invariant: when control returns to the stage, none of the sabotage's own connections holds a lock that a session of
//! the case could wait for.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use anchorite_model::product::Leaves;
use anchorite_model::sql::Dialect;
use anchorite_model::{DbError, ErrorClass, Level, Rows, TargetInfo};

use super::Sabotage;
use super::aside::{Aside, Past};
use super::records::Records;
use super::shared_schema::{SharedSchema, lock};
use crate::wait::is_interrupted;
use crate::{ConnectionId, Reply, Session, SessionOptions, Watcher, read_table, wait_readable};

/// How long one of the sabotage's own statements may be silent before the server is asked whether it waits.
const SILENCE: Duration = Duration::from_millis(2);
/// How long it may take altogether.
const LIMIT: Duration = Duration::from_secs(2);
/// How long one wait for an answer lasts.
const SLICE: Duration = Duration::from_millis(1);

/// Everything that belongs to one sabotaged target.
pub(super) struct Shared {
    pub sabotage: Sabotage,
    /// Sessions run at the same time, each in a thread of its own.
    pub is_racing: bool,
    pub info: TargetInfo,
    pub levels: Vec<Level>,
    pub records: Mutex<Records>,
    /// Reads the committed state.
    side: Mutex<Option<Aside>>,
    /// Keeps a snapshot of the beginning of the overlap.
    pub past: Mutex<Past>,
    watcher: Mutex<Option<(String, Box<dyn Watcher>)>>,
    schemas: Mutex<Vec<Weak<SharedSchema>>>,
}

impl Shared {
    pub(super) fn new(info: TargetInfo, levels: Vec<Level>, sabotage: Sabotage) -> Self {
        Self {
            sabotage,
            is_racing: false,
            info,
            levels,
            records: Mutex::default(),
            side: Mutex::default(),
            past: Mutex::default(),
            watcher: Mutex::default(),
            schemas: Mutex::default(),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.info.product.dialect()
    }

    /// Whether an error inside a transaction makes all of it unusable.
    pub(super) fn errors_abort(&self) -> bool {
        self.info.product.descriptor().errors().otherwise() == Leaves::Failed
    }

    pub(super) fn add_place(&self, location: &Arc<SharedSchema>) {
        let mut schemas = lock(&self.schemas);
        schemas.retain(|location| location.strong_count() > 0);
        schemas.push(Arc::downgrade(location));
    }

    /// The schema that this statement switches its session to.
    pub(super) fn entered_by(&self, sql: &str) -> Option<Arc<SharedSchema>> {
        let schemas = lock(&self.schemas);
        let mut alive = schemas.iter().filter_map(Weak::upgrade);
        alive.find(|location| location.enter.as_deref() == Some(sql))
    }

    /// A schema is about to be dropped: connections that were opened through it end with it.
    pub(super) fn remove_schema(&self, name: &str) {
        let belongs = |aside: &mut Aside| aside.home == name || aside.whereabouts == name;
        lock(&self.side).take_if(belongs);
        lock(&self.past).end_if(belongs);
        lock(&self.watcher).take_if(|(home, _)| home == name);
    }

    /// Makes `aside` a connection in this schema.
    pub(super) fn bring(
        &self,
        aside: &mut Option<Aside>,
        location: &SharedSchema,
        level: Option<Level>,
    ) {
        if aside.as_ref().is_some_and(|aside| aside.whereabouts == location.name) {
            return;
        }
        let moved = match (aside.as_mut(), &location.enter) {
            (Some(aside), Some(enter)) => {
                let session = aside.session.as_mut();
                let moved = self.execute(location, session, enter).is_ok();
                location.name.clone_into(&mut aside.whereabouts);
                moved
            }
            _ => false,
        };
        if !moved {
            let options = SessionOptions { name: "sabotage".to_owned(), level, lock_wait: LIMIT };
            let opened = lock(&location.schema).open(&options).ok();
            *aside = opened.map(|opened| Aside {
                session: opened.session,
                home: location.name.clone(),
                whereabouts: location.name.clone(),
            });
        }
    }

    /// Queries the committed state; an error if it cannot be read at once.
    pub(super) fn ask_committed(&self, location: &SharedSchema, sql: &str) -> Reply {
        let mut side = lock(&self.side);
        self.bring(&mut side, location, None);
        let Some(aside) = side.as_mut() else {
            return Err(DbError::connection_lost("the sabotage has no connection"));
        };
        let reply = self.execute(location, aside.session.as_mut(), sql);
        side.take_if(|_| is_lost(&reply));
        reply
    }

    /// The committed rows of every table; `None` if they cannot be read at once.
    pub(super) fn committed_state(&self, location: &SharedSchema) -> Option<Vec<(String, Rows)>> {
        let mut side = lock(&self.side);
        self.bring(&mut side, location, None);
        let session = side.as_mut()?.session.as_mut();
        let mut session = Prompt { shared: self, location, session, reply: None };
        let tables = lock(&location.schema).tables(&mut session, LIMIT).ok()?;
        let read = |table: String| {
            let rows = read_table(&mut session, &location.quote(&table), LIMIT).ok()?;
            Some((table, rows))
        };
        tables.into_iter().map(read).collect()
    }

    /// Executes a statement that must not wait for a lock: one that does is cancelled.
    pub(super) fn execute(
        &self,
        location: &SharedSchema,
        session: &mut dyn Session,
        sql: &str,
    ) -> Reply {
        session.submit(sql);
        let start = Instant::now();
        let mut cancelled = false;
        loop {
            if let Some(reply) = session.poll() {
                return reply;
            }
            let elapsed = start.elapsed();
            let overdue =
                elapsed >= LIMIT || is_interrupted() || self.is_waiting(location, session, elapsed);
            if overdue && !cancelled {
                session.cancel();
                cancelled = true;
            }
            // At full speed others go on to use the connection until they have noticed.
            let gives_up = cancelled && is_interrupted() && !self.is_racing;
            if elapsed >= LIMIT + LIMIT || gives_up {
                return Err(DbError::connection_lost("the sabotage got no answer"));
            }
            match session.fd() {
                Some(fd) => wait_readable(&[fd], SLICE),
                // An engine in this process is asked again at once.
                None => std::thread::yield_now(),
            }
        }
    }

    /// Whether somebody waits for this session, as far as the server says.
    pub(super) fn is_waited_for(&self, location: &SharedSchema, own: ConnectionId) -> bool {
        let all: Vec<ConnectionId> =
            lock(&self.records).entries.iter().map(|entry| entry.id).collect();
        let others: Vec<ConnectionId> = all.iter().copied().filter(|id| *id != own).collect();
        let mut watcher = lock(&self.watcher);
        if !self.has_watcher(&mut watcher, location) {
            return false;
        }
        let waits = watcher.as_mut().map(|(_, watcher)| watcher.waits(&others, &all));
        let Some(Ok(waits)) = waits else { return false };
        let mut blockers = waits.iter().flat_map(|wait| wait.blockers.as_deref().unwrap_or(&[]));
        blockers.any(|id| *id == own)
    }

    /// Makes sure that there is a watcher for this schema.
    fn has_watcher(
        &self,
        watcher: &mut Option<(String, Box<dyn Watcher>)>,
        location: &SharedSchema,
    ) -> bool {
        // Where sessions cannot move, a watcher sees only its own schema.
        watcher.take_if(|(home, _)| location.enter.is_none() && *home != location.name);
        if watcher.is_none() {
            // The schema is locked while its tables are listed.
            let Ok(schema) = location.schema.try_lock() else { return false };
            *watcher = schema.watcher().ok().map(|watcher| (location.name.clone(), watcher));
        }
        watcher.is_some()
    }

    fn is_waiting(
        &self,
        location: &SharedSchema,
        session: &dyn Session,
        silent_for: Duration,
    ) -> bool {
        // An engine in this process knows at once.
        if session.fd().is_some() && silent_for < SILENCE {
            return false;
        }
        let mut watcher = lock(&self.watcher);
        // Without one the time limit has to suffice.
        if !self.has_watcher(&mut watcher, location) {
            return false;
        }
        let id: ConnectionId = session.id();
        let waits = watcher.as_mut().map(|(_, watcher)| watcher.waits(&[id], &[id]));
        matches!(waits, Some(Ok(waits)) if !waits.is_empty())
    }
}

/// Whether the connection is of no use any more.
fn is_lost(reply: &Reply) -> bool {
    matches!(reply, Err(error) if error.class == ErrorClass::ConnectionLost)
}

/// A session whose statements do not wait, for [`crate::Schema::tables`].
struct Prompt<'a> {
    shared: &'a Shared,
    location: &'a SharedSchema,
    session: &'a mut dyn Session,
    reply: Option<Reply>,
}

impl Session for Prompt<'_> {
    fn id(&self) -> ConnectionId {
        self.session.id()
    }

    fn submit(&mut self, sql: &str) {
        self.reply = Some(self.shared.execute(self.location, self.session, sql));
    }

    fn poll(&mut self) -> Option<Reply> {
        self.reply.take()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn cancel(&mut self) {}
}
