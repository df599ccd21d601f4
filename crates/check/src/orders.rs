//! Version orders: what is known about which write of a key came after which.
//!
//! Idea: for every key a list of chains. Inside a chain each version is known to be followed directly
//! by the next; how the chains follow each other is open. A key with one chain has a known order.
//! Sources of knowledge: list reads (the longest list is the order, appends that nobody saw come
//! after it), version numbers in the input, a given order of all transactions, and, for levels that
//! forbid lost updates, read-modify-write: whoever read a version and wrote the key wrote the next one.
//! Blind spot: lists that contradict each other; the longest that fits the first read wins, the
//! contradiction itself is reported as `incompatible-order`.

use crate::hash::WordMap;
use crate::model::{Atom, History, KeyId, NONE, OpId, TxnId, Workload};
use crate::resolve::{FIRST_SPECIAL, Resolved};

/// What is known of one key: chains of writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyOrder {
    /// Writes in version order, chain by chain.
    pub chains: Vec<Vec<OpId>>,
    /// Whether all other chains come after the first one.
    pub first_is_first: bool,
}

/// What is known of all keys.
#[derive(Debug, Clone)]
pub struct Orders {
    /// By key.
    pub keys: Vec<KeyOrder>,
    /// Whether read-modify-write chains were derived: sound only where lost updates are forbidden.
    pub derived: bool,
}

impl Orders {
    /// Whether every key has one chain, or none.
    pub fn is_total(&self) -> bool {
        self.keys.iter().all(|key| key.chains.len() <= 1)
    }
}

/// Final writes of included transactions, by key; of lists every append.
pub fn writes_by_key(history: &History, resolved: &Resolved) -> Vec<Vec<OpId>> {
    let mut writes = vec![Vec::new(); history.keys.len()];
    let lists = history.workload == Workload::ListAppend;
    for (op, what) in history.ops.iter().enumerate() {
        let txn = resolved.op_txn[op];
        if !what.kind.is_write() || !resolved.included[txn as usize] {
            continue;
        }
        let of_key: &mut Vec<OpId> = &mut writes[what.key as usize];
        match of_key.last_mut() {
            Some(last) if !lists && resolved.op_txn[*last as usize] == txn => *last = op as OpId,
            _ => of_key.push(op as OpId),
        }
    }
    writes
}

/// Derives what is known without assuming a level: lists, version numbers, a given order.
pub fn known(history: &History, resolved: &Resolved, txn_order: Option<&[u64]>) -> Orders {
    let writes = writes_by_key(history, resolved);
    let numbers: WordMap<OpId, u64> = history.version_numbers.iter().copied().collect();
    let elements = elements(history, &writes);
    let keys = writes
        .into_iter()
        .enumerate()
        .map(|(key, writes)| {
            if let Some(order) = txn_order {
                return by_transaction(writes, resolved, order);
            }
            match history.workload {
                Workload::ListAppend => by_list(history, key as KeyId, &writes, &elements),
                _ if !numbers.is_empty() => by_number(writes, &numbers),
                _ => KeyOrder {
                    chains: writes.into_iter().map(|op| vec![op]).collect(),
                    first_is_first: false,
                },
            }
        })
        .collect();
    Orders { keys, derived: false }
}

fn elements(history: &History, writes: &[Vec<OpId>]) -> WordMap<(KeyId, Atom), OpId> {
    let mut elements = WordMap::default();
    if history.workload == Workload::ListAppend {
        for &op in writes.iter().flatten() {
            let what = history.ops[op as usize];
            elements.insert((what.key, what.value), op);
        }
    }
    elements
}

fn by_list(
    history: &History,
    key: KeyId,
    writes: &[OpId],
    elements: &WordMap<(KeyId, Atom), OpId>,
) -> KeyOrder {
    let longest = history.lists.longest_of_all(key);
    let mut seen: Vec<OpId> = Vec::with_capacity(longest.len());
    let mut placed: WordMap<OpId, ()> = WordMap::default();
    for element in longest {
        if let Some(&op) = elements.get(&(key, *element))
            && placed.insert(op, ()).is_none()
        {
            seen.push(op);
        }
    }
    let observed = !seen.is_empty();
    let mut chains = if observed { vec![seen] } else { Vec::new() };
    chains.extend(writes.iter().filter(|op| !placed.contains_key(op)).map(|op| vec![*op]));
    KeyOrder { chains, first_is_first: observed }
}

fn by_number(writes: Vec<OpId>, numbers: &WordMap<OpId, u64>) -> KeyOrder {
    let (mut known, unknown): (Vec<OpId>, Vec<OpId>) =
        writes.into_iter().partition(|op| numbers.contains_key(op));
    known.sort_by_key(|op| numbers.get(op).copied().unwrap_or(0));
    let mut chains = if known.is_empty() { Vec::new() } else { vec![known] };
    chains.extend(unknown.into_iter().map(|op| vec![op]));
    KeyOrder { chains, first_is_first: false }
}

fn by_transaction(mut writes: Vec<OpId>, resolved: &Resolved, order: &[u64]) -> KeyOrder {
    writes.sort_by_key(|op| (order[resolved.op_txn[*op as usize] as usize], *op));
    let chains = if writes.is_empty() { Vec::new() } else { vec![writes] };
    KeyOrder { chains, first_is_first: false }
}

/// Two transactions read the same version of a key and both wrote the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The key.
    pub key: KeyId,
    /// The write that both read; [`NONE`] for the initial state.
    pub version: OpId,
    /// One of them.
    pub first: TxnId,
    /// The other one.
    pub second: TxnId,
}

/// Joins chains where a transaction read a version and wrote the key. Gives back a pair that makes
/// this impossible, if there is one.
pub fn derive_from_updates(
    history: &History,
    resolved: &Resolved,
    orders: &Orders,
) -> (Orders, Option<Clash>) {
    let mut follower: WordMap<(KeyId, OpId), OpId> = WordMap::default();
    let mut clash = None;
    for (key, order) in orders.keys.iter().enumerate() {
        for &op in order.chains.iter().flatten() {
            let txn = resolved.op_txn[op as usize];
            for read in history.range(txn) {
                let source = resolved.source[read];
                let initial = source == crate::resolve::INIT;
                if history.ops[read].key != key as KeyId || !(source < FIRST_SPECIAL || initial) {
                    continue;
                }
                let version = if initial { NONE } else { source };
                let earlier = *follower.entry((key as KeyId, version)).or_insert(op);
                let other = resolved.op_txn[earlier as usize];
                if other != txn && clash.is_none() {
                    let (first, second) = (other, txn);
                    clash = Some(Clash { key: key as KeyId, version, first, second });
                }
            }
        }
    }
    let keys = orders
        .keys
        .iter()
        .enumerate()
        .map(|(key, order)| join(key as KeyId, order, &follower))
        .collect();
    (Orders { keys, derived: true }, clash)
}

fn join(key: KeyId, order: &KeyOrder, follower: &WordMap<(KeyId, OpId), OpId>) -> KeyOrder {
    if order.chains.len() < 2 {
        return order.clone();
    }
    let mut head: WordMap<OpId, usize> = WordMap::default();
    for (at, chain) in order.chains.iter().enumerate() {
        head.insert(chain[0], at);
    }
    let next: Vec<Option<usize>> = order
        .chains
        .iter()
        .map(|chain| {
            let last = chain[chain.len() - 1];
            follower.get(&(key, last)).and_then(|op| head.get(op)).copied()
        })
        .collect();
    let mut has_previous = vec![false; order.chains.len()];
    for to in next.iter().flatten() {
        has_previous[*to] = true;
    }
    let first = follower.get(&(key, NONE)).and_then(|op| head.get(op)).copied();
    let mut used = vec![false; order.chains.len()];
    let mut chains = Vec::new();
    let mut starts: Vec<usize> = (0..order.chains.len()).filter(|at| !has_previous[*at]).collect();
    // Whoever updated the initial state comes first of all.
    let first = first.filter(|at| !has_previous[*at] && !order.first_is_first);
    if let Some(first) = first {
        starts.retain(|at| *at != first);
        starts.insert(0, first);
    }
    // Updates that read each other in a circle have no start; they stay apart and show as a cycle.
    for start in starts.into_iter().chain(0..order.chains.len()) {
        let mut chain = Vec::new();
        let mut at = Some(start);
        while let Some(here) = at
            && !used[here]
        {
            used[here] = true;
            chain.extend_from_slice(&order.chains[here]);
            at = next[here];
        }
        if !chain.is_empty() {
            chains.push(chain);
        }
    }
    KeyOrder { chains, first_is_first: order.first_is_first || first.is_some() }
}
