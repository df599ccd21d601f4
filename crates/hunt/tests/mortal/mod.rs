//! An SQLite that can die like a server: its sessions lose their connections, and new ones are refused.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anchorite_drivers::{
    ConnectionId, OpenedSession, Reply, Schema, Session, SessionOptions, Target, TargetError,
    Upkeep, Watcher, open,
};
use anchorite_hunt::ServerControl;
use anchorite_hunt::ending::End;
use anchorite_model::{DbError, Level, TargetInfo};

/// A statement with this remark kills the server.
pub const DEADLY: &str = "/* deadly */";
/// What it may say in its log.
pub const COMPLAINT: &str = "assertion failed: i < n, and the page is corrupt";
/// A server that comes back is refused this often before.
const REFUSALS: usize = 3;

/// How a server dies.
#[derive(Debug, Clone, Copy)]
pub struct Story {
    /// Of the statement with the remark, each time.
    pub dies_of_case: bool,
    /// After so many statements, once.
    pub dies_after: Option<usize>,
    /// How its process ends.
    pub end: End,
    /// Whether it never comes back by itself.
    pub stays_away: bool,
    /// Whether it lives in our process, and takes it along.
    pub takes_us_along: bool,
    /// Whether our own signal comes a moment after its end was noticed.
    pub interrupts: bool,
    /// Whether it does not die, but complains in its log.
    pub only_complains: bool,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            dies_of_case: false,
            dies_after: None,
            end: End::Unknown,
            stays_away: false,
            takes_us_along: false,
            interrupts: false,
            only_complains: false,
        }
    }
}

/// What is behind all targets of one server.
pub struct Server {
    story: Story,
    sqlite: Box<dyn Target>,
    life: Mutex<Arc<AtomicBool>>,
    statements: AtomicUsize,
    interrupt: Mutex<Option<Arc<AtomicBool>>>,
    has_complained: AtomicBool,
}

impl Server {
    pub fn new(story: Story) -> Arc<Self> {
        Arc::new(Self {
            story,
            sqlite: open("sqlite").expect("it is built in"),
            life: Mutex::new(Arc::new(AtomicBool::new(true))),
            statements: AtomicUsize::new(0),
            interrupt: Mutex::default(),
            has_complained: AtomicBool::new(false),
        })
    }

    /// The flag that is raised some time after its end, if the story says so.
    pub fn tell_when_it_dies(&self, interrupt: Arc<AtomicBool>) {
        *self.interrupt.lock().expect("no panic") = Some(interrupt);
    }

    /// A connection to its present life.
    pub fn target(self: &Arc<Self>) -> Arc<dyn Target> {
        let life = Arc::clone(&self.life.lock().expect("no panic"));
        Arc::new(Mortal { server: Arc::clone(self), life })
    }

    fn is_alive(&self) -> bool {
        self.life.lock().expect("no panic").load(Ordering::SeqCst)
    }

    fn revive(&self) {
        *self.life.lock().expect("no panic") = Arc::new(AtomicBool::new(true));
    }

    /// Whether the server dies of this statement.
    fn is_deadly(&self, sql: &str) -> bool {
        let count = self.statements.fetch_add(1, Ordering::SeqCst) + 1;
        let complains = self.story.only_complains && sql.contains(DEADLY);
        self.has_complained.fetch_or(complains, Ordering::SeqCst);
        self.story.dies_of_case && sql.contains(DEADLY) || self.story.dies_after == Some(count)
    }

    fn die(&self, life: &AtomicBool) {
        if self.story.takes_us_along {
            std::process::abort();
        }
        life.store(false, Ordering::SeqCst);
    }

    /// Somebody was told that it has ended.
    fn is_noticed(&self) {
        let interrupt = self.interrupt.lock().expect("no panic").clone();
        if let Some(interrupt) = interrupt.filter(|_| self.story.interrupts) {
            // By another thread, so that whoever noticed goes on first.
            std::thread::spawn(move || interrupt.store(true, Ordering::SeqCst));
        }
    }
}

/// Looks after the server.
pub struct Doctor {
    pub server: Arc<Server>,
    pub is_ours: bool,
    pub asked: Arc<AtomicUsize>,
}

impl ServerControl for Doctor {
    fn is_ours(&self) -> bool {
        self.is_ours
    }

    fn ended_within(&self, _: Duration) -> Option<End> {
        if self.server.is_alive() {
            return None;
        }
        self.server.is_noticed();
        Some(self.server.story.end)
    }

    fn log_tail(&self) -> Option<String> {
        let complains = self.server.has_complained.load(Ordering::SeqCst);
        let line = if complains { COMPLAINT } else { "all is well" };
        self.is_ours.then(|| format!("from its log:\n  {line}"))
    }

    fn open(&self) -> Result<Arc<dyn Target>, String> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        if !self.server.is_alive() && (self.server.story.stays_away || asked < REFUSALS) {
            return Err("connection refused".to_owned());
        }
        if !self.server.is_alive() {
            self.server.revive();
        }
        Ok(self.server.target())
    }

    fn restart(&mut self) -> Result<Arc<dyn Target>, String> {
        self.server.revive();
        Ok(self.server.target())
    }
}

struct Mortal {
    server: Arc<Server>,
    life: Arc<AtomicBool>,
}

impl Mortal {
    fn check(&self) -> Result<(), TargetError> {
        let refused = || TargetError::Connect {
            endpoint: "mortal".to_owned(),
            reason: "connection refused".to_owned(),
        };
        if self.life.load(Ordering::SeqCst) { Ok(()) } else { Err(refused()) }
    }
}

impl Target for Mortal {
    fn info(&self) -> &TargetInfo {
        self.server.sqlite.info()
    }

    fn levels(&self) -> &[Level] {
        self.server.sqlite.levels()
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        self.check()?;
        let (server, life) = (Arc::clone(&self.server), Arc::clone(&self.life));
        let inner = self.server.sqlite.create_schema()?;
        Ok(Box::new(MortalSchema { target: Mortal { server, life }, inner }))
    }
}

struct MortalSchema {
    target: Mortal,
    inner: Box<dyn Schema>,
}

impl Schema for MortalSchema {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        self.target.check()?;
        let OpenedSession { session, level_read_back } = self.inner.open(options)?;
        let (server, life) = (Arc::clone(&self.target.server), Arc::clone(&self.target.life));
        let session = Box::new(MortalSession { inner: session, server, life });
        Ok(OpenedSession { session, level_read_back })
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        self.target.check()?;
        self.inner.watcher()
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

struct MortalSession {
    inner: Box<dyn Session>,
    server: Arc<Server>,
    life: Arc<AtomicBool>,
}

impl Session for MortalSession {
    fn id(&self) -> ConnectionId {
        self.inner.id()
    }

    fn submit(&mut self, sql: &str) {
        if self.server.is_deadly(sql) {
            self.server.die(&self.life);
        }
        if self.life.load(Ordering::SeqCst) {
            self.inner.submit(sql);
        }
    }

    fn poll(&mut self) -> Option<Reply> {
        if self.life.load(Ordering::SeqCst) {
            return self.inner.poll();
        }
        Some(Err(DbError::connection_lost("the server closed the connection")))
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.fd()
    }

    fn cancel(&mut self) {
        self.inner.cancel();
    }
}
