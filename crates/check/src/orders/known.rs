//! What is known of version orders without assuming a level: lists, version numbers, a given order.

use super::Orders;
use crate::hash::WordMap;
use crate::model::{Atom, History, KeyId, NONE, OpId, Workload};
use crate::resolve::{Fault, Resolved};

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
    let mut numbers = ByNumber::new(history);
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
        } else if !history.version_numbers.is_empty() {
            numbers.order(writes, &mut orders);
        } else {
            apart(&mut orders, writes.iter().copied());
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

fn apart(orders: &mut Orders, writes: impl Iterator<Item = OpId>) {
    for write in writes {
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
    /// One bit per operation: an append that has been placed, or need not be.
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

/// Marks a write without a number in the input, where numbers are smaller than half of this.
const UNNUMBERED: u64 = u64::MAX;

/// Orders writes by the version numbers of the input.
struct ByNumber {
    /// The number of every operation, or [`UNNUMBERED`]; empty where the input has no numbers at all.
    numbers: Vec<u64>,
    /// Scratch space: numbered writes of a key.
    numbered: Vec<(u64, OpId)>,
}

impl ByNumber {
    fn new(history: &History) -> ByNumber {
        let given = &history.version_numbers;
        let mut numbers = vec![UNNUMBERED; if given.is_empty() { 0 } else { history.ops.len() }];
        for (op, number) in given {
            numbers[*op as usize] = *number;
        }
        ByNumber { numbers, numbered: Vec::new() }
    }

    /// The numbered writes of a key as one chain, all others as separate chains.
    fn order(&mut self, writes: &[OpId], orders: &mut Orders) {
        self.numbered.clear();
        self.numbered.extend(writes.iter().map(|op| (self.numbers[*op as usize], *op)));
        self.numbered.sort_unstable();
        let known = self.numbered.partition_point(|(number, _)| *number != UNNUMBERED);
        let mut ops = self.numbered.iter().map(|(_, op)| *op);
        if known > 0 {
            orders.ops.extend(ops.by_ref().take(known));
            orders.end_chain();
        }
        apart(orders, ops);
        orders.end_key(false);
    }
}
