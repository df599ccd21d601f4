//! Asking any TiDB that has `information_schema.tidb_trx` (5.1 and later) who waits for a lock.
//!
//! Not exact by itself: every request for a lock shows as LockWaiting for a moment, and of several waiters on one row
//! those that were not granted it stay in that state for some time after the holder's end before they continue. So a
//! wait has to last, and longer after a transaction of the case has ended. The table does not show the blockers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anchorite_model::Value;

use super::ddl::DdlWatch;
use super::processes::{PROCESSES, processes};
use crate::endpoint::Endpoint;
use crate::mysql_control::{CONTROL_LIMIT, cannot_ask, rows, text};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, TargetError, Wait, Watcher};

const LOOK: &str =
    "SELECT ID, SESSION_ID, STATE, WAITING_START_TIME FROM information_schema.tidb_trx";
/// How long a wait has to last; a request that is granted takes a few round trips inside the cluster.
const WAIT_LASTS: Duration = Duration::from_millis(10);
/// How long after the end of a transaction its other waiters may sleep before they try again.
const WAKE_UP_DELAY: Duration = Duration::from_millis(200);

pub(crate) struct TrxWatcher {
    connection: Connection,
    endpoint: String,
    memory: Memory,
    ddl: DdlWatch,
}

impl TrxWatcher {
    /// Connects and asks once, so that a missing table or privilege is noticed here.
    pub(crate) fn open(endpoint: &Endpoint) -> Result<Self, String> {
        let open = || -> Result<_, Box<dyn std::error::Error>> {
            let mut connection = Connection::open_multi(endpoint)?;
            let ddl = DdlWatch::new(&mut connection)?;
            let endpoint = endpoint.to_string();
            let mut watcher = Self { connection, endpoint, memory: Memory::default(), ddl };
            watcher.look(&[], &[])?;
            Ok(watcher)
        };
        open().map_err(|error| format!("information_schema.tidb_trx: {error}"))
    }

    fn look(
        &mut self,
        outstanding: &[ConnectionId],
        all: &[ConnectionId],
    ) -> Result<Vec<Wait>, WireError> {
        let answer = self.connection.query(&format!("{LOOK}; {PROCESSES}"), CONTROL_LIMIT)?;
        let transactions = transactions(rows(&answer, 0));
        let waiters = self.memory.take(&transactions, all, Instant::now());
        let wait = |waiter| Wait { waiter, blockers: None, kind: "row lock".to_owned() };
        let waiters = waiters.into_iter().filter(|waiter| outstanding.contains(waiter));
        let mut waits: Vec<_> = waiters.map(wait).collect();
        let processes = processes(rows(&answer, 1));
        waits.extend(self.ddl.waits(&mut self.connection, &processes, outstanding)?);
        Ok(waits)
    }
}

impl Watcher for TrxWatcher {
    fn method(&self) -> String {
        format!("information_schema.tidb_trx, a wait that lasts {} ms", WAIT_LASTS.as_millis())
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        self.look(outstanding, all).map_err(|error| cannot_ask(&self.endpoint, &error))
    }
}

/// A row of `tidb_trx`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Transaction {
    start: u64,
    session: ConnectionId,
    waiting_since: Option<String>,
}

fn transactions(rows: &[Vec<Value>]) -> Vec<Transaction> {
    rows.iter()
        .filter_map(|row| {
            let [start, session, state, since] = &row[..] else { return None };
            let is_waiting = text(state)? == "LockWaiting";
            Some(Transaction {
                start: text(start)?.parse().ok()?,
                session: text(session)?.parse().ok()?,
                waiting_since: text(since).filter(|_| is_waiting),
            })
        })
        .collect()
}

/// What earlier queries have shown.
#[derive(Debug, Default)]
struct Memory {
    /// The case's transactions of the last look.
    alive: BTreeSet<u64>,
    /// When the absence of one of them was noticed.
    last_end: Option<Instant>,
    /// Waiting sessions: since when by the server's clock, and when this was first seen.
    waiting: BTreeMap<ConnectionId, (String, Instant)>,
}

impl Memory {
    /// Takes the result of a query and returns which sessions are certainly waiting.
    fn take(
        &mut self,
        transactions: &[Transaction],
        all: &[ConnectionId],
        now: Instant,
    ) -> Vec<ConnectionId> {
        let own = transactions.iter().filter(|transaction| all.contains(&transaction.session));
        let alive: BTreeSet<_> = own.map(|transaction| transaction.start).collect();
        if !self.alive.is_subset(&alive) {
            self.last_end = Some(now);
        }
        self.alive = alive;
        let mut waiting = BTreeMap::new();
        for transaction in transactions {
            if let Some(since) = &transaction.waiting_since {
                let known = self.waiting.get(&transaction.session);
                let known = known.filter(|(known, _)| known == since);
                let first_seen = known.map_or(now, |(_, first_seen)| *first_seen);
                waiting.insert(transaction.session, (since.clone(), first_seen));
            }
        }
        self.waiting = waiting;
        let is_sure = |first_seen: Instant| {
            let is_undisturbed = self
                .last_end
                .is_none_or(|end| first_seen > end || now.duration_since(end) >= WAKE_UP_DELAY);
            now.duration_since(first_seen) >= WAIT_LASTS && is_undisturbed
        };
        let sure = self.waiting.iter().filter(|(_, (_, first_seen))| is_sure(*first_seen));
        sure.map(|(session, _)| *session).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(start: u64, session: u64, since: Option<&str>) -> Transaction {
        Transaction { start, session, waiting_since: since.map(str::to_owned) }
    }

    #[test]
    fn a_wait_has_to_last() {
        let mut memory = Memory::default();
        let start = Instant::now();
        let look = [transaction(1, 1, None), transaction(2, 2, Some("12:00:00"))];
        assert!(memory.take(&look, &[1, 2], start).is_empty());
        assert_eq!(memory.take(&look, &[1, 2], start + WAIT_LASTS), [2]);
        let again = [transaction(1, 1, None), transaction(2, 2, Some("12:00:01"))];
        assert!(memory.take(&again, &[1, 2], start + WAIT_LASTS * 2).is_empty());
    }

    #[test]
    fn after_the_end_of_a_holder_it_has_to_last_longer() {
        let mut memory = Memory::default();
        let start = Instant::now();
        let waiter = transaction(2, 2, Some("12:00:00"));
        memory.take(&[transaction(1, 1, None), waiter.clone()], &[1, 2], start);
        let ended = start + WAIT_LASTS;
        assert!(memory.take(std::slice::from_ref(&waiter), &[1, 2], ended).is_empty());
        let waiter = std::slice::from_ref(&waiter);
        assert!(memory.take(waiter, &[1, 2], ended + WAIT_LASTS).is_empty());
        assert_eq!(memory.take(waiter, &[1, 2], ended + WAKE_UP_DELAY), [2]);
    }
}
