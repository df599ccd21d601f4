//! Who waits for whose row or table lock, from MySQL's `data_lock_waits` and `data_locks`: the pure part.
//!
//! The edges are taken between *transactions*. The thread columns of `data_lock_waits` must not be used: they name the
//! thread that created the lock structure, and a row that its owner has only inserted gets its lock structure from the
//! first session that conflicts with it. A transaction's own table lock, however, is always created by itself, so those
//! rows of `data_locks` show whose a transaction is.

use std::collections::{BTreeMap, BTreeSet};

/// A row of `data_lock_waits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    pub requesting: u64,
    pub blocking: u64,
}

/// A row of `data_locks` that is a table lock or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataLock {
    pub transaction: u64,
    pub thread: u64,
    pub is_table: bool,
    pub mode: String,
    pub is_waiting: bool,
}

/// A thread that waits, for these threads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ThreadWait {
    pub waiter: u64,
    pub blockers: BTreeSet<u64>,
    pub kind: &'static str,
}

/// The waits of all threads. A transaction that ended between the two queries no longer has a row; an edge to it is no
/// longer valid.
pub(super) fn thread_waits(edges: &[Edge], locks: &[DataLock]) -> Vec<ThreadWait> {
    let owners: BTreeMap<u64, u64> = locks
        .iter()
        .filter(|lock| lock.is_table)
        .map(|lock| (lock.transaction, lock.thread))
        .collect();
    let mut waits: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for edge in edges {
        if let (Some(_), Some(blocker)) = (owners.get(&edge.requesting), owners.get(&edge.blocking))
        {
            waits.entry(edge.requesting).or_default().insert(*blocker);
        }
    }
    waits
        .into_iter()
        .map(|(transaction, blockers)| {
            let awaited =
                locks.iter().find(|lock| lock.is_waiting && lock.transaction == transaction);
            ThreadWait {
                waiter: owners[&transaction],
                blockers,
                kind: awaited.map_or("row lock", DataLock::describe),
            }
        })
        .collect()
}

impl DataLock {
    fn describe(&self) -> &'static str {
        match (self.is_table, self.mode.as_str()) {
            (true, "AUTO_INC") => "auto-increment lock",
            (true, _) => "table lock",
            (false, mode) if mode.contains("INSERT_INTENTION") => "gap lock",
            (false, _) => "row lock",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(transaction: u64, thread: u64, is_table: bool, mode: &str) -> DataLock {
        DataLock { transaction, thread, is_table, mode: mode.to_owned(), is_waiting: false }
    }

    #[test]
    fn the_owner_of_an_inserted_row_is_found_although_another_thread_made_its_lock() {
        // Thread 47 inserted the row; thread 46 ran into it and made the lock for it; 45 came later.
        let waiting = |lock| DataLock { is_waiting: true, ..lock };
        let locks = [
            lock(1554, 47, true, "IX"),
            lock(1555, 46, true, "IX"),
            lock(1556, 45, true, "IX"),
            lock(1554, 46, false, "X,REC_NOT_GAP"),
            waiting(lock(1555, 46, false, "S,REC_NOT_GAP")),
            waiting(lock(1556, 45, false, "X,GAP,INSERT_INTENTION")),
        ];
        let edges = [(1555, 1554), (1556, 1554), (1556, 1555), (1556, 99)]
            .map(|(requesting, blocking)| Edge { requesting, blocking });
        let waits = thread_waits(&edges, &locks);
        assert_eq!(
            waits,
            [
                ThreadWait { waiter: 46, blockers: BTreeSet::from([47]), kind: "row lock" },
                ThreadWait { waiter: 45, blockers: BTreeSet::from([46, 47]), kind: "gap lock" },
            ]
        );
    }
}
