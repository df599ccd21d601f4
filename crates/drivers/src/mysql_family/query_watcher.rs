//! A watcher that asks one query of a product's descriptor, and the process list for what that does not show.
//!
//! The query returns a row per wait: the waiting connection, the one that it waits for (NULL if the server does not
//! say), and what for. Both queries go in one round trip, unless the view must be spared: where the descriptor names
//! the state that such a wait has in the process list, that is looked at first. Assumption: a lock that was granted is
//! gone from the view. Blind spot: what neither the view nor the process list shows.

use std::collections::BTreeMap;

use anchorite_model::Value;
use anchorite_model::product::Waits;

use crate::endpoint::Endpoint;
use crate::mysql_control::{CONTROL_LIMIT, StateWatch, cannot_ask, rows, text, waiting_states};
use crate::mysql_wire::{Connection, WireError};
use crate::{ConnectionId, TargetError, Wait, Watcher};

pub(super) struct QueryWatcher {
    connection: Connection,
    endpoint: String,
    query: String,
    /// What the process list says of a wait that the query shows; `None` = it is asked every time.
    state: Option<String>,
    method: String,
    states: StateWatch,
}

impl QueryWatcher {
    /// Connects and asks once, so that missing privileges are noticed here.
    pub(super) fn open(endpoint: &Endpoint, told: &Waits) -> Result<Self, String> {
        let query = &told.query;
        let open = || -> Result<_, Box<dyn std::error::Error>> {
            let mut connection = Connection::open_multi(endpoint)?;
            let states = StateWatch::new(&mut connection)?;
            let method = format!("{}, {}", views(query), states.method());
            let (endpoint, query, state) =
                (endpoint.to_string(), query.clone(), told.state.clone());
            let mut watcher = Self { connection, endpoint, query, state, method, states };
            watcher.ask()?;
            Ok(watcher)
        };
        open().map_err(|error| format!("{}: {error}", views(query)))
    }

    fn look(&mut self, outstanding: &[ConnectionId]) -> Result<Vec<Wait>, WireError> {
        let (mut waits, mut states) = match self.state.clone() {
            None => self.ask()?,
            Some(state) => {
                let answer = self.connection.query("SHOW PROCESSLIST", CONTROL_LIMIT)?;
                let mut states = waiting_states(rows(&answer, 0));
                let is_so = |id: &ConnectionId| states.get(id) == Some(&state);
                let waits = if outstanding.iter().any(is_so) { self.ask()?.0 } else { Vec::new() };
                states.retain(|_, awaited| *awaited != state);
                (waits, states)
            }
        };
        waits.retain(|wait| outstanding.contains(&wait.waiter));
        states.retain(|id, _| waits.iter().all(|wait| wait.waiter != *id));
        waits.extend(self.states.waits(&mut self.connection, outstanding, states)?);
        Ok(waits)
    }

    /// What the query and the process list say.
    fn ask(&mut self) -> Result<(Vec<Wait>, BTreeMap<ConnectionId, String>), WireError> {
        let both = format!("{}; SHOW PROCESSLIST", self.query);
        let answer = self.connection.query(&both, CONTROL_LIMIT)?;
        Ok((read(rows(&answer, 0)), waiting_states(rows(&answer, 1))))
    }
}

/// The views in a query, for people: the names with a dot.
fn views(query: &str) -> String {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
    let mut views: Vec<&str> = Vec::new();
    for word in words.filter(|word| word.to_lowercase().starts_with("information_schema.")) {
        let view = word.split_once('.').map_or(word, |(_, view)| view);
        if !views.contains(&view) {
            views.push(view);
        }
    }
    views.join(", ")
}

/// The rows of the query, grouped by waiter.
fn read(rows: &[Vec<Value>]) -> Vec<Wait> {
    let number = |cell: &Value| -> Option<u64> { text(cell)?.parse().ok() };
    let mut waits: Vec<Wait> = Vec::new();
    for row in rows {
        let [waiter, blocker, kind] = &row[..] else { continue };
        let (Some(waiter), blocker) = (number(waiter), number(blocker)) else { continue };
        match waits.iter_mut().find(|wait| wait.waiter == waiter) {
            Some(wait) => {
                if let (Some(known), Some(blocker)) = (&mut wait.blockers, blocker)
                    && !known.contains(&blocker)
                {
                    known.push(blocker);
                }
            }
            None => {
                let blockers = blocker.map(|blocker| vec![blocker]);
                waits.push(Wait { waiter, blockers, kind: text(kind).unwrap_or_default() });
            }
        }
    }
    waits
}

impl Watcher for QueryWatcher {
    fn method(&self) -> String {
        self.method.clone()
    }

    fn waits(
        &mut self,
        outstanding: &[ConnectionId],
        _all: &[ConnectionId],
    ) -> Result<Vec<Wait>, TargetError> {
        self.look(outstanding).map_err(|error| cannot_ask(&self.endpoint, &error))
    }

    fn waits_last(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blockers_of_one_waiter_are_put_together() {
        let row = |waiter: i128, blocker: Option<i128>| {
            let blocker = blocker.map_or(Value::Null, Value::Int);
            vec![Value::Int(waiter), blocker, Value::Text("row lock".to_owned())]
        };
        let waits = read(&[row(4, Some(5)), row(6, None), row(4, Some(7)), row(4, Some(5))]);
        let wait = |waiter, blockers| Wait { waiter, blockers, kind: "row lock".to_owned() };
        assert_eq!(waits, [wait(4, Some(vec![5, 7])), wait(6, None)]);
    }

    #[test]
    fn the_method_names_the_views() {
        let query = "SELECT 1 FROM information_schema.ROCKSDB_TRX w JOIN information_schema.ROCKSDB_LOCKS l";
        assert_eq!(views(query), "ROCKSDB_TRX, ROCKSDB_LOCKS");
    }
}
