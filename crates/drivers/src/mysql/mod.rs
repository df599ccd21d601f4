//! MySQL 5.6 and later.
//!
//! Levels: the four of the standard.
//!
//! Waits: from 8.0 on the performance schema is asked (`data_lock_waits`, with the metadata locks), before
//! that InnoDB's status, as for MariaDB.

mod data_locks;
mod watcher;

use std::time::Duration;

use anchorite_model::Level;

use crate::endpoint::Endpoint;
use crate::innodb::{self, StatusWatcher};
use crate::mysql_family::{Dialect, ReadBack};
use crate::mysql_wire::{Connection, WireError};
use crate::{PurgeQuestion, Watcher};

use watcher::DataLockWatcher;

const LEVELS: [Level; 4] =
    [Level::ReadUncommitted, Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

pub(crate) struct Mysql {
    isolation_variable: &'static str,
    has_data_lock_waits: bool,
}

impl Mysql {
    pub(crate) fn recognise(connection: &mut Connection, version: &str) -> Result<Self, WireError> {
        let major: u32 =
            version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
        Ok(Self {
            isolation_variable: innodb::isolation_variable(connection)?,
            has_data_lock_waits: major >= 8,
        })
    }
}

impl Dialect for Mysql {
    fn levels(&self) -> &[Level] {
        &LEVELS
    }

    fn settings(&self, level: Option<Level>, lock_wait: Duration) -> Vec<String> {
        innodb::settings(level, lock_wait)
    }

    fn read_back(&self, connection: &mut Connection) -> Result<ReadBack, WireError> {
        innodb::read_back(connection, self.isolation_variable)
    }

    fn stillness(&self) -> Option<&str> {
        Some(innodb::STILLNESS)
    }

    fn purge(&self) -> Option<PurgeQuestion> {
        Some(innodb::PURGE)
    }

    fn watcher(&self, endpoint: &Endpoint) -> Result<Box<dyn Watcher>, String> {
        if self.has_data_lock_waits {
            Ok(Box::new(DataLockWatcher::open(endpoint)?))
        } else {
            Ok(Box::new(StatusWatcher::open(endpoint)?))
        }
    }
}
