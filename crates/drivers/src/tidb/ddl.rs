//! TiDB's DDL that waits for open transactions (metadata locks, 6.3 and later).
//!
//! A running job names the tables it needs; every open transaction that has used one of them blocks it. The job is
//! found by the text of its statement. The server's own view `tidb_mdl_view` is not used: it asks the whole cluster and
//! can take a minute. Since a job takes several steps, it has to be blocked for a while.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anchorite_model::sql::StatementKind;

use super::processes::Process;
use crate::mysql_control::{CONTROL_LIMIT, rows, text};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, Wait};

const JOBS: &str = "SELECT JSON_UNQUOTE(JSON_EXTRACT(CAST(CAST(j.job_meta AS CHAR) AS JSON), \
                    '$.query')), m.table_ids FROM mysql.tidb_ddl_job j \
                    JOIN mysql.tidb_mdl_info m ON m.job_id = j.job_id";
const USERS: &str = "SELECT SESSION_ID, RELATED_TABLE_IDS FROM information_schema.tidb_trx";
/// How long a job has to be blocked; a step takes some milliseconds.
const HOLD_UP_LASTS: Duration = Duration::from_millis(200);

/// Watches DDL statements.
pub(super) struct DdlWatch {
    /// Whether the server has metadata locks.
    has_metadata_locks: bool,
    /// Blocked connections and since when.
    held_up: BTreeMap<ConnectionId, Instant>,
}

impl DdlWatch {
    pub(super) fn new(connection: &mut Connection) -> Result<Self, WireError> {
        let has_metadata_locks = match connection.query(&format!("{JOBS}; {USERS}"), CONTROL_LIMIT)
        {
            Ok(_) => true,
            Err(WireError::Server(_)) => false,
            Err(lost) => return Err(lost),
        };
        Ok(Self { has_metadata_locks, held_up: BTreeMap::new() })
    }

    /// Which of the outstanding connections run DDL that is blocked.
    pub(super) fn waits(
        &mut self,
        connection: &mut Connection,
        processes: &[Process],
        outstanding: &[ConnectionId],
    ) -> Result<Vec<Wait>, WireError> {
        let is_ddl = |process: &&Process| {
            outstanding.contains(&process.id)
                && StatementKind::of(&process.sql) == StatementKind::Ddl
        };
        let statements: Vec<_> = processes.iter().filter(is_ddl).collect();
        if !self.has_metadata_locks || statements.is_empty() {
            self.held_up.clear();
            return Ok(Vec::new());
        }
        let answer = connection.query(&format!("{JOBS}; {USERS}"), CONTROL_LIMIT)?;
        let pair = |row: &Vec<_>| Some((text(row.first()?)?, text(row.get(1)?)?));
        let jobs: Vec<_> = rows(&answer, 0).iter().filter_map(pair).collect();
        let users: Vec<_> = rows(&answer, 1).iter().filter_map(pair).collect();
        let mut waits = Vec::new();
        let mut held_up = BTreeMap::new();
        for statement in statements {
            let blockers = blockers(&statement.sql, statement.id, &jobs, &users);
            if blockers.is_empty() {
                continue;
            }
            let since = self.held_up.get(&statement.id).copied().unwrap_or_else(Instant::now);
            held_up.insert(statement.id, since);
            if since.elapsed() >= HOLD_UP_LASTS {
                let kind = "table metadata lock".to_owned();
                waits.push(Wait { waiter: statement.id, blockers: Some(blockers), kind });
            }
        }
        self.held_up = held_up;
        Ok(waits)
    }
}

/// The connections with a transaction on a table of the statement's job.
fn blockers(
    sql: &str,
    waiter: ConnectionId,
    jobs: &[(String, String)],
    users: &[(String, String)],
) -> Vec<ConnectionId> {
    let job_tables = jobs.iter().filter(|(query, _)| query == sql);
    let tables: Vec<&str> = job_tables.flat_map(|(_, tables)| tables.split(',')).collect();
    let uses_one = |used: &str| used.split(',').any(|table| tables.contains(&table));
    let mut blockers: Vec<ConnectionId> = users
        .iter()
        .filter(|(_, used)| uses_one(used))
        .filter_map(|(session, _)| session.parse().ok())
        .filter(|session| *session != waiter)
        .collect();
    blockers.sort_unstable();
    blockers.dedup();
    blockers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_transactions_on_the_jobs_tables_hold_it_up() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let jobs = [pair("ALTER TABLE t ADD c INT", "114,116"), pair("DROP TABLE u", "11")];
        let users = [pair("5", "114"), pair("6", "11"), pair("7", ""), pair("8", "9,116")];
        assert_eq!(blockers("ALTER TABLE t ADD c INT", 8, &jobs, &users), [5]);
        assert_eq!(blockers("DROP TABLE u", 1, &jobs, &users), [6]);
        assert!(blockers("DROP TABLE v", 1, &jobs, &users).is_empty());
    }
}
