//! Who waits on CockroachDB: two sources, combined.
//!
//! * `crdb_internal.cluster_locks` (from v22.1 on) shows holders and waiters of each key, but not every wait. A key may
//!   be free, reserved for the first one in its queue, who waits elsewhere; the next one waits for that reservation,
//!   and the view has no row for it.
//! * The metric `txnwaitqueue.pusher.waiting` counts the requests of the node that wait for another transaction, for
//!   whatever reason, but does not say which ones. If it is at least the number of outstanding statements, all of them
//!   wait.
//!
//! So a statement waits if the first source shows it, or if according to the second all wait; then the blocker is
//! unknown.
//!
//! Assumption: a statement has one waiting request at a time, and one case at a time uses the node (`turns`).
//! Blind spot: a statement that waits without being shown while another one works. The second source counts a
//! waiter after 50 to 100 ms, and not those of other nodes of a cluster. Therefore [`Watcher::misses_waits`].

use std::time::Duration;

use anchorite_model::Value;

use super::{HOUSEKEEPING_LIMIT, connection_id};
use crate::pg_session::PgSession;
use crate::{ConnectionId, TargetError, Wait, Watcher, execute};

/// A waiter is woken some milliseconds after the holder's end, and the metric lags behind that.
const GRANT_DELAY: Duration = Duration::from_millis(100);

const PUSHERS: &str = "SELECT value::INT FROM crdb_internal.node_metrics \
                       WHERE name = 'txnwaitqueue.pusher.waiting'";

pub(super) struct CockroachWatcher {
    session: PgSession,
    target: String,
    /// The database whose locks can be queried; `None`: not in this version.
    database: Option<String>,
    /// Whether the last look needed the number of waiters.
    counted: bool,
}

impl CockroachWatcher {
    pub(super) fn new(session: PgSession, target: String, database: Option<String>) -> Self {
        Self { session, target, database, counted: false }
    }

    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, TargetError> {
        let answer = execute(&mut self.session, sql, HOUSEKEEPING_LIMIT).map_err(|error| {
            TargetError::Prepare { target: self.target.clone(), reason: error.message }
        })?;
        Ok(answer.results.into_iter().flat_map(|result| result.rows).collect())
    }

    fn locks(&mut self) -> Result<Vec<Lock>, TargetError> {
        let Some(database) = &self.database else { return Ok(Vec::new()) };
        // A holder whose transaction has ended has no row in the second table: its lock is about to be released.
        let sql = format!(
            "SELECT t.session_id, l.lock_key_pretty, l.granted \
             FROM crdb_internal.cluster_locks l \
             JOIN crdb_internal.cluster_transactions t ON t.id = l.txn_id \
             WHERE l.database_name = '{database}'"
        );
        Ok(self.ask(&sql)?.iter().filter_map(|row| Lock::read(row)).collect())
    }

    /// How many requests of the node wait for a transaction.
    fn pushers(&mut self) -> Result<usize, TargetError> {
        let rows = match self.ask(PUSHERS) {
            // It needs a privilege. Without it the first source has to suffice.
            Err(_) if self.database.is_some() => return Ok(0),
            rows => rows?,
        };
        Ok(match rows.first().and_then(|row| row.first()) {
            Some(Value::Int(count)) => usize::try_from(*count).unwrap_or_default(),
            _ => 0,
        })
    }
}

impl Watcher for CockroachWatcher {
    fn method(&self) -> String {
        let count = "number of waiting transactions (txnwaitqueue.pusher.waiting)";
        match self.database {
            Some(_) => format!("crdb_internal.cluster_locks, {count}"),
            None => format!("{count}; by whom is unknown"),
        }
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        _all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        let shown = waits_of(&self.locks()?, outstanding);
        self.counted = shown.len() < outstanding.len() || outstanding.is_empty();
        if !self.counted {
            return Ok(shown);
        }
        let pushers = self.pushers()?;
        Ok(together(shown, pushers, outstanding))
    }

    fn grant_delay(&self) -> Duration {
        if self.counted { GRANT_DELAY } else { Duration::ZERO }
    }

    fn look_twice(&self) -> bool {
        self.counted
    }

    fn misses_waits(&self) -> bool {
        true
    }
}

fn lock_wait(waiter: ConnectionId, blockers: Option<Vec<ConnectionId>>) -> Wait {
    Wait { waiter, blockers, kind: "lock".to_owned() }
}

/// Both sources combined: those that are shown, and all others if everything outstanding waits.
fn together(shown: Vec<Wait>, pushers: usize, outstanding: &[ConnectionId]) -> Vec<Wait> {
    let mut waits = shown;
    // Fewer waiters than statements: some statement is running, but it is unknown which. Those that are shown may be
    // among the counted ones, so they do not reduce the number that is needed.
    if pushers >= outstanding.len() {
        let is_shown = |id: &ConnectionId| waits.iter().any(|wait| wait.waiter == *id);
        let others: Vec<_> = outstanding.iter().copied().filter(|id| !is_shown(id)).collect();
        waits.extend(others.into_iter().map(|id| lock_wait(id, None)));
    }
    waits
}

/// A row of the lock table: a session that holds a key or waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lock {
    session: ConnectionId,
    key: String,
    granted: bool,
}

impl Lock {
    fn read(row: &[Value]) -> Option<Self> {
        match row {
            [Value::Text(session), Value::Text(key), Value::Bool(granted)] => {
                Some(Self { session: connection_id(session), key: key.clone(), granted: *granted })
            }
            _ => None,
        }
    }
}

/// Waiters with the holders of the keys that they wait for. A key between two holders (just released, not yet passed
/// on) has no holder: its waiters are left out.
fn waits_of(locks: &[Lock], outstanding: &[ConnectionId]) -> Vec<Wait> {
    let mut waits = Vec::new();
    for waiter in outstanding {
        let keys: Vec<&str> = locks
            .iter()
            .filter(|lock| lock.session == *waiter && !lock.granted)
            .map(|lock| lock.key.as_str())
            .collect();
        let mut holders: Vec<ConnectionId> = locks
            .iter()
            .filter(|lock| {
                lock.granted && lock.session != *waiter && keys.contains(&lock.key.as_str())
            })
            .map(|lock| lock.session)
            .collect();
        holders.sort_unstable();
        holders.dedup();
        if !holders.is_empty() {
            waits.push(lock_wait(*waiter, Some(holders)));
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(session: ConnectionId, key: &str, granted: bool) -> Lock {
        Lock { session, key: key.to_owned(), granted }
    }

    #[test]
    fn waiters_are_paired_with_the_holders_of_their_keys() {
        let locks =
            [lock(1, "/a", true), lock(2, "/a", false), lock(3, "/a", false), lock(2, "/b", true)];
        let waits = waits_of(&locks, &[2, 3]);
        assert_eq!(waits, [lock_wait(2, Some(vec![1])), lock_wait(3, Some(vec![1]))]);
        assert_eq!(waits_of(&[lock(2, "/a", false)], &[2]), []);
    }

    /// Who waits and for whom, by the rows of the view and the metric.
    fn look(
        locks: &[Lock],
        pushers: usize,
        outstanding: &[ConnectionId],
    ) -> Vec<(ConnectionId, Option<Vec<ConnectionId>>)> {
        let waits = together(waits_of(locks, outstanding), pushers, outstanding);
        waits.into_iter().map(|wait| (wait.waiter, wait.blockers)).collect()
    }

    #[test]
    fn what_one_source_does_not_show_the_other_does() {
        // t1 (1) has /1 reserved and waits for t2 (2) at /2; t4 (4) waits for the reservation and has no row.
        let locks = [lock(2, "/2", true), lock(1, "/2", false)];
        assert_eq!(look(&locks, 2, &[1, 4]), [(1, Some(vec![2])), (4, None)]);
        // The view may show nothing at all, or the version may not have it.
        assert_eq!(look(&[], 2, &[1, 4]), [(1, None), (4, None)]);
        assert_eq!(look(&[], 1, &[4]), [(4, None)]);
        // A waiter in the queue of a key without a holder is not shown, but it counts.
        assert_eq!(look(&[lock(4, "/1", false)], 1, &[4]), [(4, None)]);
        // Nothing is counted yet, or the metric may not be read: those that are shown wait.
        assert_eq!(look(&locks, 0, &[1]), [(1, Some(vec![2]))]);
    }

    #[test]
    fn fewer_waiters_than_statements_do_not_tell_who_moves() {
        // One waits, two are outstanding: it may be either of them.
        assert_eq!(look(&[], 1, &[1, 4]), []);
        // The one that counts may be the one that is shown.
        let locks = [lock(2, "/2", true), lock(1, "/2", false)];
        assert_eq!(look(&locks, 1, &[1, 4]), [(1, Some(vec![2]))]);
    }
}
