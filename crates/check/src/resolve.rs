//! Which write did each read see?
//!
//! Idea: with unique values a read names its writer; one hash table over all writes answers it.
//! On the way every fault that concerns a single read is noted: aborted, intermediate and thin-air
//! reads, reads that contradict the transaction itself, values written twice.
//! Source: Adya's G1a and G1b; the axiom INT of Cerone, Bernardi and Gotsman.
//! Assumption: a transaction of unknown outcome committed exactly if a committed one read from it.
//! Blind spot: a value that was written twice and read names no writer; such reads are set aside and
//! the history is then never declared valid.

use crate::hash::WordMap;
use crate::model::{Atom, History, ListRef, NONE, Op, OpId, OpKind, Outcome, TxnId};
use crate::write_table::{Appends, WriteTable};

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
    /// Who wrote the elements of the lists that were read.
    pub appends: Appends,
}

impl Resolved {
    /// The transaction that a source belongs to, if it is a write.
    #[inline]
    pub fn writer(&self, source: u32) -> Option<TxnId> {
        (source < FIRST_SPECIAL).then(|| self.op_txn[source as usize])
    }
}

/// Resolves every read of the history, on several threads if allowed; the result is the same.
pub fn resolve(history: &History, threads: usize) -> Resolved {
    let mut op_txn = vec![0; history.ops.len()];
    for txn in 0..history.txns.len() as TxnId {
        op_txn[history.range(txn)].fill(txn);
    }
    let index = Index::new(history, &op_txn);
    let mut source = vec![NOTHING; history.ops.len()];
    let passes = read_all(&index, &mut source, threads);
    let mut faults = index.faults.clone();
    let mut ambiguous = false;
    for (found, unclear) in passes {
        faults.extend(found);
        ambiguous |= unclear;
    }
    let mut included: Vec<bool> =
        history.txns.iter().map(|txn| txn.outcome == Outcome::Committed).collect();
    index.include_observed(&source, &mut included);
    for at in &faults {
        // The fault keeps the writer; as a dependency the read is set aside.
        if at.fault == Fault::AbortedRead {
            source[at.op as usize] = THIN_AIR;
        }
    }
    faults
        .retain(|at| at.fault == Fault::WrittenTwice || included[op_txn[at.op as usize] as usize]);
    faults.sort_by_key(|at| (at.op, at.fault));
    let appends = index.appends;
    Resolved { op_txn, source, included, faults, ambiguous, appends }
}

/// Reads of every part of the history, each part on a thread of its own.
fn read_all(index: &Index<'_>, source: &mut [u32], threads: usize) -> Vec<(Vec<FaultAt>, bool)> {
    let count = index.history.txns.len();
    let parts = threads.clamp(1, 1 + count / 4096);
    let mut jobs = Vec::with_capacity(parts);
    let mut rest = source;
    let mut base = 0;
    for part in 0..parts {
        let txns = count * part / parts..count * (part + 1) / parts;
        let end = index
            .history
            .txns
            .get(txns.end)
            .map_or(index.history.ops.len(), |txn| txn.first_op as usize);
        let (own, after) = rest.split_at_mut(end - base);
        rest = after;
        jobs.push((txns, base, own));
        base = end;
    }
    let run = |(txns, base, source): (std::ops::Range<usize>, usize, &mut [u32])| {
        let mut pass = Pass {
            index,
            base,
            source,
            faults: Vec::new(),
            ambiguous: false,
            last: vec![(NONE, NONE); index.history.keys.len()],
        };
        for txn in txns {
            pass.read_transaction(txn as TxnId);
        }
        (pass.faults, pass.ambiguous)
    };
    if parts == 1 {
        return jobs.into_iter().map(run).collect();
    }
    std::thread::scope(|scope| {
        let handles: Vec<_> = jobs.into_iter().map(|job| scope.spawn(|| run(job))).collect();
        // A part that panicked has found a fault of ours; it must not look like a valid history.
        handles.into_iter().map(|part| part.join().unwrap_or((Vec::new(), true))).collect()
    })
}

/// What all parts look things up in.
struct Index<'a> {
    history: &'a History,
    op_txn: &'a [TxnId],
    table: WriteTable<'a>,
    appends: Appends,
    /// Values written twice, with all their writes.
    repeated: WordMap<(u32, Atom), Vec<OpId>>,
    /// Deletions by key: the only one, or [`NONE`] if there are several.
    deleted: WordMap<u32, OpId>,
    /// One bit per operation: a write that its own transaction overwrote.
    intermediate: Vec<u64>,
    faults: Vec<FaultAt>,
}

impl<'a> Index<'a> {
    /// Enters all writes, and marks those that their own transaction overwrote.
    fn new(history: &'a History, op_txn: &'a [TxnId]) -> Index<'a> {
        let writes = history.ops.iter().filter(|op| op.kind.is_write()).count();
        let mut index = Index {
            history,
            op_txn,
            table: WriteTable::with_capacity(&history.ops, writes),
            appends: Appends::default(),
            repeated: WordMap::default(),
            deleted: WordMap::default(),
            intermediate: vec![0; history.ops.len() / 64 + 1],
            faults: Vec::new(),
        };
        let mut last = vec![(NONE, NONE); history.keys.len()];
        for (op, what) in history.ops.iter().enumerate() {
            if !what.kind.is_write() {
                continue;
            }
            let txn = op_txn[op];
            let (before_txn, before) = last[what.key as usize];
            if before_txn == txn {
                index.intermediate[before as usize / 64] |= 1 << (before % 64);
            }
            last[what.key as usize] = (txn, op as OpId);
            index.enter(op as OpId, what);
        }
        index.appends = Appends::new(history, &index.table);
        index
    }

    fn enter(&mut self, op: OpId, what: &Op) {
        if what.kind == OpKind::Delete {
            let txn = self.op_txn[op as usize] as usize;
            if self.history.txns[txn].outcome != Outcome::Aborted {
                let only = self.deleted.entry(what.key).or_insert(op);
                *only = if *only == op { *only } else { NONE };
            }
            return;
        }
        if let Some(earlier) = self.table.insert(op) {
            let writes = self.repeated.entry((what.key, what.value)).or_default();
            if writes.is_empty() {
                writes.push(earlier);
            }
            writes.push(op);
            self.faults.push(FaultAt { fault: Fault::WrittenTwice, op, other: earlier });
        }
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
        let Some(write) = self.table.find(what.key, what.value) else {
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
            let writer = self.op_txn[op as usize];
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

    /// A transaction of unknown outcome counts if an included one read from it.
    fn include_observed(&self, source: &[u32], included: &mut [bool]) {
        if !self.history.txns.iter().any(|txn| txn.outcome == Outcome::Unknown) {
            return;
        }
        let mut queue: Vec<TxnId> =
            (0..self.history.txns.len() as TxnId).filter(|txn| included[*txn as usize]).collect();
        for key in 0..self.history.keys.len() as u32 {
            // Every element of a list that was read came from a transaction that counts.
            for &write in self.appends.of(key).iter().filter(|write| **write != NONE) {
                self.include(write, included, &mut queue);
            }
        }
        while let Some(txn) = queue.pop() {
            for op in self.history.range(txn) {
                if source[op] < FIRST_SPECIAL {
                    self.include(source[op], included, &mut queue);
                }
            }
        }
    }

    fn include(&self, write: OpId, included: &mut [bool], queue: &mut Vec<TxnId>) {
        let writer = self.op_txn[write as usize];
        let unknown = self.history.txns[writer as usize].outcome == Outcome::Unknown;
        if unknown && !std::mem::replace(&mut included[writer as usize], true) {
            queue.push(writer);
        }
    }
}

/// One part of the history.
struct Pass<'p, 'a> {
    index: &'p Index<'a>,
    base: usize,
    source: &'p mut [u32],
    faults: Vec<FaultAt>,
    ambiguous: bool,
    /// Last own write or read of a key, valid where the transaction is the current one.
    last: Vec<(TxnId, OpId)>,
}

impl Pass<'_, '_> {
    fn read_transaction(&mut self, txn: TxnId) {
        let history = self.index.history;
        let counts = history.txns[txn as usize].outcome != Outcome::Aborted;
        for op in history.range(txn) {
            let what = history.ops[op];
            if what.key == NONE {
                continue;
            }
            let (last_txn, last_op) = self.last[what.key as usize];
            let earlier = if last_txn == txn { last_op } else { NONE };
            match what.kind {
                OpKind::Read if counts => self.read(txn, op as OpId, what, earlier),
                OpKind::ReadList if counts => self.read_list(txn, op as OpId, what),
                OpKind::Read | OpKind::ReadList | OpKind::ReadUnknown => continue,
                _ => {}
            }
            self.last[what.key as usize] = (txn, op as OpId);
        }
    }

    fn set(&mut self, op: OpId, source: u32) {
        self.source[op as usize - self.base] = source;
    }

    fn fault(&mut self, fault: Fault, op: OpId, other: OpId) {
        self.faults.push(FaultAt { fault, op, other });
    }

    fn read(&mut self, txn: TxnId, op: OpId, what: Op, earlier: OpId) {
        if earlier != NONE {
            let before = self.index.history.ops[earlier as usize];
            if before.value != what.value {
                self.fault(Fault::Internal, op, earlier);
            } else if before.kind.is_write() {
                return;
            }
        }
        let source = self.index.attribute(txn, what);
        self.set(op, source);
        match source {
            THIN_AIR => self.fault(Fault::ThinAirRead, op, NONE),
            AMBIGUOUS => self.ambiguous = true,
            write if write < FIRST_SPECIAL => self.judge_write(txn, op, write),
            _ => {}
        }
    }

    fn judge_write(&mut self, txn: TxnId, op: OpId, write: OpId) {
        let writer = self.index.op_txn[write as usize];
        if writer == txn {
            if write > op {
                self.fault(Fault::FutureRead, op, write);
            }
            self.set(op, NOTHING);
        } else if self.index.history.txns[writer as usize].outcome == Outcome::Aborted {
            self.fault(Fault::AbortedRead, op, write);
        } else if self.index.intermediate[write as usize / 64] >> (write % 64) & 1 == 1 {
            self.fault(Fault::IntermediateRead, op, write);
        }
    }

    /// A list read saw the version that its last element made.
    fn read_list(&mut self, txn: TxnId, op: OpId, what: Op) {
        let index = self.index;
        let or_thin_air = |write: OpId| if write == NONE { THIN_AIR } else { write };
        let (source, is_whole) = match ListRef::from_atom(what.value) {
            ListRef::Prefix(0) => (INIT, true),
            // The longest list stands for all its beginnings.
            ListRef::Prefix(len) => {
                let writes = index.appends.of(what.key);
                let is_longest = writes.len() == len as usize;
                (or_thin_air(writes[len as usize - 1]), !(is_longest && writes.contains(&NONE)))
            }
            odd @ ListRef::Odd(_) => {
                let list = index.history.lists.get(what.key, odd);
                let find = |element: &Atom| index.table.find(what.key, *element);
                let source = list.last().map_or(INIT, |element| find(element).unwrap_or(THIN_AIR));
                (source, list.iter().all(|element| find(element).is_some()))
            }
        };
        self.set(op, source);
        if source == THIN_AIR || !is_whole {
            self.fault(Fault::ThinAirRead, op, NONE);
        }
        if source < FIRST_SPECIAL {
            let writer = index.op_txn[source as usize];
            if writer == txn {
                self.set(op, NOTHING);
            } else if index.history.txns[writer as usize].outcome == Outcome::Aborted {
                self.set(op, THIN_AIR);
            }
        }
    }
}
