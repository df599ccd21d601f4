//! Waits that show as a connection's state: metadata, user, backup, global read and table locks.
//!
//! The state alone is not exact: a waiter clears it only when it gets the processor again. So each one is compared with
//! `performance_schema.metadata_locks`, which names the blockers. What that does not explain (or if the server does not
//! record it: MariaDB's default, MySQL 5.6) has to last for a while.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::metadata::{Ticket, WaitState, wait_state};
use super::{CONTROL_LIMIT, rows, text, variable, waiting_states};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, Wait, wait_readable};

/// How long an unexplained state has to last; a waiter that was granted its lock has run by then, unless
/// the machine is very busy.
const STATE_SETTLES: Duration = Duration::from_millis(50);
/// The pause between two looks at such a state.
const STATE_PAUSE: Duration = Duration::from_millis(1);

const PROCESSLIST: &str = "SHOW PROCESSLIST";
const TICKETS: &str = "SELECT OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, LOCK_TYPE, LOCK_STATUS, \
                       OWNER_THREAD_ID FROM performance_schema.metadata_locks";
const THREADS: &str = "SELECT THREAD_ID, PROCESSLIST_ID FROM performance_schema.threads \
                       WHERE PROCESSLIST_ID IS NOT NULL";
const INSTRUMENT: &str = "SELECT ENABLED FROM performance_schema.setup_instruments \
                          WHERE NAME = 'wait/lock/metadata/sql/mdl'";

/// Confirms waiting states.
pub(crate) struct StateWatch {
    /// Performance schema thread → connection, as far as met; `None` if the locks are not recorded.
    threads: Option<Threads>,
}

impl StateWatch {
    /// Finds out what the server records.
    pub(crate) fn new(connection: &mut Connection) -> Result<Self, WireError> {
        let is_on = variable(connection, "performance_schema")?.as_deref() == Some("1");
        let records = is_on
            && match connection.query(INSTRUMENT, CONTROL_LIMIT) {
                Ok(answer) => super::first_text(&answer).as_deref() == Some("YES"),
                // Without the privilege, or in a version that does not have the table.
                Err(WireError::Server(_)) => false,
                Err(lost) => return Err(lost),
            };
        Ok(Self { threads: records.then(Threads::default) })
    }

    /// How it asks.
    pub(crate) fn method(&self) -> &'static str {
        match self.threads {
            Some(_) => "process list, metadata_locks",
            None => "process list",
        }
    }

    /// Which of the outstanding connections wait, given the rows of `SHOW PROCESSLIST`.
    pub(crate) fn waits(
        &mut self,
        connection: &mut Connection,
        outstanding: &[ConnectionId],
        states: BTreeMap<ConnectionId, String>,
    ) -> Result<Vec<Wait>, WireError> {
        let mut states = states;
        states.retain(|id, _| outstanding.contains(id));
        if states.is_empty() {
            return Ok(Vec::new());
        }
        let tickets = match &mut self.threads {
            Some(threads) => threads.tickets(connection)?,
            None => Vec::new(),
        };
        let mut waits = Vec::new();
        let mut unclear = BTreeMap::new();
        for (waiter, kind) in states {
            match wait_state(waiter, &tickets) {
                WaitState::Waiting(blockers) => {
                    waits.push(Wait { waiter, blockers: Some(blockers), kind });
                }
                WaitState::NotWaiting => {}
                WaitState::Unclear(sharers) => {
                    let blockers = (!sharers.is_empty()).then_some(sharers);
                    unclear.insert(waiter, Wait { waiter, blockers, kind });
                }
            }
        }
        let start = Instant::now();
        while !unclear.is_empty() && start.elapsed() < STATE_SETTLES {
            let answer = connection.query(PROCESSLIST, CONTROL_LIMIT)?;
            let still = waiting_states(rows(&answer, 0));
            unclear.retain(|id, wait| still.get(id) == Some(&wait.kind));
            wait_readable(&[connection.fd()], STATE_PAUSE);
        }
        waits.extend(unclear.into_values());
        Ok(waits)
    }
}

/// Which connection a performance schema thread is. Thread ids are never reused.
#[derive(Default)]
pub(crate) struct Threads {
    connections: BTreeMap<u64, ConnectionId>,
}

impl Threads {
    fn tickets(&mut self, connection: &mut Connection) -> Result<Vec<Ticket>, WireError> {
        let answer = connection.query(TICKETS, CONTROL_LIMIT)?;
        let cell = |row: &[_], n: usize| row.get(n).and_then(text).unwrap_or_default();
        let rows = rows(&answer, 0);
        let owners: Vec<u64> = rows.iter().filter_map(|row| cell(row, 5).parse().ok()).collect();
        self.learn(connection, &owners)?;
        Ok(rows
            .iter()
            .map(|row| Ticket {
                object: [cell(row, 0), cell(row, 1), cell(row, 2)],
                lock_type: cell(row, 3),
                is_pending: cell(row, 4) == "PENDING",
                owner: cell(row, 5).parse().ok().and_then(|thread| self.connection(thread)),
            })
            .collect())
    }

    /// Looks the threads up if one of them has not been met before.
    pub(crate) fn learn(
        &mut self,
        connection: &mut Connection,
        threads: &[u64],
    ) -> Result<(), WireError> {
        if threads.iter().all(|thread| self.connections.contains_key(thread)) {
            return Ok(());
        }
        let answer = connection.query(THREADS, CONTROL_LIMIT)?;
        let number = |cell| -> Option<u64> { text(cell)?.parse().ok() };
        self.connections.extend(rows(&answer, 0).iter().filter_map(|row| {
            let [thread, id] = &row[..] else { return None };
            Some((number(thread)?, number(id)?))
        }));
        Ok(())
    }

    pub(crate) fn connection(&self, thread: u64) -> Option<ConnectionId> {
        self.connections.get(&thread).copied()
    }
}
