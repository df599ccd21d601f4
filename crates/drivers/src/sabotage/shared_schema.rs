//! A schema of the sabotaged target. Sessions that are kept move from one to another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Schema, Session};

/// A session of the case: its wrapper and the sabotage take turns using it.
pub(super) type SharedSession = Arc<Mutex<Box<dyn Session>>>;

/// A lock that a panic has poisoned is as good as any other: the data behind it is consistent.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A schema, shared by its wrapper and by the sessions that are in it.
pub(super) struct SharedSchema {
    /// Its name on the server.
    pub name: String,
    /// The statement that moves a session into it, where sessions can move.
    pub enter: Option<String>,
    pub schema: Mutex<Box<dyn Schema>>,
}

impl SharedSchema {
    pub(super) fn new(schema: Box<dyn Schema>) -> Arc<Self> {
        let name = schema.name().to_owned();
        let enter = schema.upkeep().enter;
        Arc::new(Self { name, enter, schema: Mutex::new(schema) })
    }

    pub(super) fn quote(&self, name: &str) -> String {
        lock(&self.schema).quote(name)
    }
}
