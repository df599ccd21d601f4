//! The run's own database file, in a temporary folder, with the sessions that use it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anchorite_model::{DbError, Level, TargetInfo, Value};
use rusqlite::{Connection, OpenFlags};
use rustix::event::{EventfdFlags, eventfd};

use super::folder::Folder;
use super::session::SqliteSession;
use super::shared_state::SharedState;
use super::worker::Worker;
use super::{Variant, marked};
use crate::{
    ConnectionId, OpenedSession, Schema, Session, SessionOptions, TargetError, Upkeep, Wait,
    Watcher, execute,
};

/// One database file.
pub(super) struct SqliteSchema {
    variant: Variant,
    info: TargetInfo,
    name: String,
    folder: Arc<Folder>,
    shared_state: Arc<SharedState>,
}

impl SqliteSchema {
    /// Makes the folder and the file.
    pub(super) fn create(variant: Variant, info: TargetInfo) -> Result<Self, TargetError> {
        let failed = |reason: String| TargetError::Prepare { target: info.to_string(), reason };
        let folder = marked::create().map_err(|error| failed(error.to_string()))?;
        let folder = Arc::new(Folder::of(folder));
        let name = folder.database().display().to_string();
        let shared_state = Arc::new(SharedState::new(variant));
        let schema = Self { variant, info: info.clone(), name, folder, shared_state };
        let journal = if variant == Variant::Wal { "wal" } else { "delete" };
        schema
            .connect()
            .and_then(|connection| connection.pragma_update(None, "journal_mode", journal))
            .map_err(|error| failed(error.to_string()))?;
        Ok(schema)
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let mut flags = OpenFlags::default();
        flags.set(OpenFlags::SQLITE_OPEN_SHARED_CACHE, self.variant == Variant::SharedCache);
        let connection = Connection::open_with_flags(self.folder.database(), flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.pragma_update(None, "synchronous", "off")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(connection)
    }

    fn open_thread(&self, options: &SessionOptions) -> Result<OpenedSession, String> {
        let failed = |error: rusqlite::Error| error.to_string();
        let connection = self.connect().map_err(failed)?;
        let reads_uncommitted = options.level == Some(Level::ReadUncommitted);
        connection.pragma_update(None, "read_uncommitted", reads_uncommitted).map_err(failed)?;
        let (reads_uncommitted, level_read_back) = self.read_back(&connection).map_err(failed)?;
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let wake_up = Arc::new(eventfd(0, flags).map_err(|error| error.to_string())?);
        let interrupt = connection.get_interrupt_handle();
        let id = self.shared_state.join(options.lock_wait, Arc::clone(&wake_up));
        let mut session = SqliteSession {
            shared_state: Arc::clone(&self.shared_state),
            id,
            interrupt,
            wake_up,
            thread: None,
            _folder: Arc::clone(&self.folder),
        };
        let shared_state = Arc::clone(&self.shared_state);
        let worker = Worker::new(connection, shared_state, id, self.variant, reads_uncommitted)
            .map_err(failed)?;
        let thread = thread::Builder::new()
            .name(format!("sqlite {}", options.name))
            .spawn(move || worker.run())
            .map_err(|error| error.to_string())?;
        session.thread = Some(thread);
        Ok(OpenedSession { session: Box::new(session), level_read_back })
    }

    /// Whether the session reads uncommitted rows, and its level in words.
    fn read_back(&self, connection: &Connection) -> rusqlite::Result<(bool, String)> {
        let uncommitted =
            connection.pragma_query_value(None, "read_uncommitted", |row| row.get::<_, bool>(0))?;
        let journal: String =
            connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        let level = if uncommitted { Level::ReadUncommitted } else { Level::Serializable };
        let how = match (self.variant, journal.as_str()) {
            (Variant::SharedCache, _) => "shared cache",
            (_, "wal") => "write-ahead log",
            (_, "delete") => "rollback journal",
            (_, other) => other,
        };
        Ok((uncommitted, format!("{level} ({how})")))
    }
}

impl Schema for SqliteSchema {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, options: &SessionOptions) -> Result<OpenedSession, TargetError> {
        let available = self.variant.levels();
        if let Some(level) = options.level.filter(|level| !available.contains(level)) {
            return Err(TargetError::unsupported(&self.info, level, available));
        }
        let opened = self.open_thread(options).map_err(|reason| TargetError::Prepare {
            target: self.info.to_string(),
            reason: format!("cannot open a session: {reason}"),
        })?;
        match options.level {
            Some(asked) if !opened.level_read_back.starts_with(asked.name()) => {
                Err(TargetError::LevelMismatch {
                    target: self.info.to_string(),
                    asked,
                    read_back: opened.level_read_back,
                })
            }
            _ => Ok(opened),
        }
    }

    fn watcher(&self) -> Result<Box<dyn Watcher>, TargetError> {
        Ok(Box::new(SqliteWatcher {
            shared_state: Arc::clone(&self.shared_state),
            variant: self.variant,
        }))
    }

    fn upkeep(&self) -> Upkeep {
        let before_delete = vec!["PRAGMA defer_foreign_keys = ON".to_owned()];
        Upkeep { before_delete, ..Upkeep::default() }
    }

    fn tables(&self, session: &mut dyn Session, limit: Duration) -> Result<Vec<String>, DbError> {
        let sql = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' \
                   AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
        let answer = execute(session, sql, limit)?;
        let rows = answer.results.into_iter().flat_map(|result| result.rows);
        let names = rows.filter_map(|row| match row.into_iter().next() {
            Some(Value::Text(name)) => Some(name),
            _ => None,
        });
        Ok(names.collect())
    }

    fn quote(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Knows who waits, because SQLite told it.
struct SqliteWatcher {
    shared_state: Arc<SharedState>,
    variant: Variant,
}

impl Watcher for SqliteWatcher {
    fn method(&self) -> String {
        match self.variant {
            Variant::Journal | Variant::Wal => "SQLite's busy handler".to_owned(),
            Variant::SharedCache => "SQLITE_LOCKED_SHAREDCACHE".to_owned(),
        }
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        _all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        Ok(self.shared_state.waits(outstanding))
    }
}
