//! Asking our own TiDB server who waits for whom: its debug log and the process list.
//!
//! The log says which transaction waits for which; the process list says whose transactions they are and whether the
//! holder still exists. Blind spot: GET_LOCK waits in a transaction inside the server that belongs to no connection, so
//! its holder stays unknown.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use anchorite_model::sql::Dialect;
use anchorite_sql::tokens::significant;

use super::ddl::DdlWatch;
use super::follow::Follower;
use super::log::LoggedWaits;
use super::processes::{PROCESSES, Process, processes};
use crate::endpoint::Endpoint;
use crate::mysql_control::{CONTROL_LIMIT, cannot_ask, first_text, rows};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, TargetError, Wait, Watcher};

/// How long the server may take to log a new connection.
const TRACES_LIMIT: Duration = Duration::from_secs(1);

pub(crate) struct LogWatcher {
    connection: Connection,
    endpoint: String,
    log: Follower,
    logged: LoggedWaits,
    ddl: DdlWatch,
}

impl LogWatcher {
    /// Connects, and makes sure that the file is this server's log.
    pub(crate) fn open(endpoint: &Endpoint, log: &Path) -> Result<Self, Box<dyn Error>> {
        let log = Follower::open(log)?;
        let mut connection = Connection::open_multi(endpoint)?;
        let ddl = DdlWatch::new(&mut connection)?;
        let logged = LoggedWaits::default();
        let endpoint = endpoint.to_string();
        let mut watcher = Self { connection, endpoint, log, logged, ddl };
        watcher.find_own_traces()?;
        watcher.look(&[], &[])?;
        Ok(watcher)
    }

    /// Waits until this connection is mentioned in the log.
    fn find_own_traces(&mut self) -> Result<(), Box<dyn Error>> {
        let start = Instant::now();
        while start.elapsed() < TRACES_LIMIT {
            let answer = self.connection.query("SELECT CONNECTION_ID()", CONTROL_LIMIT)?;
            let trace = format!("[conn={}]", first_text(&answer).unwrap_or_default());
            let mut is_found = false;
            self.log.read_lines(|line| is_found |= line.contains(&trace))?;
            if is_found {
                return Ok(());
            }
        }
        Err("the log is another server's".into())
    }

    fn look(
        &mut self,
        outstanding: &[ConnectionId],
        all: &[ConnectionId],
    ) -> Result<Vec<Wait>, WireError> {
        let answer = self.connection.query(PROCESSES, CONTROL_LIMIT)?;
        let processes = processes(rows(&answer, 0));
        // The log is read after the list: a holder that existed then and has released nothing by now was holding its
        // locks all the time.
        let logged = &mut self.logged;
        let read = self.log.read_lines(|line| logged.line(line));
        read.map_err(|error| WireError::Lost(format!("the log cannot be read: {error}")))?;
        let mut waits = lock_waits(&self.logged, &processes, outstanding, all);
        waits.extend(self.ddl.waits(&mut self.connection, &processes, outstanding)?);
        Ok(waits)
    }
}

/// The waits for locks.
fn lock_waits(
    logged: &LoggedWaits,
    processes: &[Process],
    outstanding: &[ConnectionId],
    all: &[ConnectionId],
) -> Vec<Wait> {
    let is_outstanding = |process: &&Process| outstanding.contains(&process.id);
    // A session that has been answered shows as idle a moment later; until then its transaction may be
    // one that has just ended.
    let is_up_to_date = |process: &Process| {
        process.is_idle || is_outstanding(&process) || !all.contains(&process.id)
    };
    let mut waits: Vec<_> = processes
        .iter()
        .filter(is_outstanding)
        .filter_map(|waiter| {
            let start = logged.holder(waiter.id, waiter.transaction)?;
            let holder = processes.iter().find(|process| process.transaction == Some(start))?;
            is_up_to_date(holder).then(|| Wait {
                waiter: waiter.id,
                blockers: Some(vec![holder.id]),
                kind: "row lock".to_owned(),
            })
        })
        .collect();
    waits.extend(user_lock_waits(logged, processes, outstanding));
    waits
}

/// Connections that call GET_LOCK, if as many nameless transactions wait.
fn user_lock_waits(
    logged: &LoggedWaits,
    processes: &[Process],
    outstanding: &[ConnectionId],
) -> Vec<Wait> {
    let is_named = |start| processes.iter().any(|process| process.transaction == Some(start));
    let nameless = logged.waiters().filter(|start| !is_named(*start)).count();
    let callers = processes.iter().filter(|process| {
        outstanding.contains(&process.id)
            && significant(&process.sql, Dialect::Mysql).iter().any(|t| t.is_word("GET_LOCK"))
            && logged.holder(process.id, process.transaction).is_none()
    });
    let callers: Vec<_> = callers.map(|process| process.id).collect();
    if callers.len() != nameless {
        return Vec::new();
    }
    let wait = |waiter| Wait { waiter, blockers: None, kind: "user lock".to_owned() };
    callers.into_iter().map(wait).collect()
}

impl Watcher for LogWatcher {
    fn method(&self) -> String {
        "TiDB's debug log, process list".to_owned()
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        self.look(outstanding, all).map_err(|error| cannot_ask(&self.endpoint, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: u64, is_idle: bool, transaction: Option<u64>, sql: &str) -> Process {
        Process { id, is_idle, transaction, sql: sql.to_owned() }
    }

    fn logged(lines: &[&str]) -> LoggedWaits {
        let mut logged = LoggedWaits::default();
        for line in lines {
            logged.line(&format!("[time] [DEBUG] [mvcc.go:1] [\"{line}\"]"));
        }
        logged
    }

    #[test]
    fn a_wait_needs_a_living_holder() {
        let logged = logged(&["200 blocked by 100 on key 5"]);
        let waiter = process(2, false, Some(200), "update");
        let waits = |holder: Process, all: &[u64]| {
            let waits = lock_waits(&logged, &[holder, waiter.clone()], &[2], all);
            waits.into_iter().map(|wait| (wait.waiter, wait.blockers)).collect::<Vec<_>>()
        };
        assert_eq!(waits(process(1, true, Some(100), ""), &[1, 2]), [(2, Some(vec![1]))]);
        assert_eq!(waits(process(1, true, None, ""), &[1, 2]), []);
        assert_eq!(waits(process(1, false, Some(100), "commit"), &[1, 2]), []);
        assert_eq!(waits(process(1, false, Some(100), "select"), &[2]), [(2, Some(vec![1]))]);
    }

    #[test]
    fn a_caller_of_get_lock_waits_as_a_nameless_transaction() {
        let processes = [process(2, false, None, "select get_lock('a', 9)")];
        let waits = |lines: &[&str]| lock_waits(&logged(lines), &processes, &[2], &[2]).len();
        assert_eq!(waits(&["900 blocked by 800 on key 5"]), 1);
        assert_eq!(waits(&[]), 0);
    }
}
