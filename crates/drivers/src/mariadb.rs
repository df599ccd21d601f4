//! MariaDB 10.5 and later.
//!
//! Levels: the four of the standard, and snapshot isolation where the server has
//! `innodb_snapshot_isolation` (10.6.18, 10.11.8, 11.1 and later; from 11.6 on it is ON by default, and
//! then repeatable read is snapshot isolation: the level that is read back says so).
//!
//! Waits: `SHOW ENGINE INNODB STATUS`, and `SHOW PROCESSLIST` for whom that does not explain.

use std::time::Duration;

use anchorite_model::Level;

use crate::endpoint::Endpoint;
use crate::innodb::{self, StatusWatcher};
use crate::mysql_family::{Dialect, ReadBack, variable};
use crate::mysql_wire::{Connection, WireError};
use crate::{PurgeQuestion, Watcher};

const SNAPSHOT_ISOLATION: &str = "innodb_snapshot_isolation";

pub(crate) struct Mariadb {
    levels: Vec<Level>,
    isolation_variable: &'static str,
}

impl Mariadb {
    pub(crate) fn recognise(connection: &mut Connection) -> Result<Self, WireError> {
        let has_snapshot = variable(connection, SNAPSHOT_ISOLATION)?.is_some();
        let has_level = |level: &Level| has_snapshot || *level != Level::Snapshot;
        Ok(Self {
            levels: Level::ALL.into_iter().filter(has_level).collect(),
            isolation_variable: innodb::isolation_variable(connection)?,
        })
    }
}

impl Dialect for Mariadb {
    fn levels(&self) -> &[Level] {
        &self.levels
    }

    fn settings(&self, level: Option<Level>, lock_wait: Duration) -> Vec<String> {
        match level {
            Some(Level::Snapshot) => {
                let mut settings = innodb::settings(Some(Level::RepeatableRead), lock_wait);
                settings.push(format!("SET SESSION {SNAPSHOT_ISOLATION} = ON"));
                settings
            }
            level => innodb::settings(level, lock_wait),
        }
    }

    fn read_back(&self, connection: &mut Connection) -> Result<ReadBack, WireError> {
        let mut read_back = innodb::read_back(connection, self.isolation_variable)?;
        let is_repeatable = read_back.levels.contains(&Level::RepeatableRead);
        // It also makes statements fail at serializable (measured on 11.8).
        if self.levels.contains(&Level::Snapshot)
            && (is_repeatable || read_back.levels.contains(&Level::Serializable))
            && variable(connection, SNAPSHOT_ISOLATION)?.as_deref() == Some("1")
        {
            read_back.levels.extend(is_repeatable.then_some(Level::Snapshot));
            read_back.words.push_str(" (innodb_snapshot_isolation=ON)");
        }
        Ok(read_back)
    }

    fn stillness(&self) -> Option<&str> {
        Some(innodb::STILLNESS)
    }

    fn purge(&self) -> Option<PurgeQuestion> {
        Some(innodb::PURGE)
    }

    fn watcher(&self, endpoint: &Endpoint) -> Result<Box<dyn Watcher>, String> {
        Ok(Box::new(StatusWatcher::open(endpoint)?))
    }
}
