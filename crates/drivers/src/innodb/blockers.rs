//! Who waits for whom, from the transactions' locks: pure.
//!
//! A waiter waits for every other transaction that holds a conflicting lock on the same record or table,
//! and for those that asked for a conflicting one earlier, because InnoDB grants in order of arrival.
//! The order of arrival is read from the waiting times where they are in microseconds (MariaDB 10.6 and
//! later) and from the order of the statements elsewhere, which is the same unless a statement was
//! resumed and then met a second lock.
//!
//! Blind spot: for a prepared transaction whose connection is gone the server prints no locks, so the blocker of a
//! session that waits for it is unknown.

use super::status::{Status, Transaction};

/// One waiting connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RowWait {
    pub waiter: u64,
    /// The connections it waits for; `None` if the server did not print the locks in question.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the first lines of a captured status say, and what is found in it, in the same words.
    fn compare(captured: &str) -> (Vec<String>, Vec<String>) {
        let expected = captured.lines().map_while(|line| line.strip_prefix("expect: "));
        let mut waits = row_waits(&Status::parse(captured));
        waits.sort_by_key(|wait| wait.waiter);
        let found = waits.iter().map(|wait| {
            let blockers = wait.blockers.iter().flatten().map(ToString::to_string);
            let blockers = blockers.collect::<Vec<_>>().join(" ");
            format!("{} waits for {blockers}: {}", wait.waiter, wait.kind)
        });
        let mut found: Vec<_> = found.collect();
        if found.is_empty() {
            found.push("nobody waits".to_owned());
        }
        (expected.map(str::to_owned).collect(), found)
    }

    #[test]
    fn captured_statuses_are_understood() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/innodb/testdata");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).expect("the folder") {
            let path = entry.expect("an entry").path();
            let captured = std::fs::read_to_string(&path).expect("a captured status");
            let (expected, found) = compare(&captured);
            assert_eq!(found, expected, "{}", path.display());
            count += 1;
        }
        assert!(count >= 20, "{count} captured statuses");
    }

    #[test]
    fn without_the_lists_of_locks_the_blockers_are_unknown() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/innodb/testdata");
        let captured = std::fs::read_to_string(format!("{folder}/mariadb-10.11-gap.txt"));
        let mut status = Status::parse(&captured.expect("a captured status"));
        for transaction in &mut status.transactions {
            transaction.locks.clear();
        }
        let waits = row_waits(&status);
        assert_eq!(waits.len(), 2);
        assert!(waits.iter().all(|wait| wait.blockers.is_none() && wait.kind == "gap lock"));
    }

    #[test]
    fn a_status_that_was_cut_says_so() {
        let cut = "TRANSACTIONS\n------------\n... truncated...\n 2: len 7; hex 6f; asc o;;\n\
                   ---TRANSACTION 5, ACTIVE 1 sec\n2 lock struct(s), heap size 1128, 1 row lock(s)\n\
                   MariaDB thread id 7, OS thread handle 1, query id 2 localhost root \n\
                   --------\nFILE I/O\n";
        let status = Status::parse(cut);
        assert!(status.truncated && status.may_omit(8) && !status.may_omit(7));
        assert_eq!(Status::parse("nonsense"), Status::default());
    }
}
