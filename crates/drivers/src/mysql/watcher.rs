//! The watcher of MySQL 8 and later: the performance schema and the process list.
//!
//! One round trip while nothing waits; a second one identifies the parties of a wait. The server does not cache these
//! tables.

use super::data_locks::{DataLock, Edge, thread_waits};
use crate::endpoint::Endpoint;
use crate::mysql_control::{
    CONTROL_LIMIT, StateWatch, Threads, cannot_ask, rows, text, variable, waiting_states,
};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, TargetError, Wait, Watcher};

const LOOK: &str = "SELECT REQUESTING_ENGINE_TRANSACTION_ID, BLOCKING_ENGINE_TRANSACTION_ID \
                    FROM performance_schema.data_lock_waits; SHOW PROCESSLIST";
const PARTIES: &str = "SELECT ENGINE_TRANSACTION_ID, THREAD_ID, LOCK_TYPE, LOCK_MODE, LOCK_STATUS \
                       FROM performance_schema.data_locks \
                       WHERE LOCK_TYPE = 'TABLE' OR LOCK_STATUS = 'WAITING'";

pub(crate) struct DataLockWatcher {
    connection: Connection,
    endpoint: String,
    threads: Threads,
    states: StateWatch,
}

impl DataLockWatcher {
    /// Connects and asks once, so that missing privileges are noticed here.
    pub(crate) fn open(endpoint: &Endpoint) -> Result<Self, String> {
        let open = || -> Result<_, Box<dyn std::error::Error>> {
            let mut connection = Connection::open_multi(endpoint)?;
            if variable(&mut connection, "performance_schema")?.as_deref() != Some("1") {
                return Err("it is switched off".into());
            }
            let states = StateWatch::new(&mut connection)?;
            let endpoint = endpoint.to_string();
            let mut watcher = Self { connection, endpoint, threads: Threads::default(), states };
            watcher.look(&[])?;
            watcher.row_waits(&[], &[])?;
            Ok(watcher)
        };
        open().map_err(|error| format!("performance_schema: {error}"))
    }

    fn look(&mut self, outstanding: &[ConnectionId]) -> Result<Vec<Wait>, WireError> {
        let answer = self.connection.query(LOOK, CONTROL_LIMIT)?;
        let number = |cell| -> Option<u64> { text(cell)?.parse().ok() };
        let edges = rows(&answer, 0).iter().filter_map(|row| {
            let [requesting, blocking] = &row[..] else { return None };
            Some(Edge { requesting: number(requesting)?, blocking: number(blocking)? })
        });
        let edges: Vec<_> = edges.collect();
        let mut waits = Vec::new();
        if !edges.is_empty() {
            waits = self.row_waits(&edges, outstanding)?;
        }
        let states = waiting_states(rows(&answer, 1));
        waits.extend(self.states.waits(&mut self.connection, outstanding, states)?);
        Ok(waits)
    }

    fn row_waits(
        &mut self,
        edges: &[Edge],
        outstanding: &[ConnectionId],
    ) -> Result<Vec<Wait>, WireError> {
        let answer = self.connection.query(PARTIES, CONTROL_LIMIT)?;
        let locks = rows(&answer, 0).iter().filter_map(|row| {
            let [transaction, thread, lock_type, mode, status] = &row[..] else { return None };
            Some(DataLock {
                transaction: text(transaction)?.parse().ok()?,
                thread: text(thread)?.parse().ok()?,
                is_table: text(lock_type)? == "TABLE",
                mode: text(mode)?,
                is_waiting: text(status)? == "WAITING",
            })
        });
        let waits = thread_waits(edges, &locks.collect::<Vec<_>>());
        let met = waits.iter().flat_map(|wait| wait.blockers.iter().chain([&wait.waiter]));
        self.threads.learn(&mut self.connection, &met.copied().collect::<Vec<_>>())?;
        let named = waits.into_iter().filter_map(|wait| {
            let names = wait.blockers.iter().filter_map(|thread| self.threads.connection(*thread));
            let blockers: Vec<_> = names.collect();
            Some(Wait {
                waiter: self.threads.connection(wait.waiter)?,
                blockers: (!blockers.is_empty()).then_some(blockers),
                kind: wait.kind.to_owned(),
            })
        });
        Ok(named.filter(|wait| outstanding.contains(&wait.waiter)).collect())
    }
}

impl Watcher for DataLockWatcher {
    fn method(&self) -> String {
        format!("performance_schema.data_lock_waits, {}", self.states.method())
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        _all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        self.look(outstanding).map_err(|error| cannot_ask(&self.endpoint, &error))
    }

    fn waits_last(&self) -> bool {
        true
    }
}
