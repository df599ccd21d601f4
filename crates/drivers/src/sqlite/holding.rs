//! What a session holds, what it waits for, and so who blocks whom: pure, from what SQLite says.
//!
//! Idea: a session's thread asks SQLite after each statement, and in each wait, for its transaction state
//! (`sqlite3_txn_state`), its lock on the database file (SQLITE_FCNTL_LOCKSTATE) and, with a shared cache, the table
//! locks that the statement's program takes (its `TableLock` instructions). The blockers of a waiter follow from the
//! locking rules.
//!
//! Source: <https://www.sqlite.org/lockingv3.html>, <https://www.sqlite.org/sharedcache.html>.

use std::collections::BTreeMap;

use super::Variant;
use crate::ConnectionId;

/// A connection's transaction on its main database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Transaction {
    #[default]
    None,
    Read,
    Write,
}

/// A lock on the database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum FileLock {
    #[default]
    None,
    Shared,
    Reserved,
    Pending,
    Exclusive,
}

/// Table locks by table name; `true` is a write lock.
pub(super) type TableLocks = BTreeMap<String, bool>;

/// The table that every transaction reads.
pub(super) const SCHEMA_TABLE: &str = "sqlite_master";

/// What a session holds at a moment when it is not running.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Holding {
    pub(super) transaction: Transaction,
    pub(super) file_lock: FileLock,
    /// Shared cache only.
    pub(super) tables: TableLocks,
    /// Shared cache only: the transaction was begun as EXCLUSIVE.
    pub(super) exclusive: bool,
}

/// What the statement of a session needs (shared cache only; elsewhere SQLite takes it as it goes).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Need {
    pub(super) transaction: Transaction,
    /// `BEGIN EXCLUSIVE`
    pub(super) exclusive: bool,
    pub(super) tables: TableLocks,
}

/// One session as the others see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) id: ConnectionId,
    pub(super) holding: &'a Holding,
    /// What it waits for, if it waits.
    pub(super) waits_for: Option<&'a Need>,
}

/// The sessions that block `waiter`.
pub(super) fn blockers(
    variant: Variant,
    waiter: ConnectionId,
    sessions: &[View<'_>],
) -> Vec<ConnectionId> {
    let Some(own) = sessions.iter().find(|session| session.id == waiter) else {
        return Vec::new();
    };
    let those = |blocks: &dyn Fn(&View<'_>) -> bool| -> Vec<ConnectionId> {
        let others = sessions.iter().filter(|session| session.id != waiter);
        others.filter(|other| blocks(other)).map(|other| other.id).collect()
    };
    let writers = || those(&|other| other.holding.transaction == Transaction::Write);
    let in_transaction = || those(&|other| other.holding.transaction != Transaction::None);
    let candidates: [Vec<ConnectionId>; 3] = match variant {
        // A session that holds RESERVED waits for EXCLUSIVE, so every reader blocks it. Any other session has released
        // all its locks, and only a writer can block it.
        Variant::Journal if own.holding.file_lock >= FileLock::Reserved => {
            [those(&|other| other.holding.file_lock >= FileLock::Shared), Vec::new(), Vec::new()]
        }
        Variant::Journal => {
            let by_lock = those(&|other| other.holding.file_lock >= FileLock::Reserved);
            [by_lock, writers(), in_transaction()]
        }
        // There is one write lock; only a checkpoint, VACUUM or a change of the journal waits for readers.
        Variant::Wal => [writers(), in_transaction(), Vec::new()],
        Variant::SharedCache => {
            let by_table = those(&|other| conflicts_in_cache(own, other));
            [by_table, writers(), in_transaction()]
        }
    };
    candidates.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

fn conflicts_in_cache(own: &View<'_>, other: &View<'_>) -> bool {
    let (holding, Some(need)) = (other.holding, own.waits_for) else { return false };
    if holding.transaction == Transaction::None {
        return false;
    }
    let second_writer =
        need.transaction == Transaction::Write && own.holding.transaction != Transaction::Write;
    let table_conflict = need.tables.iter().any(|(table, write)| {
        let held = holding.tables.get(table).copied();
        let held = held.or_else(|| (table == SCHEMA_TABLE).then_some(false));
        held.is_some_and(|held_write| held_write || *write)
    });
    let schema_is_changing = holding.tables.get(SCHEMA_TABLE) == Some(&true);
    // A writer that waits for a table keeps new transactions out, so that it is not starved.
    let writer_is_pending = own.holding.transaction == Transaction::None
        && holding.transaction == Transaction::Write
        && other.waits_for.is_some();
    (second_writer && holding.transaction == Transaction::Write)
        || need.exclusive
        || holding.exclusive
        || table_conflict
        || schema_is_changing
        || writer_is_pending
}

/// What the session `waiter` waits for, in a few words.
pub(super) fn describe(variant: Variant, waiter: ConnectionId, sessions: &[View<'_>]) -> String {
    let Some(own) = sessions.iter().find(|session| session.id == waiter) else {
        return String::new();
    };
    let some_blocker_holds = |lock| {
        let by = blockers(variant, waiter, sessions);
        sessions.iter().any(|other| by.contains(&other.id) && other.holding.file_lock >= lock)
    };
    match variant {
        Variant::Journal if own.holding.file_lock >= FileLock::Reserved => {
            "EXCLUSIVE lock on the database".to_owned()
        }
        Variant::Journal if some_blocker_holds(FileLock::Pending) => {
            "SHARED lock on the database".to_owned()
        }
        Variant::Journal => "RESERVED lock on the database".to_owned(),
        Variant::Wal => "write lock".to_owned(),
        Variant::SharedCache => {
            let tables = own.waits_for.map(|need| &need.tables).into_iter().flatten();
            let names: Vec<&str> = tables.map(|(name, _)| name.as_str()).collect();
            if names.is_empty() {
                "transaction in the shared cache".to_owned()
            } else {
                format!("table lock: {}", names.join(", "))
            }
        }
    }
}

/// Whether the session's wait for a table closes a circle of sessions that wait for each other. Elsewhere
/// SQLite itself refuses to wait.
///
/// Only conflicts that are certain count: a waiter that is free to go, and has not tried yet, waits for nobody.
pub(super) fn would_deadlock(waiter: ConnectionId, sessions: &[View<'_>]) -> bool {
    let mut seen = Vec::new();
    let mut next = vec![waiter];
    while let Some(id) = next.pop() {
        let Some(one) = sessions.iter().find(|session| session.id == id) else { continue };
        for other in sessions.iter().filter(|other| other.id != id) {
            if !conflicts_in_cache(one, other) {
                continue;
            }
            if other.id == waiter {
                return true;
            }
            if !seen.contains(&other.id) {
                seen.push(other.id);
                next.push(other.id);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollback_journal_blockers_follow_from_the_file_locks() {
        use FileLock::{Exclusive, None, Pending, Reserved, Shared};
        let table: &[(&[FileLock], &[ConnectionId], &str)] = &[
            (&[None, Reserved, Shared], &[1], "RESERVED"),
            (&[None, Shared, Pending], &[2], "SHARED"),
            (&[None, Exclusive, None], &[1], "SHARED"),
            (&[Pending, Shared, Shared, None], &[1, 2], "EXCLUSIVE"),
            (&[Reserved, None, Shared], &[2], "EXCLUSIVE"),
        ];
        for (locks, expected, kind) in table {
            let holding = |lock: &FileLock| Holding { file_lock: *lock, ..Holding::default() };
            let holdings: Vec<Holding> = locks.iter().map(holding).collect();
            let ids = 0_u64..;
            let views: Vec<View<'_>> = ids
                .zip(&holdings)
                .map(|(id, holding)| View { id, holding, waits_for: Option::None })
                .collect();
            assert_eq!(&blockers(Variant::Journal, 0, &views), expected, "{locks:?}");
            let described = describe(Variant::Journal, 0, &views);
            assert!(described.starts_with(kind), "{locks:?}: {described}");
        }
    }

    fn cached(transaction: Transaction, tables: &[(&str, bool)]) -> Holding {
        Holding { transaction, tables: locks(tables), ..Holding::default() }
    }

    fn locks(tables: &[(&str, bool)]) -> TableLocks {
        tables.iter().map(|(name, write)| ((*name).to_owned(), *write)).collect()
    }

    fn write(table: &str) -> Need {
        Need { transaction: Transaction::Write, exclusive: false, tables: locks(&[(table, true)]) }
    }

    #[test]
    fn shared_cache_blockers_follow_from_the_table_locks() {
        use Transaction::{None, Read, Write};
        let read_a = Need { transaction: Read, exclusive: false, tables: locks(&[("a", false)]) };
        let exclusive = Need { transaction: Write, exclusive: true, ..Need::default() };
        let table = [
            (read_a, vec![1]),
            (write("a"), vec![1, 2]),
            (write("z"), vec![1]),
            (write(SCHEMA_TABLE), vec![1, 2, 3]),
            (exclusive, vec![1, 2, 3]),
        ];
        let holdings = [
            cached(None, &[]),
            cached(Write, &[("a", true)]),
            cached(Read, &[("a", false), ("b", false)]),
            cached(Read, &[("c", false)]),
            cached(None, &[]),
        ];
        for (need, expected) in table {
            let mut views: Vec<View<'_>> = (0_u64..)
                .zip(&holdings)
                .map(|(id, holding)| View { id, holding, waits_for: Option::None })
                .collect();
            views[0].waits_for = Some(&need);
            assert_eq!(blockers(Variant::SharedCache, 0, &views), expected, "{need:?}");
        }
    }

    #[test]
    fn a_circle_of_waits_is_seen() {
        let (needs_a, needs_b) = (write("a"), write("b"));
        let writer = cached(Transaction::Write, &[("a", false)]);
        let reader = cached(Transaction::Read, &[("b", false)]);
        let first = View { id: 0, holding: &writer, waits_for: Some(&needs_b) };
        let second = View { id: 1, holding: &reader, waits_for: None };
        assert!(!would_deadlock(0, &[first, second]));
        let second = View { waits_for: Some(&needs_a), ..second };
        assert!(would_deadlock(1, &[first, second]));
    }
}
