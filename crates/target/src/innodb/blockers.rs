//! Who waits for whom, from the transactions' locks: pure.
//!
//! A waiter waits for every other transaction that holds a conflicting lock on the same record or table,
//! and for those that asked for a conflicting one earlier, because InnoDB grants in order of arrival.
//! The order of arrival is read from the waiting times where they are in microseconds (MariaDB 10.6 and
//! later) and from the order of the statements elsewhere, which is the same unless a statement was
//! resumed and then met a second lock.

use super::status::{Status, Transaction};

/// One waiting connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RowWait {
    pub waiter: u64,
    /// The connections it waits for; `None` if the server did not print the locks that would tell.
    pub blockers: Option<Vec<u64>>,
    pub kind: &'static str,
}

/// The waits of all connections.
pub(crate) fn row_waits(status: &Status) -> Vec<RowWait> {
    let waiters = status.transactions.iter().filter(|transaction| transaction.is_waiting);
    waiters.filter_map(|waiter| row_wait(waiter, &status.transactions)).collect()
}

fn row_wait(waiter: &Transaction, all: &[Transaction]) -> Option<RowWait> {
    let connection = waiter.connection?;
    let others = all.iter().filter(|other| other.connection != Some(connection));
    let mut blockers: Vec<u64> = others
        .filter(|other| is_blocked_by(waiter, other))
        .filter_map(|other| other.connection)
        .collect();
    blockers.sort_unstable();
    blockers.dedup();
    Some(RowWait {
        waiter: connection,
        blockers: (!blockers.is_empty()).then_some(blockers),
        kind: waiter.awaited.as_ref().map_or("row lock", |lock| lock.describe()),
    })
}

fn is_blocked_by(waiter: &Transaction, other: &Transaction) -> bool {
    let Some(asked) = &waiter.awaited else { return false };
    other.locks.iter().any(|lock| {
        asked.waits_for(lock)
            && (!lock.is_waiting()
                || (asked_earlier(other, waiter) && !holds_against(waiter, other)))
    })
}

/// Whether `first` joined the queue before `second`.
fn asked_earlier(first: &Transaction, second: &Transaction) -> bool {
    match (first.waited_us, second.waited_us) {
        (Some(first), Some(second)) => first > second,
        _ => first.query < second.query,
    }
}

/// Whether `holder` already has a lock that `waiter` waits for. Newer servers let such a holder overtake
/// the waiter (MDEV-34877); older ones report a deadlock instead, so that no such wait lasts.
fn holds_against(holder: &Transaction, waiter: &Transaction) -> bool {
    let Some(asked) = &waiter.awaited else { return false };
    holder.locks.iter().any(|lock| !lock.is_waiting() && asked.waits_for(lock))
}
