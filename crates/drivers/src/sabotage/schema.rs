//! A schema whose sessions are sabotaged, and a watcher that may release a waiter.
//!
//! The session that maintains kept tables is not part of any case, so it is honest.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anchorite_model::{DbError, Level, SessionInfo};

use super::Sabotage;
use super::session::SabotagedSession;
use super::shared::Shared;
use super::shared_schema::SharedSchema;
use super::shared_schema::{SharedSession, lock};
use crate::{
    ConnectionId, OpenedSession, Schema, Session, SessionOptions, TargetError, Upkeep, Wait,
    Watcher,
};

/// Wraps a schema that was just created on the target.
pub(super) fn wrap(shared: &Arc<Shared>, schema: Box<dyn Schema>) -> Box<dyn Schema> {
    let location = SharedSchema::new(schema);
    shared.add_place(&location);
    Box::new(SabotagedSchema { shared: Arc::clone(shared), location })
}

struct SabotagedSchema {
    shared: Arc<Shared>,
    location: Arc<SharedSchema>,
}

impl SabotagedSchema {
    /// The session, or one that runs at a weaker level than it says.
    fn open_inner(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let schema = lock(&self.location.schema);
        let honest = schema.open(options)?;
        if self.shared.sabotage != Sabotage::WriteSkew {
            return Ok(honest);
        }
        let Some(weaker) = self.weaker_than_serializable(options, &honest.level_read_back) else {
            return Ok(honest);
        };
        let opened = schema.open(&SessionOptions { level: Some(weaker), ..options.clone() })?;
        Ok(OpenedSession { level_read_back: honest.level_read_back, ..opened })
    }

    fn weaker_than_serializable(&self, options: &SessionOptions, words: &str) -> Option<Level> {
        let info = SessionInfo {
            name: options.name.clone(),
            level: options.level,
            level_read_back: words.to_owned(),
        };
        let is_serializable = info.effective_level() == Some(Level::Serializable);
        let weaker = self.shared.levels.iter().rev().find(|level| **level < Level::Serializable);
        weaker.copied().filter(|_| is_serializable)
    }
}

impl Schema for SabotagedSchema {
    fn name(&self) -> &str {
        &self.location.name
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let opened = self.open_inner(options)?;
        let id = opened.session.id();
        let session = Arc::new(Mutex::new(opened.session));
        let key =
            lock(&self.shared.records).join(id, Arc::clone(&session), Arc::clone(&self.location));
        let session = SabotagedSession::new(Arc::clone(&self.shared), key, id, session);
        Ok(OpenedSession { session: Box::new(session), level_read_back: opened.level_read_back })
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        let watcher = lock(&self.location.schema).watcher()?;
        Ok(Box::new(SabotagedWatcher { shared: Arc::clone(&self.shared), watcher }))
    }

    fn hold_still(&self) -> Result<Box<dyn Send>, TargetError> {
        lock(&self.location.schema).hold_still()
    }

    fn upkeep(&self) -> Upkeep {
        lock(&self.location.schema).upkeep()
    }

    fn own_session(&self, lock_wait: Duration) -> Result<Box<dyn Session>, TargetError> {
        lock(&self.location.schema).own_session(lock_wait)
    }

    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError> {
        lock(&self.location.schema).tables(session, limit)
    }

    fn quote(&self, name: &str) -> String {
        lock(&self.location.schema).quote(name)
    }
}

impl Drop for SabotagedSchema {
    fn drop(&mut self) {
        self.shared.remove_schema(&self.location.name);
    }
}

struct SabotagedWatcher {
    shared: Arc<Shared>,
    watcher: Box<dyn Watcher>,
}

impl SabotagedWatcher {
    /// Takes the lock away from its holder: its transaction is committed, and another one begun, without its knowledge.
    /// The waiter continues by itself.
    fn let_through(&self, waits: &[Wait]) -> bool {
        if self.shared.sabotage != Sabotage::LockNotTaken || lock(&self.shared.records).acted {
            return false;
        }
        let robbed = waits.iter().find_map(|wait| self.robbed(wait));
        let Some((holder, location)) = robbed else { return false };
        lock(&self.shared.records).act();
        let mut holder = lock(&holder);
        self.shared.execute(&location, holder.as_mut(), "COMMIT").is_ok()
            && self.shared.execute(&location, holder.as_mut(), "BEGIN").is_ok()
    }

    /// The only holder of the lock, if it can be committed without being noticed at once.
    fn robbed(&self, wait: &Wait) -> Option<(SharedSession, Arc<SharedSchema>)> {
        let [holder] = wait.blockers.as_deref()? else { return None };
        let records = lock(&self.shared.records);
        let entry = records.entries.iter().find(|entry| entry.id == *holder && !entry.busy)?;
        let transaction = entry.transaction;
        let possible = transaction.open && !transaction.failed && !transaction.has_savepoint;
        possible.then(|| (Arc::clone(&entry.session), Arc::clone(&entry.location)))
    }
}

impl Watcher for SabotagedWatcher {
    fn method(&self) -> String {
        self.watcher.method()
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        let waits = self.watcher.waits(outstanding, all)?;
        // Nothing waits any more: the stage has to look again.
        Ok(if self.let_through(&waits) { Vec::new() } else { waits })
    }

    fn describe(&mut self, waiter: ConnectionId) -> String {
        self.watcher.describe(waiter)
    }

    fn grant_delay(&self) -> Duration {
        self.watcher.grant_delay()
    }

    fn deadlock_check(&self) -> Duration {
        self.watcher.deadlock_check()
    }

    fn look_twice(&self) -> bool {
        self.watcher.look_twice()
    }

    fn misses_waits(&self) -> bool {
        self.watcher.misses_waits()
    }
}
