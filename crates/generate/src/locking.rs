//! Queries that lock the rows that they return.
//!
//! Idea: every strength that the target has, with what it offers beside: refuse to wait (`NOWAIT`), pass over what
//! others have locked (`SKIP LOCKED`), lock the rows of one of two joined tables (`OF`).

use crate::condition::Condition;
use crate::generator::Generator;

/// A locking clause.
#[derive(Debug, Clone, Copy)]
struct Lock {
    /// The option of the grammar that it belongs to.
    feature: &'static str,
    sql: &'static str,
    /// The options of NOWAIT and SKIP LOCKED behind it.
    nowait: &'static str,
    skip: &'static str,
    /// Whether `OF t` may follow.
    takes_table: bool,
}

const fn lock(feature: &'static str, sql: &'static str) -> Lock {
    Lock { feature, sql, nowait: "share-nowait", skip: "share-nowait", takes_table: true }
}

const FOR_UPDATE: Lock =
    Lock { nowait: "nowait", skip: "skip-locked", ..lock("for-update", "FOR UPDATE") };

/// All of them; the strongest one counts twice.
const LOCKS: [Lock; 6] = [
    FOR_UPDATE,
    FOR_UPDATE,
    lock("for-share", "FOR SHARE"),
    Lock {
        nowait: "share-mode-nowait",
        skip: "share-mode-nowait",
        takes_table: false,
        ..lock("lock-in-share-mode", "LOCK IN SHARE MODE")
    },
    lock("for-no-key-update", "FOR NO KEY UPDATE"),
    lock("for-key-share", "FOR KEY SHARE"),
];

impl Generator<'_> {
    /// Whether the target has any lock for queries.
    pub(crate) fn has_locks(&self) -> bool {
        LOCKS.iter().any(|lock| self.grammar.has(lock.feature))
    }

    /// The rows of a table that meet a condition, with locks if the target has them.
    pub(crate) fn locking_where(&mut self, table: usize, condition: &Condition) -> String {
        let query = self.select_where(table, condition);
        let of = &self.table(table).name;
        self.with_lock(query, of)
    }

    /// The same with a lock that others may have as well, if there is one; none of the rows is passed over.
    pub(crate) fn sharing_where(&mut self, table: usize, condition: &Condition) -> String {
        let query = self.select_where(table, condition);
        let is_shared = |lock: &&Lock| lock.sql.contains("SHARE") && self.grammar.has(lock.feature);
        let locks: Vec<&Lock> = LOCKS.iter().filter(is_shared).collect();
        match self.random.try_pick(&locks) {
            Some(lock) => format!("{query} {}", lock.sql),
            None => query,
        }
    }

    /// A query with a lock on the rows of one of its tables, or on those of all.
    pub(crate) fn with_lock(&mut self, query: String, table: &str) -> String {
        let offered: Vec<&Lock> =
            LOCKS.iter().filter(|lock| self.grammar.has(lock.feature)).collect();
        let Some(lock) = self.random.try_pick(&offered).copied() else { return query };
        let weights = &self.grammar.weights.select;
        let has_of = lock.takes_table && self.grammar.has("lock-of");
        let of = if has_of && self.random.percent(weights.lock_of_percent) {
            format!(" OF {table}")
        } else {
            String::new()
        };
        let end = if self.grammar.has(lock.nowait) && self.random.percent(weights.nowait_percent) {
            " NOWAIT"
        } else if self.grammar.has(lock.skip) && self.random.percent(weights.skip_locked_percent) {
            " SKIP LOCKED"
        } else {
            ""
        };
        format!("{query} {}{of}{end}", lock.sql)
    }
}
