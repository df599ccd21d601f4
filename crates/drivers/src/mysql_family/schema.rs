//! The run's own database.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anchorite_model::{DbError, Level};

use super::session::{self, OpenConnections};
use super::{Server, marked};
use crate::away::reach;
use crate::mark::Mark;
use crate::mysql_control::{CONTROL_LIMIT, text};
use crate::mysql_wire::Connection;
use crate::{
    OpenedSession, Schema, Session, SessionOptions, TargetError, Upkeep, Watcher, execute, heed,
    settings,
};

pub(super) fn create(server: &Arc<Server>) -> Result<Box<dyn Schema>, TargetError> {
    // A connection that is abandoned in the middle of this would leave a database behind.
    let _unheeded = heed(None);
    let name = Mark::next().to_string();
    let mut control = Connection::open(&server.endpoint)?;
    let create = format!("CREATE DATABASE {name}");
    let schema =
        FamilySchema { server: Arc::clone(server), name, open: OpenConnections::default() };
    control
        .query(&create, CONTROL_LIMIT)
        .map_err(|error| TargetError::cannot_create(&server.info, "CREATE DATABASE", error))?;
    Ok(Box::new(schema))
}

struct FamilySchema {
    server: Arc<Server>,
    name: String,
    open: OpenConnections,
}

impl Schema for FamilySchema {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        session::open(&self.server, &self.name, &self.open, options, Connection::open)
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        let watcher = self.server.watcher();
        watcher.map_err(|reason| self.server.cannot_prepare(reason))
    }

    fn hold_still(&self) -> Result<Box<dyn Send>, TargetError> {
        let Some(sql) = self.server.stillness() else { return Ok(Box::new(())) };
        let mut session = self.own_session(CONTROL_LIMIT)?;
        execute(session.as_mut(), sql, CONTROL_LIMIT)
            .map_err(|error| self.server.cannot_prepare(error.message))?;
        Ok(Box::new(session))
    }

    fn upkeep(&self) -> Upkeep {
        let name = &self.name;
        let server = &self.server;
        let owned = |statements: &[&str]| statements.iter().map(|&sql| sql.to_owned()).collect();
        Upkeep {
            enter: Some(format!("USE {name}")),
            clear: ["DROP DATABASE", "CREATE DATABASE"].map(|verb| format!("{verb} {name}")).into(),
            before_delete: owned(&["SET foreign_key_checks = 0"]),
            after_delete: owned(&["SET foreign_key_checks = 1"]),
            stillness: owned(server.stillness().as_slice()),
            purge: server.purge(),
            worn_after: None,
        }
    }

    fn own_session(&self, lock_wait: Duration) -> Result<Box<dyn Session>, TargetError> {
        let level = self.server.stillness().map(|_| Level::RepeatableRead);
        let options = SessionOptions { name: "own_session".to_owned(), level, lock_wait };
        let (server, open) = (&self.server, &self.open);
        let opened = session::open(server, &self.name, open, &options, Connection::open_multi)?;
        Ok(opened.session)
    }

    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError> {
        let sql = format!(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' \
             AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')",
            self.name
        );
        let answer = execute(session, &sql, limit)?;
        let mut names: Vec<_> =
            super::rows(&answer, 0).iter().filter_map(|row| text(row.first()?)).collect();
        names.sort();
        Ok(names)
    }

    fn settings(&self, session: &mut dyn Session, limit: Duration) -> Vec<(String, String)> {
        settings::read(self.server.info.product, session, limit)
    }

    fn quote(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }
}

/// Ends what is left of the run's sessions, then drops the database. If that fails, for instance because the server is
/// away, the name tells the next command whose it was.
impl Drop for FamilySchema {
    fn drop(&mut self) {
        let _unheeded = heed(None);
        let Some(mut control) = reach(&self.server.endpoint, Connection::open) else { return };
        let left = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = marked::drop_database(&self.server, &mut control, &self.name, left);
    }
}
