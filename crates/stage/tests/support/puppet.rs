//! A target that does what a test tells it: statements that hang, waits that are not shown.
//!
//! `WAIT` is answered after somebody has said `RELEASE`; `HANG` when it is cancelled, unless the puppet is deaf;
//! everything else at once. After `REFUSE` a ROLLBACK fails and leaves the transaction open. There are no tables.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use anchorite_drivers::{
    ConnectionId, OpenedSession, Reply, Schema, Session, SessionOptions, Target, TargetError,
    Upkeep, Wait, Watcher,
};
use anchorite_model::{Answer, DbError, Level, Product, TargetInfo};

/// What the watcher shows.
#[derive(Clone)]
pub struct Shows {
    /// Whether this look shows the statements that wait.
    pub waits: fn(look: usize, released: bool) -> bool,
    /// What the watcher says about itself.
    pub misses_waits: bool,
    /// Called at every look.
    pub at_look: Arc<dyn Fn(usize) + Send + Sync>,
}

#[derive(Default)]
struct State {
    statements: Vec<(ConnectionId, String)>,
    cancelled: Vec<ConnectionId>,
    released: bool,
    refuses: bool,
    rollbacks: usize,
    sessions: u64,
    looks: usize,
}

/// The target.
pub struct Puppet {
    info: TargetInfo,
    shows: Shows,
    is_deaf: bool,
    state: Arc<Mutex<State>>,
}

impl Puppet {
    pub fn new(shows: Shows, is_deaf: bool) -> Self {
        let (version, variant) = ("1".to_owned(), String::new());
        let info = TargetInfo { product: Product::named("cockroach"), version, variant };
        Self { info, shows, is_deaf, state: Arc::default() }
    }

    /// How many times it was told to roll back.
    pub fn rollbacks(&self) -> usize {
        lock(&self.state).rollbacks
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no thread panicked")
}

impl Target for Puppet {
    fn info(&self) -> &TargetInfo {
        &self.info
    }

    fn levels(&self) -> &[Level] {
        &[Level::Serializable]
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        let (shows, is_deaf) = (self.shows.clone(), self.is_deaf);
        Ok(Box::new(PuppetSchema { shows, is_deaf, state: Arc::clone(&self.state) }))
    }
}

struct PuppetSchema {
    shows: Shows,
    is_deaf: bool,
    state: Arc<Mutex<State>>,
}

impl Schema for PuppetSchema {
    fn name(&self) -> &str {
        "puppet"
    }

    fn open(&self, _options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let mut state = lock(&self.state);
        state.sessions += 1;
        let (id, is_deaf) = (state.sessions, self.is_deaf);
        let session = Box::new(PuppetSession { id, is_deaf, state: Arc::clone(&self.state) });
        Ok(OpenedSession { session, level_read_back: "serializable".to_owned() })
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        let (shows, state) = (self.shows.clone(), Arc::clone(&self.state));
        Ok(Box::new(PuppetWatcher { shows, state }))
    }

    fn upkeep(&self) -> Upkeep {
        Upkeep::default()
    }

    fn tables(&self, _: &mut dyn Session, _: Duration) -> Result<Vec<String>, DbError> {
        Ok(Vec::new())
    }

    fn quote(&self, name: &str) -> String {
        name.to_owned()
    }
}

struct PuppetSession {
    id: ConnectionId,
    is_deaf: bool,
    state: Arc<Mutex<State>>,
}

impl Session for PuppetSession {
    fn id(&self) -> ConnectionId {
        self.id
    }

    fn submit(&mut self, sql: &str) {
        let mut state = lock(&self.state);
        state.released |= sql == "RELEASE";
        state.refuses |= sql == "REFUSE";
        state.rollbacks += usize::from(sql == "ROLLBACK");
        state.statements.push((self.id, sql.to_owned()));
    }

    fn poll(&mut self) -> Option<Reply> {
        let mut state = lock(&self.state);
        let at = state.statements.iter().position(|(id, _)| *id == self.id)?;
        let is_cancelled = state.cancelled.contains(&self.id) && !self.is_deaf;
        let is_answered = match state.statements[at].1.as_str() {
            "WAIT" => state.released,
            "HANG" => false,
            _ => true,
        };
        if !is_answered && !is_cancelled {
            return None;
        }
        let (_, sql) = state.statements.remove(at);
        if state.refuses && sql == "ROLLBACK" {
            return Some(Err(DbError { in_transaction: Some(true), ..DbError::default() }));
        }
        state.cancelled.retain(|id| *id != self.id);
        Some(if is_answered { Ok(Answer::default()) } else { Err(DbError::default()) })
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn cancel(&mut self) {
        lock(&self.state).cancelled.push(self.id);
    }
}

struct PuppetWatcher {
    shows: Shows,
    state: Arc<Mutex<State>>,
}

impl Watcher for PuppetWatcher {
    fn method(&self) -> String {
        "a puppet".to_owned()
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        _all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        let (look, released) = {
            let mut state = lock(&self.state);
            state.looks += 1;
            (state.looks, state.released)
        };
        (self.shows.at_look)(look);
        let shown = if (self.shows.waits)(look, released) { outstanding } else { &[] };
        let wait = |id: &ConnectionId| Wait { waiter: *id, blockers: None, kind: "lock".into() };
        Ok(shown.iter().map(wait).collect())
    }

    fn misses_waits(&self) -> bool {
        self.shows.misses_waits
    }
}
