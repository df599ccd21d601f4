//! One case at a time on a node.
//!
//! Idea: the node reports how many requests wait, not whose they are. That is meaningful only while no other case runs
//! there, so cases take turns, in the order in which they asked. Little is lost: creating and dropping tables uses a
//! few system tables that all databases share, where several workers would block each other.
//!
//! Assumption: only this process uses the node.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::endpoint::Endpoint;

/// The nodes that this process uses, by address.
static NODES: Mutex<BTreeMap<String, Arc<Turns>>> = Mutex::new(BTreeMap::new());

/// Who is next on a node.
#[derive(Debug, Default)]
pub(super) struct Turns {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The first one has the turn.
#[derive(Debug, Default)]
struct Queue {
    tickets: VecDeque<u64>,
    last: u64,
}

impl Turns {
    /// Those of the node.
    pub(super) fn on(endpoint: &Endpoint) -> Arc<Self> {
        let address = format!("{}:{}", endpoint.host, endpoint.port.unwrap_or_default());
        Arc::clone(lock(&NODES).entry(address).or_default())
    }

    /// Joins the queue.
    pub(super) fn ask(self: &Arc<Self>) -> Turn {
        let mut queue = lock(&self.queue);
        queue.last += 1;
        let ticket = queue.last;
        queue.tickets.push_back(ticket);
        Turn { turns: Arc::clone(self), ticket }
    }
}

/// A place in the queue, released when dropped.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Arc<Turns>,
    ticket: u64,
}

impl crate::Turn for Turn {
    fn has_come_within(&self, limit: Duration) -> bool {
        let is_waiting = |queue: &mut Queue| queue.tickets.front() != Some(&self.ticket);
        let queue = lock(&self.turns.queue);
        let waited = self.turns.changed.wait_timeout_while(queue, limit, is_waiting);
        let (_queue, result) = waited.unwrap_or_else(PoisonError::into_inner);
        !result.timed_out()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.turns.queue).tickets.retain(|ticket| *ticket != self.ticket);
        self.turns.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Turn as _;

    #[test]
    fn turns_come_in_the_order_of_asking_and_may_be_given_up() {
        let turns = Arc::new(Turns::default());
        let [first, second, third] = [turns.ask(), turns.ask(), turns.ask()];
        let has_come = |turn: &Turn| turn.has_come_within(Duration::ZERO);
        assert!(has_come(&first) && !has_come(&second) && !has_come(&third));
        drop(second);
        assert!(!has_come(&third));
        drop(first);
        assert!(has_come(&third));
    }

    #[test]
    fn a_node_is_known_by_its_address() {
        let node = |host: &str, user: &str| {
            let url = format!("cockroach://{user}@{host}:1");
            Turns::on(&Endpoint::parse(&url).expect("a URL"))
        };
        assert!(Arc::ptr_eq(&node("a.test", "x"), &node("a.test", "y")));
        assert!(!Arc::ptr_eq(&node("a.test", "x"), &node("b.test", "x")));
    }
}
