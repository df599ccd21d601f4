//! Which write did each read see?
//!
//! Idea: with unique values a read names its writer, and both are about the same key: so the operations are sorted by
//! key (`groups`), and each key is resolved by itself (`key`, `writes`), on any thread. On the way every fault that
//! concerns a single read is noted: aborted, intermediate and thin-air reads, reads that contradict the transaction
//! itself, values written twice. Source: Adya's G1a and G1b; the axiom INT of Cerone, Bernardi and Gotsman. Assumption:
//! a transaction of unknown outcome committed if and only if a committed one read from it. Blind spot: a value that was
//! written twice and read names no writer; such reads are set aside and the history is then never declared valid.

mod key;
mod writes;

use self::key::{Found, Keys, Operation};
use crate::groups::Groups;
use crate::model::{History, KeyId, NONE, OpId, Outcome, TxnId};
use crate::portions::{cut, in_portions};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Read of the initial state.
pub const INIT: u32 = u32::MAX;
/// The read says nothing about other transactions (own write, unknown result, or not a read).
pub const NOTHING: u32 = u32::MAX - 1;
/// Nobody wrote this value.
pub const THIN_AIR: u32 = u32::MAX - 2;
/// Several transactions wrote this value.
pub const AMBIGUOUS: u32 = u32::MAX - 3;
/// Read of nothing where the initial state has something: older than the initial state.
pub const UNBORN: u32 = u32::MAX - 4;
/// Every source below this is the id of a write.
pub const FIRST_SPECIAL: u32 = UNBORN;

/// A fault of a single read (or of the writes of one value).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// G1a: read what an aborted transaction wrote.
    AbortedRead,
    /// G1b: read what its writer overwrote itself.
    IntermediateRead,
    /// Read a value that nobody wrote.
    ThinAirRead,
    /// Read nothing, although the initial state has the key and nobody deleted it.
    UnbornRead,
    /// Read something other than the transaction's own last write or read.
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

/// What an operation saw: a write and its transaction, or one of the special values and [`NONE`].
///
/// One word, because both are set and read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen(u64);

impl Seen {
    #[inline]
    fn new(write: OpId, txn: TxnId) -> Seen {
        Seen(u64::from(txn) << 32 | u64::from(write))
    }

    #[inline]
    fn special(value: u32) -> Seen {
        Seen::new(value, NONE)
    }

    #[inline]
    fn bits(self) -> u64 {
        self.0
    }

    /// The write, or one of the special values.
    #[inline]
    pub fn source(self) -> u32 {
        self.0 as u32
    }

    /// The transaction of the write, if there is one.
    #[inline]
    pub fn writer(self) -> Option<TxnId> {
        (self.source() < FIRST_SPECIAL).then(|| self.txn())
    }

    /// The same; [`NONE`] if there is none.
    #[inline]
    pub fn txn(self) -> TxnId {
        (self.0 >> 32) as TxnId
    }
}

/// The reads of a history, resolved.
#[derive(Debug)]
pub struct Resolved {
    /// Transaction of every operation.
    pub op_txn: Vec<TxnId>,
    /// What every operation saw.
    pub seen: Vec<Seen>,
    /// Whether every read saw only transactions that come before its own in the input.
    pub leads_forward: bool,
    /// Whether some read of a transaction saw something other than it would have if the transactions had run one after
    /// the other in the order of the input. Where every read saw only earlier ones, the other transactions know of no
    /// write that is newer than what they read.
    pub stale: Vec<bool>,
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
    /// Whether one transaction after the other, in the order of the input, would have read and written the same.
    /// Predicates are not considered.
    pub fn is_serial_as_given(&self) -> bool {
        self.leads_forward
            && !self.ambiguous
            && self.faults.is_empty()
            && !self.stale.iter().zip(&self.included).any(|(stale, included)| *stale && *included)
    }

    /// The write that an operation saw, or one of the special values.
    #[inline]
    pub fn source(&self, op: usize) -> u32 {
        self.seen[op].source()
    }
}

/// Resolves every read of the history, on several threads if allowed; the result is the same.
pub fn resolve(history: &History, threads: usize) -> Resolved {
    let nothing = Seen::special(NOTHING).bits();
    let seen: Vec<AtomicU64> = history.ops.iter().map(|_| AtomicU64::new(nothing)).collect();
    let stale: Vec<AtomicBool> = history.txns.iter().map(|_| AtomicBool::new(false)).collect();
    let mut faults = Vec::new();
    let mut ambiguous = false;
    let mut leads_forward = true;
    let mut appends = Appends::default();
    for mut found in resolve_keys(history, &seen, &stale, threads) {
        faults.append(&mut found.faults);
        ambiguous |= found.ambiguous;
        leads_forward &= !found.leads_back;
        appends.append(found.appends);
    }
    let mut seen: Vec<Seen> = seen.into_iter().map(|bits| Seen(bits.into_inner())).collect();
    let stale = stale.into_iter().map(AtomicBool::into_inner).collect();
    let mut op_txn = vec![0; history.ops.len()];
    for txn in 0..history.txns.len() as TxnId {
        op_txn[history.range(txn)].fill(txn);
    }
    let included = included(history, &op_txn, &seen, &appends);
    for at in &faults {
        // The fault keeps the writer; as a dependency the read is set aside.
        if at.fault == Fault::AbortedRead {
            seen[at.op as usize] = Seen::special(THIN_AIR);
        }
    }
    faults
        .retain(|at| at.fault == Fault::WrittenTwice || included[op_txn[at.op as usize] as usize]);
    faults.sort_by_key(|at| (at.op, at.fault));
    Resolved { op_txn, seen, leads_forward, stale, included, faults, ambiguous, appends }
}

/// Resolves the reads of all keys, each range of keys on its own thread.
fn resolve_keys(
    history: &History,
    seen: &[AtomicU64],
    stale: &[AtomicBool],
    threads: usize,
) -> Vec<Found> {
    let portions = threads.clamp(1, 1 + history.ops.len() / 32_768);
    let entries = |portion: usize| {
        let of_txn =
            |txn: TxnId| history.range(txn).map(move |op| (history.ops[op].key, (op as OpId, txn)));
        cut(history.txns.len(), portion, portions).flat_map(of_txn)
    };
    let keys = 0..history.keys.len() as KeyId;
    let groups = Groups::new(keys, history.ops.len(), portions, entries);
    let expand = |(op, txn): (OpId, TxnId)| Operation { op, txn, what: history.ops[op as usize] };
    in_portions(portions, &|portion| {
        let mut keys = Keys::new(history, seen, stale);
        groups.for_each(portion, portions, expand, |key, operations| keys.resolve(key, operations));
        keys.found
    })
}

/// Which transactions count: committed ones, and those of unknown outcome that a counting one read from.
fn included(history: &History, op_txn: &[TxnId], seen: &[Seen], appends: &Appends) -> Vec<bool> {
    let mut included: Vec<bool> =
        history.txns.iter().map(|txn| txn.outcome == Outcome::Committed).collect();
    if !history.txns.iter().any(|txn| txn.outcome == Outcome::Unknown) {
        return included;
    }
    let mut queue: Vec<TxnId> =
        (0..history.txns.len() as TxnId).filter(|txn| included[*txn as usize]).collect();
    let mut include = |write: OpId, queue: &mut Vec<TxnId>| {
        let writer = op_txn[write as usize];
        let unknown = history.txns[writer as usize].outcome == Outcome::Unknown;
        if unknown && !std::mem::replace(&mut included[writer as usize], true) {
            queue.push(writer);
        }
    };
    for key in 0..history.keys.len() as KeyId {
        // Every element of a list that was read came from a transaction that counts.
        for &write in appends.of(key).iter().filter(|write| **write != NONE) {
            include(write, &mut queue);
        }
    }
    while let Some(txn) = queue.pop() {
        for source in seen[history.range(txn)].iter().map(|seen| seen.source()) {
            if source < FIRST_SPECIAL {
                include(source, &mut queue);
            }
        }
    }
    included
}

/// For every key the appends of its longest list, in the order of the list.
#[derive(Debug, Default)]
pub struct Appends {
    /// Where the appends of each key end.
    ends: Vec<u32>,
    writes: Vec<OpId>,
}

impl Appends {
    /// Adds the appends of the next key.
    fn add_key(&mut self, writes: impl Iterator<Item = OpId>) {
        self.writes.extend(writes);
        self.ends.push(self.writes.len() as u32);
    }

    /// Adds the remaining keys.
    fn append(&mut self, behind: Appends) {
        let base = self.writes.len() as u32;
        self.ends.extend(behind.ends.iter().map(|end| base + end));
        self.writes.extend(behind.writes);
    }

    /// The appends of the key's longest list; [`NONE`] where nobody appended the element.
    #[inline]
    pub fn of(&self, key: KeyId) -> &[OpId] {
        let start = key.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.writes[start as usize..self.ends[key as usize] as usize]
    }
}
