//! Version orders: what is known about which write of a key came after which.
//!
//! Idea: for every key a list of chains. Inside a chain each version is known to be followed directly
//! by the next; how the chains follow each other is open. A key with one chain has a known order.
//! Sources of knowledge: list reads (the longest list is the order, appends that nobody saw come
//! after it), version numbers in the input, a given order of all transactions, and, for levels that
//! forbid lost updates, read-modify-write: whoever read a version and wrote the key wrote the next one.
//! All chains lie in one array, key by key.
//! Blind spot: lists that contradict each other; the longest wins, the contradiction itself is reported
//! as `incompatible-order`.

use crate::hash::WordMap;
use crate::model::{Atom, History, KeyId, NONE, OpId, TxnId, Workload};
use crate::resolve::{FIRST_SPECIAL, Fault, INIT, Resolved};

/// What is known of all keys.
#[derive(Debug, Clone, Default)]
pub struct Orders {
    /// Writes in version order, chain by chain, key by key.
    ops: Vec<OpId>,
    /// Where each chain starts in `ops`, and the end.
    chain_starts: Vec<u32>,
    /// Where each key's chains start in `chain_starts`, and the end.
    key_starts: Vec<u32>,
    /// Whether all other chains of a key come after its first one.
    first_is_first: Vec<bool>,
}

impl Orders {
    fn start() -> Orders {
        Orders { chain_starts: vec![0], key_starts: vec![0], ..Orders::default() }
    }

    fn end_chain(&mut self) {
        self.chain_starts.push(self.ops.len() as u32);
    }

    fn end_key(&mut self, first_is_first: bool) {
        self.key_starts.push(self.chain_starts.len() as u32 - 1);
        self.first_is_first.push(first_is_first);
    }

    /// How many keys there are.
    pub fn keys(&self) -> usize {
        self.first_is_first.len()
    }

    /// How many chains a key has.
    pub fn chain_count(&self, key: KeyId) -> usize {
        (self.key_starts[key as usize + 1] - self.key_starts[key as usize]) as usize
    }

    /// One chain of a key.
    pub fn chain(&self, key: KeyId, at: usize) -> &[OpId] {
        let chain = self.key_starts[key as usize] as usize + at;
        &self.ops[self.chain_starts[chain] as usize..self.chain_starts[chain + 1] as usize]
    }

    /// The chains of a key.
    pub fn chains(&self, key: KeyId) -> impl Iterator<Item = &[OpId]> + '_ {
        (0..self.chain_count(key)).map(move |at| self.chain(key, at))
    }

    /// Whether all other chains of a key come after its first one.
    pub fn first_is_first(&self, key: KeyId) -> bool {
        self.first_is_first[key as usize]
    }

    /// Whether the order of some writes is open.
    pub fn is_open(&self) -> bool {
        (0..self.keys() as KeyId)
            .any(|key| self.chain_count(key) > 1 + usize::from(self.first_is_first(key)))
    }

    /// Every write that has a place.
    pub fn all_writes(&self) -> &[OpId] {
        &self.ops
    }
}

/// Final writes of included transactions, by key; of lists every append.
fn writes_by_key(history: &History, resolved: &Resolved) -> (Vec<u32>, Vec<OpId>) {
    let lists = history.workload == Workload::ListAppend;
    let mut last = vec![(NONE, 0_u32); history.keys.len()];
    let mut starts = vec![0_u32; history.keys.len() + 2];
    let counted = |op: usize| {
        let txn = resolved.op_txn[op];
        (history.ops[op].kind.is_write() && resolved.included[txn as usize]).then_some(txn)
    };
    for op in 0..history.ops.len() {
        let Some(txn) = counted(op) else { continue };
        let key = history.ops[op].key as usize;
        if lists || std::mem::replace(&mut last[key].0, txn) != txn {
            starts[key + 2] += 1;
        }
    }
    for at in 2..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut writes = vec![0; starts[starts.len() - 1] as usize];
    last.fill((NONE, 0));
    for op in 0..history.ops.len() {
        let Some(txn) = counted(op) else { continue };
        let key = history.ops[op].key as usize;
        if !lists && last[key].0 == txn {
            writes[last[key].1 as usize] = op as OpId;
            continue;
        }
        let slot = &mut starts[key + 1];
        last[key] = (txn, *slot);
        writes[*slot as usize] = op as OpId;
        *slot += 1;
    }
    starts.pop();
    (starts, writes)
}

/// Derives what is known without assuming a level: lists, version numbers, a given order.
pub fn known(history: &History, resolved: &Resolved, txn_order: Option<&[u64]>) -> Orders {
    let (starts, mut writes) = writes_by_key(history, resolved);
    let numbers: WordMap<OpId, u64> = history.version_numbers.iter().copied().collect();
    let mut orders = Orders::start();
    orders.ops.reserve(writes.len());
    let mut lists = ByList::new(history, resolved);
    for key in 0..history.keys.len() {
        let writes = &mut writes[starts[key] as usize..starts[key + 1] as usize];
        if let Some(order) = txn_order {
            writes.sort_by_key(|op| (order[resolved.op_txn[*op as usize] as usize], *op));
            one_chain(&mut orders, writes);
        } else if history.workload == Workload::ListAppend {
            lists.order(key as KeyId, writes, &mut orders);
        } else if !numbers.is_empty() {
            by_number(writes, &numbers, &mut orders);
        } else {
            apart(&mut orders, writes);
            orders.end_key(false);
        }
    }
    orders
}

fn one_chain(orders: &mut Orders, writes: &[OpId]) {
    if !writes.is_empty() {
        orders.ops.extend_from_slice(writes);
        orders.end_chain();
    }
    orders.end_key(false);
}

fn apart(orders: &mut Orders, writes: &[OpId]) {
    for &write in writes {
        orders.ops.push(write);
        orders.end_chain();
    }
}

/// Orders appends by the lists that were read.
struct ByList<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    /// Whether some element was appended more than once.
    is_repeated: bool,
    /// One bit per operation: an append that has its place, or needs none.
    placed: Vec<u64>,
}

impl<'a> ByList<'a> {
    fn new(history: &'a History, resolved: &'a Resolved) -> ByList<'a> {
        let is_repeated = resolved.faults.iter().any(|at| at.fault == Fault::WrittenTwice);
        ByList { history, resolved, is_repeated, placed: vec![0; history.ops.len() / 64 + 1] }
    }

    /// False if it was placed before.
    fn place(&mut self, op: OpId) -> bool {
        let (word, bit) = (&mut self.placed[op as usize / 64], 1 << (op % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// The appends of the key's longest list, then those that nobody read. An element that is in the list twice, or
    /// was appended twice, counts once.
    fn order(&mut self, key: KeyId, writes: &[OpId], orders: &mut Orders) {
        let before = orders.ops.len();
        let longest = self.history.lists.longest_of_all(key);
        let resolved = self.resolved;
        if self.is_repeated || longest.len() > resolved.appends.of(key).len() {
            let value = |op: OpId| self.history.ops[op as usize].value;
            let last: WordMap<Atom, OpId> = writes.iter().map(|op| (value(*op), *op)).collect();
            let earlier: Vec<OpId> =
                writes.iter().copied().filter(|op| last[&value(*op)] != *op).collect();
            for op in earlier {
                self.place(op);
            }
            let appends = longest.iter().filter_map(|element| last.get(element).copied());
            orders.ops.extend(appends.filter(|op| self.place(*op)));
        } else {
            let counts =
                |op: OpId| op != NONE && resolved.included[resolved.op_txn[op as usize] as usize];
            let appends = resolved.appends.of(key).iter().copied().filter(|op| counts(*op));
            orders.ops.extend(appends.filter(|op| self.place(*op)));
        }
        let observed = orders.ops.len() > before;
        if observed {
            orders.end_chain();
        }
        for &write in writes {
            if self.place(write) {
                orders.ops.push(write);
                orders.end_chain();
            }
        }
        orders.end_key(observed);
    }
}

fn by_number(writes: &mut [OpId], numbers: &WordMap<OpId, u64>, orders: &mut Orders) {
    writes.sort_by_key(|op| numbers.get(op).copied().unwrap_or(u64::MAX));
    let known = writes.partition_point(|op| numbers.contains_key(op));
    if known > 0 {
        orders.ops.extend_from_slice(&writes[..known]);
        orders.end_chain();
    }
    apart(orders, &writes[known..]);
    orders.end_key(false);
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

/// Who wrote the next version, by the version that it read.
struct Followers {
    of_write: Vec<OpId>,
    of_initial: Vec<OpId>,
}

/// Joins chains where a transaction read a version and wrote the key. Gives back a pair that makes
/// this impossible, if there is one.
pub fn derive_from_updates(
    history: &History,
    resolved: &Resolved,
    orders: &Orders,
) -> (Orders, Option<Clash>) {
    let (followers, clash) = followers(history, resolved);
    if clash.is_some() || !orders.is_open() {
        return (orders.clone(), clash);
    }
    let mut joined = Orders::start();
    joined.ops.reserve(orders.ops.len());
    let mut place = vec![NONE; history.ops.len()];
    for key in 0..orders.keys() as KeyId {
        join(key, orders, &followers, &mut place, &mut joined);
    }
    (joined, None)
}

/// Hands every update to `visit`: transaction, key, the version it read ([`NONE`] for the initial one) and the
/// write with which it followed.
fn for_each_update(
    history: &History,
    resolved: &Resolved,
    mut visit: impl FnMut(TxnId, KeyId, OpId, OpId),
) {
    let mut written = vec![(NONE, NONE); history.keys.len()];
    let lists = history.workload == Workload::ListAppend;
    for txn in 0..history.txns.len() as TxnId {
        if !resolved.included[txn as usize] {
            continue;
        }
        // Of several writes the last is the version; of lists the first append comes right after the read.
        for op in history.range(txn).filter(|op| history.ops[*op].kind.is_write()) {
            let slot = &mut written[history.ops[op].key as usize];
            if !lists || slot.0 != txn {
                *slot = (txn, op as OpId);
            }
        }
        for read in history.range(txn) {
            let source = resolved.source(read);
            if source >= FIRST_SPECIAL && source != INIT {
                continue;
            }
            let key = history.ops[read].key;
            let (writer, write) = written[key as usize];
            if writer == txn {
                visit(txn, key, if source == INIT { NONE } else { source }, write);
            }
        }
    }
}

fn followers(history: &History, resolved: &Resolved) -> (Followers, Option<Clash>) {
    let mut followers = Followers {
        of_write: vec![NONE; history.ops.len()],
        of_initial: vec![NONE; history.keys.len()],
    };
    let mut clash = None;
    for_each_update(history, resolved, |txn, key, version, write| {
        let slot = if version == NONE {
            &mut followers.of_initial[key as usize]
        } else {
            &mut followers.of_write[version as usize]
        };
        if *slot == NONE {
            *slot = write;
        } else if *slot != write && clash.is_none() {
            let first = resolved.op_txn[*slot as usize];
            clash = Some(Clash { key, version, first, second: txn });
        }
    });
    (followers, clash)
}

/// Whether every update wrote the version right after the one that it read.
pub fn updates_fit(history: &History, resolved: &Resolved, orders: &Orders) -> bool {
    const NOT_KNOWN: OpId = NONE - 1;
    let mut before = vec![NOT_KNOWN; history.ops.len()];
    for key in 0..orders.keys() as KeyId {
        for (at, chain) in orders.chains(key).enumerate() {
            before[chain[0] as usize] = if at == 0 { NONE } else { NOT_KNOWN };
            for pair in chain.windows(2) {
                before[pair[1] as usize] = pair[0];
            }
        }
    }
    let mut fit = true;
    for_each_update(history, resolved, |_, _, version, write| {
        fit &= before[write as usize] == version;
    });
    fit
}

/// Joins the chains of one key; `place` is scratch space with the chain that each write heads.
fn join(
    key: KeyId,
    orders: &Orders,
    followers: &Followers,
    place: &mut [u32],
    joined: &mut Orders,
) {
    let count = orders.chain_count(key);
    for (at, chain) in orders.chains(key).enumerate() {
        place[chain[0] as usize] = at as u32;
    }
    let next = |at: usize| {
        let chain = orders.chain(key, at);
        match followers.of_write[chain[chain.len() - 1] as usize] {
            NONE => None,
            op => Some(place[op as usize]).filter(|at| *at != NONE).map(|at| at as usize),
        }
    };
    let mut has_previous = vec![false; count];
    for to in (0..count).filter_map(next) {
        has_previous[to] = true;
    }
    // Whoever updated the initial state comes first of all.
    let first = match followers.of_initial[key as usize] {
        NONE => None,
        op => Some(place[op as usize]).filter(|at| *at != NONE).map(|at| at as usize),
    };
    let first = first.filter(|at| !has_previous[*at] && !orders.first_is_first(key));
    let starts = first.into_iter().chain((0..count).filter(|at| !has_previous[*at]));
    let mut used = vec![false; count];
    // Updates that read each other in a circle have no start; they stay apart and show as a cycle.
    for start in starts.chain(0..count) {
        let mut at = Some(start).filter(|at| !used[*at]);
        let any = at.is_some();
        while let Some(here) = at {
            used[here] = true;
            joined.ops.extend_from_slice(orders.chain(key, here));
            at = next(here).filter(|at| !used[*at]);
        }
        if any {
            joined.end_chain();
        }
    }
    joined.end_key(orders.first_is_first(key) || first.is_some());
    for chain in orders.chains(key) {
        place[chain[0] as usize] = NONE;
    }
}
