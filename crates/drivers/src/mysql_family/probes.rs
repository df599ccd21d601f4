//! The ways to ask a server of the MySQL protocol who waits for whom, by the names that descriptors use.

use anchorite_model::TargetInfo;
use anchorite_model::product::{Descriptor, Waits};

use super::query_watcher::QueryWatcher;
use crate::Watcher;
use crate::endpoint::Endpoint;
use crate::innodb::StatusWatcher;
use crate::mysql::DataLockWatcher;
use crate::mysql_wire::{Connection, WireError};
use crate::tidb::{LogWatcher, TidbConfig, TrxWatcher};

/// `SHOW ENGINE INNODB STATUS`.
const INNODB_STATUS: &str = "innodb-status";
/// The performance schema of MySQL 8.
const DATA_LOCKS: &str = "data-locks";
/// TiDB's debug log, where it is on this machine.
const TIDB_LOG: &str = "tidb-log";
/// TiDB's `information_schema.tidb_trx`.
const TIDB_TRX: &str = "tidb-trx";
/// The descriptor's own query.
const QUERY: &str = "query";

/// What the probes need to know about a server.
pub(super) struct Surroundings {
    tidb: Option<TidbConfig>,
}

impl Surroundings {
    pub(super) fn of(
        descriptor: &Descriptor,
        connection: &mut Connection,
    ) -> Result<Self, WireError> {
        let is_tidb = descriptor.waits.probe.iter().any(|probe| probe.name == TIDB_LOG);
        let tidb = is_tidb.then(|| TidbConfig::ask(connection)).transpose()?;
        Ok(Self { tidb })
    }

    /// How the engine is set up, if that changes its behaviour.
    pub(super) fn variant(&self) -> &str {
        self.tidb.as_ref().map_or("", TidbConfig::store)
    }

    /// The first probe that works here; the error is the last one's.
    pub(super) fn watcher(
        &self,
        info: &TargetInfo,
        endpoint: &Endpoint,
    ) -> Result<Box<dyn Watcher>, String> {
        let mut why = "nothing is known to ask".to_owned();
        let waits = &info.product.descriptor().waits;
        for probe in waits.probe.iter().filter(|probe| probe.is_for(&info.version)) {
            match self.open(&probe.name, waits, endpoint) {
                Ok(watcher) => return Ok(watcher),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    fn open(
        &self,
        name: &str,
        waits: &Waits,
        endpoint: &Endpoint,
    ) -> Result<Box<dyn Watcher>, String> {
        Ok(match name {
            INNODB_STATUS => Box::new(StatusWatcher::open(endpoint)?),
            DATA_LOCKS => Box::new(DataLockWatcher::open(endpoint)?),
            // The log may be on another machine, or not readable by us.
            TIDB_LOG => {
                let log = self.tidb.as_ref().and_then(TidbConfig::debug_log);
                let log = log.ok_or("the server writes no debug log")?;
                Box::new(LogWatcher::open(endpoint, log).map_err(|error| error.to_string())?)
            }
            TIDB_TRX => Box::new(TrxWatcher::open(endpoint)?),
            QUERY => Box::new(QueryWatcher::open(endpoint, waits)?),
            other => return Err(format!("there is no probe '{other}' for the MySQL protocol")),
        })
    }
}
