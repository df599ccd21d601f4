//! Asking InnoDB of MariaDB and of MySQL 5.x who waits for a row or table lock.
//!
//! Idea: `SHOW ENGINE INNODB STATUS` is the one view without a cache: `information_schema.innodb_trx` and
//! `innodb_lock_waits` are refreshed at most every 100 ms, and polling keeps them stale. Pure parts:
//! `status` takes the text apart, `lock` knows which locks conflict, `blockers` puts both together.
//!
//! Assumption: the user has the PROCESS privilege. Blind spot: without `innodb_status_output_locks=ON` the status shows
//! who waits, not for whom. MySQL 8 and later need another method (`crate::mysql`): its status omits waits for shared
//! locks.

mod blockers;
mod lock;
mod status;
mod watcher;

use anchorite_model::Answer;

use crate::mysql_control::{rows, text};
use crate::{PurgeProgress, PurgeQuestion};

use blockers::row_waits;
use status::Status;

pub(crate) use watcher::StatusWatcher;

/// `SHOW ENGINE INNODB STATUS`: Type, Name, Status.
const STATUS_COLUMN: usize = 2;
/// What descriptors call it.
pub(crate) const PURGE_NAME: &str = "innodb";

/// A deleted row's index entries take part in locking until purge has removed them: after 2 ms on MariaDB and 12 ms on
/// MySQL 9.7 (measured), or much later if there is an open snapshot.
pub(crate) const PURGE: PurgeQuestion =
    PurgeQuestion { sql: "SHOW ENGINE INNODB STATUS", read: purge_progress };

fn purge_progress(answer: &Answer) -> Option<PurgeProgress> {
    let status = rows(answer, 0).first().and_then(|row| text(row.get(STATUS_COLUMN)?))?;
    status::purge_progress(&status)
}
