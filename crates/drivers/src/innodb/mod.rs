//! Asking InnoDB of MariaDB and of MySQL 5.x who waits for a row or table lock.
//!
//! Idea: `SHOW ENGINE INNODB STATUS` is the one view without a cache: `information_schema.innodb_trx` and
//! `innodb_lock_waits` are refreshed at most every 100 ms, and polling keeps them stale. Pure parts:
//! `status` takes the text apart, `lock` knows which locks conflict, `blockers` puts both together.
//!
//! Assumption: the user has the PROCESS privilege. Blind spot: without `innodb_status_output_locks=ON`
//! the status shows who waits, not for whom. MySQL 8 and later need another way (`crate::mysql`): its
//! status omits waits for shared locks.

mod blockers;
mod lock;
mod status;
mod watcher;

use std::time::Duration;

use anchorite_model::{Answer, Level};

use crate::mysql_family::{ReadBack, rows, text, variable};
use crate::mysql_wire::{Connection, WireError};
use crate::{PurgeProgress, PurgeQuestion};

use blockers::row_waits;
use status::Status;

pub(crate) use watcher::StatusWatcher;

/// `SHOW ENGINE INNODB STATUS`: Type, Name, Status.
const STATUS_COLUMN: usize = 2;
/// The largest value of `lock_wait_timeout`: a year.
const LOCK_WAIT_SECONDS_MAX: u64 = 31_536_000;

/// An old snapshot stops purge. Otherwise the removal of a deleted row, some milliseconds after the
/// commit, would set those free who wait for a lock on it.
pub(crate) const STILLNESS: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";

/// A deleted row's index entries take part in locking until purge has removed them: after 2 ms on MariaDB
/// and 12 ms on MySQL 9.7 (measured), or much later where somebody has an open snapshot.
pub(crate) const PURGE: PurgeQuestion =
    PurgeQuestion { sql: "SHOW ENGINE INNODB STATUS", read: purge_progress };

fn purge_progress(answer: &Answer) -> Option<PurgeProgress> {
    let status = rows(answer, 0).first().and_then(|row| text(row.get(STATUS_COLUMN)?))?;
    status::purge_progress(&status)
}

/// The variable that holds the level; MySQL 8 and MariaDB 11.1 renamed it.
pub(crate) fn isolation_variable(connection: &mut Connection) -> Result<&'static str, WireError> {
    let new_name = "transaction_isolation";
    Ok(if variable(connection, new_name)?.is_some() { new_name } else { "tx_isolation" })
}

/// The statements that prepare a session of MariaDB or MySQL.
pub(crate) fn settings(level: Option<Level>, lock_wait: Duration) -> Vec<String> {
    let seconds = lock_wait.as_secs_f64().ceil() as u64;
    let seconds = seconds.clamp(1, LOCK_WAIT_SECONDS_MAX);
    let level =
        level.map(|level| format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", level.sql()));
    let rest = format!(
        "SET SESSION autocommit = 1, SESSION innodb_lock_wait_timeout = {seconds}, \
         SESSION lock_wait_timeout = {seconds}"
    );
    level.into_iter().chain([rest]).collect()
}

/// The level of a session.
pub(crate) fn read_back(
    connection: &mut Connection,
    isolation_variable: &str,
) -> Result<ReadBack, WireError> {
    let words = variable(connection, isolation_variable)?.unwrap_or_default();
    Ok(ReadBack { levels: words.parse().into_iter().collect(), words })
}
