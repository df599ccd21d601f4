//! Who waits for whose metadata lock, from `performance_schema.metadata_locks`: the pure part.
//!
//! Metadata locks protect definitions (DDL against open transactions), and MySQL and MariaDB use the same
//! mechanism for LOCK TABLES, GET_LOCK, the global read lock and backups. A pending request waits for
//! every conflicting granted lock on its object, and for pending requests of higher priority.
//!
//! Source: the compatibility tables in the servers' `mdl.cc`. Assumption: the server's row for a lock
//! appears and disappears with the lock. Blind spots, hence [`WaitState::Unclear`]: a waiter's own row
//! stays PENDING for a moment after the grant, and a lock that was upgraded keeps its first type.

use crate::ConnectionId;

/// One row of `metadata_locks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ticket {
    /// Object type, schema and name.
    pub object: [String; 3],
    /// `SHARED_READ`, `EXCLUSIVE`, …
    pub lock_type: String,
    pub is_pending: bool,
    /// `None`: not a connection.
    pub owner: Option<ConnectionId>,
}

/// What the tickets say about a connection in a waiting state.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WaitState {
    /// It waits for these.
    Waiting(Vec<ConnectionId>),
    /// It does not: no other connection has a lock on its object. It was granted the lock just now.
    NotWaiting,
    /// The tickets do not explain the wait; these connections share its object.
    Unclear(Vec<ConnectionId>),
}

/// Decides for one connection.
pub(super) fn wait_state(waiter: ConnectionId, tickets: &[Ticket]) -> WaitState {
    let mut blockers = Vec::new();
    let mut sharers = Vec::new();
    let mut is_pending = false;
    for asked in tickets.iter().filter(|t| t.is_pending && t.owner == Some(waiter)) {
        is_pending = true;
        let others = tickets.iter().filter(|t| t.owner != Some(waiter) && t.object == asked.object);
        for other in others {
            if asked.waits_for(other) {
                blockers.extend(other.owner);
            } else if !other.is_pending {
                sharers.extend(other.owner);
            }
        }
    }
    for list in [&mut blockers, &mut sharers] {
        list.sort_unstable();
        list.dedup();
    }
    if !blockers.is_empty() {
        WaitState::Waiting(blockers)
    } else if is_pending && sharers.is_empty() {
        WaitState::NotWaiting
    } else {
        WaitState::Unclear(sharers)
    }
}

impl Ticket {
    /// Whether this pending request has to wait for the other ticket on the same object.
    fn waits_for(&self, other: &Self) -> bool {
        let (asked, other_type) = (self.lock_type.as_str(), other.lock_type.as_str());
        let table = if other.is_pending { &YIELDS_TO_PENDING } else { &CONFLICTS_WITH_GRANTED };
        match (position(asked), position(other_type)) {
            (Some(asked), Some(other)) => table[asked].as_bytes()[other] == b'-',
            _ => scoped_conflict(asked, other_type),
        }
    }
}

/// The types of locks on objects, in the order of the tables below.
const OBJECT_TYPES: [&str; 10] = [
    "SHARED",
    "SHARED_HIGH_PRIO",
    "SHARED_READ",
    "SHARED_WRITE",
    "SHARED_WRITE_LOW_PRIO",
    "SHARED_UPGRADABLE",
    "SHARED_READ_ONLY",
    "SHARED_NO_WRITE",
    "SHARED_NO_READ_WRITE",
    "EXCLUSIVE",
];

/// Row: requested, column: granted to another.
const CONFLICTS_WITH_GRANTED: [&str; 10] = [
    "+++++++++-",
    "+++++++++-",
    "++++++++--",
    "++++++----",
    "++++++----",
    "+++++-+---",
    "+++--+++--",
    "+++---+---",
    "++--------",
    "----------",
];

/// Row: requested, column: asked for by another, with higher priority.
const YIELDS_TO_PENDING: [&str; 10] = [
    "+++++++++-",
    "++++++++++",
    "++++++++--",
    "+++++++---",
    "++++++----",
    "+++++++++-",
    "+++-++++--",
    "+++++++++-",
    "+++++++++-",
    "++++++++++",
];

fn position(lock_type: &str) -> Option<usize> {
    OBJECT_TYPES.iter().position(|known| *known == lock_type)
}

/// Conflicts of locks on scopes: intention locks, and MariaDB's backup locks.
fn scoped_conflict(asked: &str, other: &str) -> bool {
    const INTENTION: &str = "INTENTION_EXCLUSIVE";
    let stops_writes = |lock: &str| lock.starts_with("BACKUP_FTWRL");
    let is_write = |lock: &str| {
        ["DML", "TRANS_DML", "SYS_DML", "DDL", "ALTER_COPY", "COMMIT"]
            .iter()
            .any(|kind| lock.strip_prefix("BACKUP_") == Some(kind))
    };
    (asked == INTENTION) != (other == INTENTION)
        && !asked.starts_with("BACKUP_")
        && !other.starts_with("BACKUP_")
        || stops_writes(asked) && is_write(other)
        || is_write(asked) && stops_writes(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `owner type status` on one object per line.
    fn tickets(text: &str) -> Vec<Ticket> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines
            .map(|line| {
                let words: Vec<_> = line.split_whitespace().collect();
                let [owner, object, lock_type, status] = words[..] else { panic!("{line}") };
                Ticket {
                    object: ["TABLE".into(), "d".into(), object.into()],
                    lock_type: lock_type.into(),
                    is_pending: status == "PENDING",
                    owner: owner.parse().ok(),
                }
            })
            .collect()
    }

    fn check(text: &str, expected: &[(ConnectionId, WaitState)]) {
        let tickets = tickets(text);
        for (waiter, judgement) in expected {
            assert_eq!(wait_state(*waiter, &tickets), *judgement, "{waiter} in {text}");
        }
    }

    #[test]
    fn ddl_waits_for_an_open_transaction_and_others_wait_for_the_ddl() {
        check(
            "1 t SHARED_READ GRANTED
             2 t SHARED_UPGRADABLE GRANTED
             2 t EXCLUSIVE PENDING
             3 t SHARED_READ PENDING",
            &[(2, WaitState::Waiting(vec![1])), (3, WaitState::Waiting(vec![2]))],
        );
    }

    #[test]
    fn a_granted_request_that_looks_pending_is_not_waiting() {
        check(
            "2 t EXCLUSIVE PENDING
             1 u SHARED_READ GRANTED",
            &[(2, WaitState::NotWaiting)],
        );
    }

    #[test]
    fn an_upgraded_lock_leaves_the_wait_unclear() {
        check(
            "1 t SHARED_READ GRANTED
             2 t SHARED_WRITE PENDING",
            &[(2, WaitState::Unclear(vec![1])), (3, WaitState::Unclear(vec![]))],
        );
    }

    #[test]
    fn scopes_and_user_locks_conflict() {
        for (asked, granted) in [
            ("SHARED_NO_WRITE", "SHARED_NO_WRITE"),
            ("EXCLUSIVE", "EXCLUSIVE"),
            ("INTENTION_EXCLUSIVE", "SHARED"),
            ("SHARED", "INTENTION_EXCLUSIVE"),
            ("BACKUP_COMMIT", "BACKUP_FTWRL1"),
            ("BACKUP_FTWRL1", "BACKUP_TRANS_DML"),
        ] {
            check(
                &format!("1 o {granted} GRANTED\n2 o {asked} PENDING"),
                &[(2, WaitState::Waiting(vec![1]))],
            );
        }
        for (asked, granted) in [
            ("INTENTION_EXCLUSIVE", "INTENTION_EXCLUSIVE"),
            ("BACKUP_DDL", "BACKUP_TRANS_DML"),
            ("SHARED_WRITE", "SHARED_WRITE"),
        ] {
            check(
                &format!("1 o {granted} GRANTED\n2 o {asked} PENDING"),
                &[(2, WaitState::Unclear(vec![1]))],
            );
        }
    }
}
