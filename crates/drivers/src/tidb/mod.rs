//! TiDB 4.0 and later.
//!
//! Levels: read committed and repeatable read, which is snapshot isolation under its MySQL name. With
//! `tidb_skip_isolation_level_check=1` other levels are accepted and read back as set although nothing
//! changes, so they are never asked for, and one that a server has as its default is reported.
//!
//! Sessions run in pessimistic mode, which versions have as their default or not, and the level that is
//! read back says so. Statements outside BEGIN … COMMIT are optimistic at first in any mode.
//!
//! Waits: the debug log where the server writes one that can be read here (exact), else
//! `information_schema.tidb_trx`, else (before 5.1) the server cannot be asked.

mod ddl;
mod follow;
mod log;
mod log_watcher;
mod processes;
mod trx_watcher;

use std::path::PathBuf;
use std::time::Duration;

use anchorite_model::Level;

use crate::endpoint::Endpoint;
use crate::mysql_family::{CONTROL_LIMIT, Dialect, ReadBack, first_text, variable};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, Watcher};

use log_watcher::LogWatcher;
use trx_watcher::TrxWatcher;

const LEVELS: [Level; 2] = [Level::ReadCommitted, Level::RepeatableRead];
/// The largest value of `innodb_lock_wait_timeout` here.
const LOCK_WAIT_SECONDS_MAX: u64 = 3600;

pub(crate) struct Tidb {
    store: String,
    debug_log: Option<PathBuf>,
}

impl Tidb {
    pub(crate) fn recognise(connection: &mut Connection) -> Result<Self, WireError> {
        let config = match variable(connection, "tidb_config") {
            // Without the right to read it.
            Err(WireError::Server(_)) => None,
            other => other?,
        };
        Ok(Self::from_config(&config.unwrap_or_default()))
    }

    /// Reads the server's configuration, which is JSON.
    fn from_config(config: &str) -> Self {
        let config: serde_json::Value = serde_json::from_str(config).unwrap_or_default();
        let text = |pointer| config.pointer(pointer).and_then(serde_json::Value::as_str);
        let store = text("/store").filter(|store| *store != "tikv");
        let is_debug = text("/log/level") == Some("debug");
        let log = text("/log/file/filename").filter(|path| is_debug && !path.is_empty());
        Self { store: store.unwrap_or_default().to_owned(), debug_log: log.map(PathBuf::from) }
    }

    /// The embedded store, whose behaviour differs from a cluster's; empty for a cluster.
    pub(crate) fn store(&self) -> &str {
        &self.store
    }
}

impl Dialect for Tidb {
    fn levels(&self) -> &[Level] {
        &LEVELS
    }

    fn settings(&self, level: Option<Level>, lock_wait: Duration) -> Vec<String> {
        let seconds = (lock_wait.as_secs_f64().ceil() as u64).clamp(1, LOCK_WAIT_SECONDS_MAX);
        let level =
            level.map(|level| format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", level.sql()));
        let rest = format!(
            "SET SESSION autocommit = 1, SESSION innodb_lock_wait_timeout = {seconds}, \
             SESSION lock_wait_timeout = {seconds}, SESSION tidb_txn_mode = 'pessimistic'"
        );
        level.into_iter().chain([rest]).collect()
    }

    fn read_back(&self, connection: &mut Connection) -> Result<ReadBack, WireError> {
        let said = variable(connection, "tx_isolation")?.unwrap_or_default();
        let mode = variable(connection, "tidb_txn_mode")?.unwrap_or_default();
        let level = said.parse().ok().filter(|level| LEVELS.contains(level));
        let words = match level {
            Some(_) => format!("{said} ({mode})"),
            // Whatever else it says, it does this.
            None => format!("REPEATABLE-READ ({mode}; {said} is set, and not implemented)"),
        };
        Ok(ReadBack { levels: level.into_iter().collect(), words })
    }

    /// The greeting has room for 32 bits only.
    fn connection_id(&self, connection: &mut Connection) -> Result<ConnectionId, WireError> {
        let answer = connection.query("SELECT CONNECTION_ID()", CONTROL_LIMIT)?;
        let id = first_text(&answer).and_then(|id| id.parse().ok());
        Ok(id.unwrap_or_else(|| connection.greeted_id().into()))
    }

    /// Plain `KILL` is refused by older versions, whose ids may be another instance's behind a proxy.
    fn kill(&self, id: ConnectionId, only_statement: bool) -> String {
        format!("KILL TIDB {}{id}", if only_statement { "QUERY " } else { "" })
    }

    fn watcher(&self, endpoint: &Endpoint) -> Result<Box<dyn Watcher>, String> {
        // The log may be on another machine, or not ours to read.
        if let Some(log) = &self.debug_log
            && let Ok(watcher) = LogWatcher::open(endpoint, log)
        {
            return Ok(Box::new(watcher));
        }
        Ok(Box::new(TrxWatcher::open(endpoint)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_tells_the_store_and_the_debug_log() {
        let log = |level: &str| {
            format!(
                r#"{{"store": "unistore", "log": {{"level": "{level}", "file": {{"filename": "/d/l"}}}}}}"#
            )
        };
        for (config, store, debug_log) in [
            (log("debug").as_str(), "unistore", Some("/d/l")),
            (log("info").as_str(), "unistore", None),
            (r#"{"store": "tikv", "log": {"level": "debug", "file": {"filename": ""}}}"#, "", None),
            ("", "", None),
        ] {
            let tidb = Tidb::from_config(config);
            assert_eq!(tidb.store(), store, "{config}");
            assert_eq!(tidb.debug_log, debug_log.map(PathBuf::from), "{config}");
        }
    }
}
