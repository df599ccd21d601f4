//! The direct serialization graph: who depends on whom, as far as it is known for certain.
//!
//! Source: Adya 1999, as in Elle: ww to the writer of the next version, wr from the writer of the version read, rw to
//! the writer that overwrote it; session order and real time on demand. Predicate reads: wr from the writer of every
//! version examined, rw to every later version that changes whether the predicate matches. Assumption: the initial
//! state precedes everything, so it needs no node.

use crate::graph::Kind;
use crate::model::{History, KeyId, NO_TIME, NONE, OpId, TxnId};
use crate::orders::Orders;
use crate::resolve::{FIRST_SPECIAL, INIT, Resolved, UNBORN};
use crate::sessions::Sessions;

/// Reads of every version: readers by write, and readers of each key's initial version or of something older.
#[derive(Debug)]
pub struct Readers {
    starts: Vec<u32>,
    readers: Vec<TxnId>,
    initial_starts: Vec<u32>,
    of_initial: Vec<TxnId>,
}

impl Readers {
    /// Indexes all reads of included transactions.
    pub fn new(history: &History, resolved: &Resolved) -> Readers {
        let mut starts = vec![0_u32; history.ops.len() + 2];
        let mut initial_starts = vec![0_u32; history.keys.len() + 2];
        let reads = || {
            let sources = resolved.seen.iter().map(|seen| seen.source());
            sources.enumerate().filter(|(op, source)| {
                (*source < FIRST_SPECIAL || *source == INIT || *source == UNBORN)
                    && resolved.included[resolved.op_txn[*op] as usize]
            })
        };
        for (op, source) in reads() {
            if source >= FIRST_SPECIAL {
                initial_starts[history.ops[op].key as usize + 2] += 1;
            } else {
                starts[source as usize + 2] += 1;
            }
        }
        for starts in [&mut starts, &mut initial_starts] {
            for at in 2..starts.len() {
                starts[at] += starts[at - 1];
            }
        }
        let mut readers = vec![0; starts[starts.len() - 1] as usize];
        let mut of_initial = vec![0; initial_starts[initial_starts.len() - 1] as usize];
        for (op, source) in reads() {
            let (starts, list, at) = if source >= FIRST_SPECIAL {
                (&mut initial_starts, &mut of_initial, history.ops[op].key)
            } else {
                (&mut starts, &mut readers, source)
            };
            let slot = &mut starts[at as usize + 1];
            list[*slot as usize] = resolved.op_txn[op];
            *slot += 1;
        }
        starts.pop();
        initial_starts.pop();
        Readers { starts, readers, initial_starts, of_initial }
    }

    /// Who read what this write installed.
    #[inline]
    pub fn of(&self, write: OpId) -> &[TxnId] {
        let range = self.starts[write as usize] as usize..self.starts[write as usize + 1] as usize;
        &self.readers[range]
    }

    /// Who read the initial version of the key, or nothing where it has one: all writers come later.
    pub fn of_initial(&self, key: u32) -> &[TxnId] {
        let range = self.initial_starts[key as usize] as usize
            ..self.initial_starts[key as usize + 1] as usize;
        &self.of_initial[range]
    }
}

/// Hands all certain dependencies to `add(from, to, kind)`.
pub fn data_edges(
    history: &History,
    resolved: &Resolved,
    orders: &Orders,
    readers: &Readers,
    mut add: impl FnMut(TxnId, TxnId, Kind),
) {
    for txn in 0..history.txns.len() as TxnId {
        if !resolved.included[txn as usize] {
            continue;
        }
        for op in history.range(txn) {
            if let Some(writer) = resolved.seen[op].writer() {
                add(writer, txn, Kind::Wr);
            }
        }
    }
    for key in 0..orders.keys() as KeyId {
        for (at, chain) in orders.chains(key).enumerate() {
            let first = resolved.op_txn[chain[0] as usize];
            if at > 0 && orders.first_is_first(key) {
                let before = orders.chain(key, 0);
                follow(resolved, readers, before[before.len() - 1], first, &mut add);
            } else {
                for &reader in readers.of_initial(key) {
                    if reader != first {
                        add(reader, first, Kind::Rw);
                    }
                }
            }
            for pair in chain.windows(2) {
                let next = resolved.op_txn[pair[1] as usize];
                follow(resolved, readers, pair[0], next, &mut add);
            }
        }
    }
}

/// Edges of a version and the transaction that wrote the next one.
fn follow(
    resolved: &Resolved,
    readers: &Readers,
    version: OpId,
    next: TxnId,
    add: &mut impl FnMut(TxnId, TxnId, Kind),
) {
    let writer = resolved.op_txn[version as usize];
    if writer != next {
        add(writer, next, Kind::Ww);
    }
    for &reader in readers.of(version) {
        if reader != next {
            add(reader, next, Kind::Rw);
        }
    }
}

/// Session order: each transaction to the next of its session.
pub fn session_edges(sessions: &Sessions, mut add: impl FnMut(TxnId, TxnId)) {
    for &txn in &sessions.order {
        let previous = sessions.previous[txn as usize];
        if previous != NONE {
            add(previous, txn);
        }
    }
}

/// Real time, transitively reduced: from a completion to every later invocation that no other
/// transaction lies between.
pub fn real_time_edges(history: &History, resolved: &Resolved, add: impl FnMut(TxnId, TxnId)) {
    real_time_between(history, &resolved.included, add);
}

/// Real time between these transactions only.
pub fn real_time_between(history: &History, included: &[bool], mut add: impl FnMut(TxnId, TxnId)) {
    let mut events: Vec<(u64, bool, TxnId)> = Vec::new();
    for (txn, what) in history.txns.iter().enumerate() {
        if !included[txn] || what.invoked == NO_TIME {
            continue;
        }
        // At the same instant an invocation comes before a completion: no order is claimed.
        events.push((what.invoked, false, txn as TxnId));
        if what.completed != NO_TIME {
            events.push((what.completed, true, txn as TxnId));
        }
    }
    events.sort_unstable();
    // Completed transactions that no later-invoked completed one has replaced yet.
    let mut frontier: Vec<TxnId> = Vec::new();
    for (_, is_completion, txn) in events {
        if is_completion {
            let invoked = history.txns[txn as usize].invoked;
            frontier.retain(|before| history.txns[*before as usize].completed >= invoked);
            frontier.push(txn);
        } else {
            for &before in &frontier {
                add(before, txn);
            }
        }
    }
}
