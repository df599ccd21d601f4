//! Asking TiDB 4.0 and later who waits for whom.
//!
//! The debug log where the server writes one that can be read here (exact), else `information_schema.tidb_trx`, else
//! (before 5.1) the server cannot be asked. Its configuration says which log and which store it has.

mod ddl;
mod follow;
mod log;
mod log_watcher;
mod processes;
mod trx_watcher;

use std::path::{Path, PathBuf};

use crate::mysql_control::variable;
use crate::mysql_wire::{Connection, WireError};

pub(crate) use log_watcher::LogWatcher;
pub(crate) use trx_watcher::TrxWatcher;

/// What a server's configuration tells.
pub(crate) struct TidbConfig {
    store: String,
    debug_log: Option<PathBuf>,
}

impl TidbConfig {
    pub(crate) fn ask(connection: &mut Connection) -> Result<Self, WireError> {
        let config = match variable(connection, "tidb_config") {
            // Without the right to read it.
            Err(WireError::Server(_)) => None,
            other => other?,
        };
        Ok(Self::read(&config.unwrap_or_default()))
    }

    /// Reads the server's configuration, which is JSON.
    fn read(config: &str) -> Self {
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

    /// The log that tells who waits for whom.
    pub(crate) fn debug_log(&self) -> Option<&Path> {
        self.debug_log.as_deref()
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
            let tidb = TidbConfig::read(config);
            assert_eq!(tidb.store(), store, "{config}");
            assert_eq!(tidb.debug_log(), debug_log.map(Path::new), "{config}");
        }
    }
}
