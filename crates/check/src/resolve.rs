//! Which write did each read see?
//!
//! Idea: with unique values a read names its writer; one hash table over all writes answers it.
//! On the way every fault that concerns a single read is noted: aborted, intermediate and thin-air
//! reads, reads that contradict the transaction itself, values written twice.
//! Source: Adya's G1a and G1b; the axiom INT of Cerone, Bernardi and Gotsman.
//! Assumption: a transaction of unknown outcome committed exactly if a committed one read from it.
//! Blind spot: a value that was written twice and read names no writer; such reads are set aside and
//! the history is then never declared valid.

use crate::hash::{WordMap, mix_pair};
use crate::model::{Atom, History, ListRef, NONE, Op, OpId, OpKind, Outcome, TxnId};

/// Read of the initial state.
pub const INIT: u32 = u32::MAX;
/// The read says nothing about other transactions (own write, unknown result, or not a read).
pub const NOTHING: u32 = u32::MAX - 1;
/// Nobody wrote this value.
pub const THIN_AIR: u32 = u32::MAX - 2;
/// Several transactions wrote this value.
pub const AMBIGUOUS: u32 = u32::MAX - 3;
/// Every source below this is the id of a write.
pub const FIRST_SPECIAL: u32 = AMBIGUOUS;

/// A fault of a single read (or of the writes of one value).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// G1a: read what an aborted transaction wrote.
    AbortedRead,
    /// G1b: read what its writer overwrote itself.
    IntermediateRead,
    /// Read a value that nobody wrote.
    ThinAirRead,
    /// Read something else than the transaction's own last write or read.
    Internal,
    /// Read what the same transaction writes later.
    FutureRead,
    /// The same value was written to the same key more than once.
    WrittenTwice,
}

/// Where a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultAt {
    /// What is wrong.
    pub fault: Fault,
    /// The read, or the second write.
    pub op: OpId,
    /// The write or read that it contradicts, or [`NONE`].
    pub other: OpId,
}

/// The reads of a history, resolved.
#[derive(Debug)]
pub struct Resolved {
    /// Transaction of every operation.
    pub op_txn: Vec<TxnId>,
    /// For every read, the write it saw, or one of the special values.
    pub source: Vec<u32>,
    /// Whether a transaction counts: committed, or unknown and read from.
    pub included: Vec<bool>,
    /// Faults, by operation.
    pub faults: Vec<FaultAt>,
    /// Whether some read could not be attributed to one writer.
    pub ambiguous: bool,
}

impl Resolved {
    /// The transaction that a source belongs to, if it is a write.
    #[inline]
    pub fn writer(&self, source: u32) -> Option<TxnId> {
        (source < FIRST_SPECIAL).then(|| self.op_txn[source as usize])
    }
}

/// Open-addressing table from (key, value) to the write.
pub(crate) struct WriteTable<'a> {
    ops: &'a [Op],
    slots: Vec<u32>,
    mask: usize,
}

impl<'a> WriteTable<'a> {
    pub(crate) fn with_capacity(ops: &'a [Op], writes: usize) -> WriteTable<'a> {
        let size = (writes * 2).next_power_of_two().max(16);
        WriteTable { ops, slots: vec![NONE; size], mask: size - 1 }
    }

    /// Inserts a write; gives back an earlier write of the same value to the same key.
    #[inline]
    pub(crate) fn insert(&mut self, op: OpId) -> Option<OpId> {
        let Op { key, value, .. } = self.ops[op as usize];
        let mut at = mix_pair(key, value.bits()) as usize & self.mask;
        loop {
            let found = self.slots[at];
            if found == NONE {
                self.slots[at] = op;
                return None;
            }
            let there = self.ops[found as usize];
            if there.key == key && there.value == value {
                return Some(found);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// The write of this value to this key.
    #[inline]
    pub(crate) fn find(&self, key: u32, value: Atom) -> Option<OpId> {
        let mut at = mix_pair(key, value.bits()) as usize & self.mask;
        loop {
            let found = self.slots[at];
            if found == NONE {
                return None;
            }
            let there = self.ops[found as usize];
            if there.key == key && there.value == value {
                return Some(found);
            }
            at = (at + 1) & self.mask;
        }
    }
}

/// Resolves every read of the history.
pub fn resolve(history: &History) -> Resolved {
    let mut resolver = Resolver::new(history);
    resolver.index_writes();
    for txn in 0..history.txns.len() as TxnId {
        resolver.read_transaction(txn);
    }
    resolver.finish()
}

struct Resolver<'a> {
    history: &'a History,
    table: WriteTable<'a>,
    /// Values written twice, with all their writes.
    repeated: WordMap<(u32, Atom), Vec<OpId>>,
    /// Deletions by key: the only one, or [`NONE`] if there are several.
    deleted: WordMap<u32, OpId>,
    /// One bit per operation: a write that its own transaction overwrote.
    intermediate: Vec<u64>,
    out: Resolved,
    /// Last own write or read of a key, valid where the transaction is the current one.
    last: Vec<(TxnId, OpId)>,
}

impl<'a> Resolver<'a> {
    fn new(history: &'a History) -> Resolver<'a> {
        let writes = history.ops.iter().filter(|op| op.kind.is_write()).count();
        let mut op_txn = vec![0; history.ops.len()];
        for txn in 0..history.txns.len() as TxnId {
            op_txn[history.range(txn)].fill(txn);
        }
        Resolver {
            history,
            table: WriteTable::with_capacity(&history.ops, writes),
            repeated: WordMap::default(),
            deleted: WordMap::default(),
            intermediate: vec![0; history.ops.len() / 64 + 1],
            out: Resolved {
                op_txn,
                source: vec![NOTHING; history.ops.len()],
                included: history.txns.iter().map(|t| t.outcome == Outcome::Committed).collect(),
                faults: Vec::new(),
                ambiguous: false,
            },
            last: vec![(NONE, NONE); history.keys.len()],
        }
    }

    /// Enters all writes, and marks those that their own transaction overwrote.
    fn index_writes(&mut self) {
        for (op, what) in self.history.ops.iter().enumerate() {
            if !what.kind.is_write() {
                continue;
            }
            let txn = self.out.op_txn[op];
            let (before_txn, before) = self.last[what.key as usize];
            if before_txn == txn {
                self.intermediate[before as usize / 64] |= 1 << (before % 64);
            }
            self.last[what.key as usize] = (txn, op as OpId);
            if what.kind == OpKind::Delete {
                if self.history.txns[txn as usize].outcome != Outcome::Aborted {
                    let only = self.deleted.entry(what.key).or_insert(op as OpId);
                    *only = if *only == op as OpId { *only } else { NONE };
                }
                continue;
            }
            if let Some(earlier) = self.table.insert(op as OpId) {
                let writes = self.repeated.entry((what.key, what.value)).or_default();
                if writes.is_empty() {
                    writes.push(earlier);
                }
                writes.push(op as OpId);
                let fault = Fault::WrittenTwice;
                self.out.faults.push(FaultAt { fault, op: op as OpId, other: earlier });
            }
        }
        self.last.fill((NONE, NONE));
    }

    fn read_transaction(&mut self, txn: TxnId) {
        let range = self.history.range(txn);
        let counts = self.history.txns[txn as usize].outcome != Outcome::Aborted;
        for op in range {
            let what = self.history.ops[op];
            if what.key == NONE {
                continue;
            }
            let key = what.key as usize;
            let (last_txn, last_op) = self.last[key];
            let earlier = if last_txn == txn { last_op } else { NONE };
            match what.kind {
                OpKind::Read if counts => self.read(txn, op as OpId, what, earlier),
                OpKind::ReadList if counts => self.read_list(txn, op as OpId, what),
                OpKind::Read | OpKind::ReadList | OpKind::ReadUnknown => continue,
                _ => {}
            }
            self.last[key] = (txn, op as OpId);
        }
    }

    fn read(&mut self, txn: TxnId, op: OpId, what: Op, earlier: OpId) {
        let source = self.attribute(txn, what);
        self.out.source[op as usize] = source;
        if earlier != NONE {
            let before = self.history.ops[earlier as usize];
            if before.value == what.value {
                if before.kind.is_write() {
                    self.out.source[op as usize] = NOTHING;
                }
                return self.judge_source(txn, op);
            }
            self.fault(Fault::Internal, op, earlier);
        }
        self.judge_source(txn, op);
    }

    fn attribute(&self, txn: TxnId, what: Op) -> u32 {
        let initial = self.history.initial_value(what.key);
        if what.value.is_nil()
            && let Some(&deletion) = self.deleted.get(&what.key)
        {
            // Nothing is there before the first write and after a deletion.
            let certain = !initial.is_nil() && deletion != NONE;
            return if certain { deletion } else { NOTHING };
        }
        let written = self.table.find(what.key, what.value);
        let Some(write) = written else {
            return if what.value == initial || what.value.is_nil() { INIT } else { THIN_AIR };
        };
        if self.repeated.is_empty() && what.value != initial {
            return write;
        }
        match self.repeated.get(&(what.key, what.value)) {
            Some(writes) => self.attribute_repeated(txn, writes, what.value == initial),
            None if what.value == initial => self.attribute_repeated(txn, &[write], true),
            None => write,
        }
    }

    /// Among several writers of a value only those count that did not abort.
    fn attribute_repeated(&self, txn: TxnId, writes: &[OpId], initial: bool) -> u32 {
        let mut found = if initial { INIT } else { THIN_AIR };
        let mut aborted = THIN_AIR;
        for &op in writes {
            let writer = self.out.op_txn[op as usize];
            if writer == txn {
                continue;
            }
            if self.history.txns[writer as usize].outcome == Outcome::Aborted {
                aborted = op;
            } else if found != THIN_AIR {
                return AMBIGUOUS;
            } else {
                found = op;
            }
        }
        if found == THIN_AIR { aborted } else { found }
    }

    fn judge_source(&mut self, txn: TxnId, op: OpId) {
        match self.out.source[op as usize] {
            THIN_AIR => self.fault(Fault::ThinAirRead, op, NONE),
            AMBIGUOUS => self.out.ambiguous = true,
            write if write < FIRST_SPECIAL => {
                let writer = self.out.op_txn[write as usize];
                if writer == txn {
                    if write > op {
                        self.fault(Fault::FutureRead, op, write);
                    }
                    self.out.source[op as usize] = NOTHING;
                } else {
                    self.judge_write(op, write);
                }
            }
            _ => {}
        }
    }

    fn judge_write(&mut self, op: OpId, write: OpId) {
        let writer = self.out.op_txn[write as usize];
        if self.history.txns[writer as usize].outcome == Outcome::Aborted {
            self.fault(Fault::AbortedRead, op, write);
        } else if self.intermediate[write as usize / 64] >> (write % 64) & 1 == 1 {
            self.fault(Fault::IntermediateRead, op, write);
        }
    }

    /// A list read saw the version that its last element made.
    fn read_list(&mut self, txn: TxnId, op: OpId, what: Op) {
        let list = self.history.lists.get(what.key, ListRef::from_atom(what.value));
        let source = match list.last() {
            None => INIT,
            Some(&element) => self.table.find(what.key, element).unwrap_or(THIN_AIR),
        };
        self.out.source[op as usize] = source;
        if list.iter().any(|element| self.table.find(what.key, *element).is_none()) {
            self.fault(Fault::ThinAirRead, op, NONE);
        }
        if source < FIRST_SPECIAL {
            let writer = self.out.op_txn[source as usize];
            if writer == txn {
                self.out.source[op as usize] = NOTHING;
            } else if self.history.txns[writer as usize].outcome == Outcome::Aborted {
                self.out.source[op as usize] = THIN_AIR;
            }
        }
    }

    fn fault(&mut self, fault: Fault, op: OpId, other: OpId) {
        self.out.faults.push(FaultAt { fault, op, other });
    }

    fn finish(mut self) -> Resolved {
        self.include_observed();
        let out = &mut self.out;
        for at in &out.faults {
            // The fault keeps the writer; as a dependency the read is set aside.
            if at.fault == Fault::AbortedRead {
                out.source[at.op as usize] = THIN_AIR;
            }
        }
        out.faults.retain(|at| {
            at.fault == Fault::WrittenTwice || out.included[out.op_txn[at.op as usize] as usize]
        });
        out.faults.sort_by_key(|at| (at.op, at.fault));
        self.out
    }

    /// A transaction of unknown outcome counts if an included one read from it.
    fn include_observed(&mut self) {
        let unknown = self.history.txns.iter().any(|txn| txn.outcome == Outcome::Unknown);
        if !unknown {
            return;
        }
        let mut queue: Vec<TxnId> = (0..self.history.txns.len() as TxnId)
            .filter(|txn| self.out.included[*txn as usize])
            .collect();
        self.include_list_elements(&mut queue);
        while let Some(txn) = queue.pop() {
            for op in self.history.range(txn) {
                let Some(writer) = self.out.writer(self.out.source[op]) else { continue };
                let outcome = self.history.txns[writer as usize].outcome;
                if outcome == Outcome::Unknown && !self.out.included[writer as usize] {
                    self.out.included[writer as usize] = true;
                    queue.push(writer);
                }
            }
        }
    }

    /// Every element of a list that was read came from a transaction that counts.
    fn include_list_elements(&mut self, queue: &mut Vec<TxnId>) {
        for key in 0..self.history.keys.len() as u32 {
            for &element in self.history.lists.longest(key) {
                let Some(write) = self.table.find(key, element) else { continue };
                let writer = self.out.op_txn[write as usize] as usize;
                let outcome = self.history.txns[writer].outcome;
                if outcome == Outcome::Unknown && !self.out.included[writer] {
                    self.out.included[writer] = true;
                    queue.push(writer as TxnId);
                }
            }
        }
    }
}
