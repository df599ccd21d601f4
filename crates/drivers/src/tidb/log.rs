//! Who waits for whom, from the lines of TiDB's debug log: the pure part.
//!
//! The embedded store logs each wait (`X blocked by Y on key K`, both transactions by their start
//! timestamps) and each release (`wakeup… blocked by txnY keyHashes=[K …]`), a failed wait ends with `2PC
//! doActionOnBatches failed`. In 4.0 a statement outside BEGIN … COMMIT does not queue but retries: that is
//! `prewrite encounters lock`, with the connection and the holder.
//!
//! Assumption: the line of a release is written before the releasing statement is answered, which holds
//! for a transaction's first key; for the others the watcher knows that the holder has ended.

use std::collections::BTreeMap;

/// A transaction's start timestamp.
pub(super) type Timestamp = u64;

/// What a transaction waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edge {
    holder: Timestamp,
    key: u64,
}

/// The waits in the log that have not ended yet.
#[derive(Debug, Default)]
pub(super) struct LoggedWaits {
    /// Waiting transactions.
    queued: BTreeMap<Timestamp, Edge>,
    /// Connections whose commit keeps meeting a lock, with its holder.
    retrying: BTreeMap<u64, Timestamp>,
}

impl LoggedWaits {
    /// The blockers of the connection with this transaction.
    pub(super) fn holder(
        &self,
        connection: u64,
        transaction: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let queued = transaction.and_then(|start| self.queued.get(&start)).map(|edge| edge.holder);
        queued.or_else(|| self.retrying.get(&connection).copied())
    }

    /// The waiting transactions.
    pub(super) fn waiters(&self) -> impl Iterator<Item = Timestamp> + '_ {
        self.queued.keys().copied()
    }

    /// Takes the next line of the log.
    pub(super) fn line(&mut self, line: &str) {
        if let Some((waiter, edge)) = parse_blocked(line) {
            self.queued.insert(waiter, edge);
        } else if let Some((_, woken)) = line.split_once("txns blocked by txn") {
            self.wake(woken);
        } else if line.contains("[\"prewrite encounters lock") {
            let holder = number_after(line, "txnStartTS: ");
            if let (Some(connection), Some(holder)) = (connection_of(line), holder) {
                self.retrying.insert(connection, holder);
            }
        } else if line.contains("[\"2PC doActionOnBatches failed\"]") {
            if let Some(transaction) = number_after(line, "[txnStartTS=") {
                self.queued.remove(&transaction);
            }
            if let Some(connection) = connection_of(line) {
                self.retrying.remove(&connection);
            }
        }
    }

    /// `<holder> keyHashes=[<key> <key>]"]`: everyone behind the holder tries again.
    fn wake(&mut self, text: &str) {
        let Some((holder, keys)) = text.split_once(" keyHashes=[") else { return };
        let Ok(holder) = holder.parse::<Timestamp>() else { return };
        let keys = keys.split(']').next().unwrap_or_default();
        let keys: Vec<u64> = keys.split(' ').filter_map(|key| key.parse().ok()).collect();
        self.queued.retain(|_, edge| edge.holder != holder || !keys.contains(&edge.key));
    }
}

/// `… ["<waiter> blocked by <holder> on key <key>"]`
fn parse_blocked(line: &str) -> Option<(Timestamp, Edge)> {
    let (before, after) = line.split_once(" blocked by ")?;
    let waiter = before.rsplit('"').next()?.parse().ok()?;
    let (holder, key) = after.split_once(" on key ")?;
    let key = key.split('"').next()?;
    Some((waiter, Edge { holder: holder.parse().ok()?, key: key.parse().ok()? }))
}

/// `[conn=5]`, in some lines of later versions `[session=5]`.
fn connection_of(line: &str) -> Option<u64> {
    number_after(line, " [conn=").or_else(|| number_after(line, " [session="))
}

fn number_after(line: &str, label: &str) -> Option<u64> {
    let (_, rest) = line.split_once(label)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(lines: &[&str]) -> LoggedWaits {
        let mut waits = LoggedWaits::default();
        for line in lines {
            waits.line(line);
        }
        waits
    }

    const BLOCKED: &str = "[2026/11/15 23:43:32.894 +00:00] [DEBUG] [mvcc.go:657] \
                           [\"783955968 blocked by 782645248 on key 11950132756831066582\"]";
    const WOKEN: &str = "[2026/11/15 23:43:33.510 +00:00] [DEBUG] [lockwaiter.go:193] \
                         [\"wakeup1txns blocked by txn782645248 \
                         keyHashes=[4700447371661251740 11950132756831066582]\"]";
    const TIMED_OUT: &str = "[2026/11/15 23:47:23.341 +00:00] [DEBUG] [2pc.go:1126] \
                             [\"2PC doActionOnBatches failed\"] [session=2097218] \
                             [\"action type\"=pessimistic_lock] [error=\"lock wait timeout\"] \
                             [txnStartTS=783955968]";
    const RETRYING: &str = "[2026/11/15 23:44:58.130 +00:00] [INFO] [prewrite.go:166] \
                            [\"prewrite encounters lock\"] [conn=15] [lock=\"key: {tableID=51, \
                            handle=1}, primary: {tableID=51, handle=1}, txnStartTS: 782645248, \
                            lockForUpdateTS:0, ttl: 20000, type: PessimisticLock\"]";
    const CONFLICT: &str = "[2026/11/15 23:44:59.314 +00:00] [DEBUG] [2pc.go:535] \
                            [\"2PC doActionOnBatches failed\"] [conn=15] \
                            [\"action type\"=prewrite] [error=\"[kv:9007]Write conflict, \
                            txnStartTS=336728576, conflictStartTS=257823232\"] \
                            [txnStartTS=336728576]";

    #[test]
    fn a_wait_lasts_until_it_is_granted_or_given_up() {
        assert_eq!(waits(&[BLOCKED]).holder(1, Some(783_955_968)), Some(782_645_248));
        assert_eq!(waits(&[BLOCKED]).holder(1, Some(1)), None);
        assert_eq!(waits(&[BLOCKED, WOKEN]).holder(1, Some(783_955_968)), None);
        assert_eq!(waits(&[BLOCKED, TIMED_OUT]).holder(1, Some(783_955_968)), None);
        let other_key = WOKEN.replace("11950132756831066582", "7");
        assert_eq!(waits(&[BLOCKED, &other_key]).waiters().collect::<Vec<_>>(), [783_955_968]);
    }

    #[test]
    fn a_commit_that_meets_a_lock_waits_too() {
        assert_eq!(waits(&[RETRYING]).holder(15, None), Some(782_645_248));
        assert_eq!(waits(&[RETRYING, CONFLICT]).holder(15, None), None);
    }

    #[test]
    fn other_lines_and_nonsense_are_passed_over() {
        let lines =
            ["", "blocked by", "[\"x blocked by y on key z\"]", "1txns blocked by txn", "\0"];
        assert_eq!(waits(&lines).waiters().count(), 0);
    }
}
