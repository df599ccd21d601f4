//! Which connections wait, by the state in `SHOW PROCESSLIST`.
//!
//! Row locks never show there; metadata locks, the global read lock, backup locks, table-level locks and
//! GET_LOCK do. Blind spot: a waiter clears its state only when it gets the processor again, so for a
//! moment after the lock was granted the state is out of date. Callers have to confirm it.

use std::collections::BTreeMap;

use anchorite_model::Value;

use super::text;
use crate::ConnectionId;

/// `GET_LOCK`
const USER_LOCK: &str = "User lock";
/// `FLUSH TABLES` waits until others close theirs.
const TABLE_FLUSH: &str = "Waiting for table flush";

/// The rows of `SHOW PROCESSLIST` that wait for a lock: connection → what for.
pub(crate) fn waiting_states(rows: &[Vec<Value>]) -> BTreeMap<ConnectionId, String> {
    rows.iter()
        .filter_map(|row| {
            let id = text(row.first()?)?.parse().ok()?;
            let state = text(row.get(STATE_COLUMN)?)?;
            Some((id, awaited(&state)?))
        })
        .collect()
}

/// Id, User, Host, db, Command, Time, State, Info
const STATE_COLUMN: usize = 6;

/// What a state says is being waited for.
fn awaited(state: &str) -> Option<String> {
    match state {
        USER_LOCK => Some("user lock".to_owned()),
        TABLE_FLUSH => Some("table flush".to_owned()),
        _ => {
            let lock = state.strip_prefix("Waiting for ")?;
            lock.ends_with(" lock").then(|| lock.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_for_locks_count() {
        let row = |id: i128, state: Option<&str>| {
            let state = state.map_or(Value::Null, |state| Value::Text(state.to_owned()));
            let mut row = vec![Value::Int(id)];
            row.extend(std::iter::repeat_n(Value::Null, STATE_COLUMN - 1));
            row.extend([state, Value::Text("SELECT 1".to_owned())]);
            row
        };
        let rows = [
            row(1, Some("Waiting for table metadata lock")),
            row(2, Some("User lock")),
            row(3, Some("Waiting for backup lock")),
            row(4, Some("Waiting for table flush")),
            row(5, Some("User sleep")),
            row(6, Some("Updating")),
            row(7, Some("")),
            row(8, None),
            row(9, Some("Waiting for next activation")),
            row(10, Some("Waiting for table level lock")),
        ];
        let waits = waiting_states(&rows);
        let waits: Vec<_> = waits.iter().map(|(id, what)| (*id, what.as_str())).collect();
        assert_eq!(
            waits,
            [
                (1, "table metadata lock"),
                (2, "user lock"),
                (3, "backup lock"),
                (4, "table flush"),
                (10, "table level lock"),
            ]
        );
    }
}
