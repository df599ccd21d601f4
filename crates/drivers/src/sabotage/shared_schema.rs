//! A schema of the sabotaged target. Sessions that are kept move from one to another.

use std::sync::{Arc, Mutex};

use super::shared::lock;
use crate::Schema;

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
