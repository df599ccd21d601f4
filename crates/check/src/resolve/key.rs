//! One key after another: which write did each of its reads see?

use super::writes::{Write, Writes};
use super::{AMBIGUOUS, Appends, Fault, FaultAt, INIT, NOTHING, Seen, THIN_AIR, UNBORN};
use crate::groups::Keyed;
use crate::model::{
    Atom, History, KeyId, ListRef, NONE, Op, OpId, OpKind, Outcome, TxnId, Workload,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One operation with its position.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub op: OpId,
    pub txn: TxnId,
    pub what: Op,
}

impl Keyed for Operation {
    #[inline]
    fn key(&self) -> KeyId {
        self.what.key
    }
}

/// What was found in a range of keys.
#[derive(Default)]
pub(super) struct Found {
    pub faults: Vec<FaultAt>,
    pub ambiguous: bool,
    /// Some read saw a transaction that is later in the input.
    pub leads_back: bool,
    pub appends: Appends,
}

/// What a read saw: a write, or one of the special sources.
type Attributed = Result<Write, u32>;

/// The deletions of a key that did not abort.
#[derive(Clone, Copy)]
enum Deleted {
    Never,
    Once(Write),
    Often,
}

/// Resolves the reads of one key after another.
pub(super) struct Keys<'a> {
    history: &'a History,
    /// Saves looking up the transaction.
    some_aborted: bool,
    /// Where the results go: by operation, what it saw. Every read belongs to one key, and so to one thread.
    seen: &'a [AtomicU64],
    /// By transaction, whether one of its reads is stale.
    stale: &'a [AtomicBool],
    pub found: Found,
    writes: Writes,
    initial: Atom,
    deleted: Deleted,
    /// The last writer before the current operation, in the order of the input; aborted ones do not count.
    latest: TxnId,
    /// How many appends there were so far.
    appended: u32,
    /// Whether the elements of the longest list were appended in the order of the input, each of them once.
    in_order: bool,
    /// The appends of the key's longest list; none where nobody appended the element.
    elements: Vec<Option<Write>>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(
        history: &'a History,
        seen: &'a [AtomicU64],
        stale: &'a [AtomicBool],
    ) -> Keys<'a> {
        Keys {
            history,
            some_aborted: history.txns.iter().any(|txn| txn.outcome == Outcome::Aborted),
            seen,
            stale,
            found: Found::default(),
            writes: Writes::default(),
            initial: history.initial,
            deleted: Deleted::Never,
            latest: NONE,
            appended: 0,
            in_order: true,
            elements: Vec::new(),
        }
    }

    /// Resolves all reads of a key; `operations` are all operations on it, in the order of the history.
    pub(super) fn resolve(&mut self, key: KeyId, operations: &[Operation]) {
        self.enter_writes(operations);
        self.initial = self.history.initial_value(key);
        let longest = self.history.lists.longest(key);
        self.elements.clear();
        self.elements.extend(longest.iter().map(|value| self.writes.find(*value).copied()));
        self.found.appends.add_key(self.elements.iter().map(|e| e.map_or(NONE, |write| write.op)));
        self.latest = NONE;
        self.appended = 0;
        self.in_order = self.elements_are_in_order();
        let lists = self.history.workload == Workload::ListAppend;
        // The last own write or read.
        let mut last: Option<(TxnId, OpId, Op)> = None;
        for &Operation { op, txn, what } in operations {
            let earlier = last.filter(|(owner, ..)| *owner == txn).map(|(_, op, what)| (op, what));
            let is_read = matches!(what.kind, OpKind::Read | OpKind::ReadList);
            if what.kind == OpKind::ReadUnknown || is_read && self.aborted(txn) {
                continue;
            }
            match what.kind {
                OpKind::Read => self.read(txn, op, what, earlier),
                OpKind::ReadList => self.read_list(txn, op, key, what),
                _ if self.aborted(txn) => {}
                _ => {
                    self.latest = txn;
                    self.appended += 1;
                }
            }
            // A register among lists.
            if lists && matches!(what.kind, OpKind::Read | OpKind::Write) {
                self.mark_stale(txn);
            }
            // A read of the transaction's own write changes nothing: later reads must still return that write.
            let is_echo =
                earlier.is_some_and(|(_, own)| own.kind.is_write() && own.value == what.value);
            if !(is_echo && what.kind == OpKind::Read) {
                last = Some((txn, op, what));
            }
        }
    }

    /// Enters all writes, and notes values that were written twice.
    fn enter_writes(&mut self, operations: &[Operation]) {
        self.writes.begin(operations.len());
        let mut deletes = false;
        for &Operation { op, txn, what } in operations {
            if !what.kind.is_write() {
                continue;
            }
            deletes |= what.kind == OpKind::Delete;
            if let Some(other) = self.writes.add(op, txn, what) {
                self.fault(Fault::WrittenTwice, op, other);
            }
        }
        self.deleted = Deleted::Never;
        if deletes {
            let counting = self.writes.deletions().filter(|write| !self.aborted(write.txn));
            self.deleted = counting.fold(Deleted::Never, |before, write| match before {
                Deleted::Never => Deleted::Once(*write),
                Deleted::Once(_) | Deleted::Often => Deleted::Often,
            });
        }
    }

    #[inline]
    fn aborted(&self, txn: TxnId) -> bool {
        self.some_aborted && self.history.txns[txn as usize].outcome == Outcome::Aborted
    }

    fn set_special(&self, txn: TxnId, op: OpId, source: u32) {
        if source == INIT {
            self.compare_with_latest(txn, NONE);
        }
        self.seen[op as usize].store(Seen::special(source).bits(), Ordering::Relaxed);
    }

    #[inline]
    fn set(&mut self, txn: TxnId, op: OpId, write: Write) {
        self.seen[op as usize].store(Seen::new(write.op, write.txn).bits(), Ordering::Relaxed);
        self.found.leads_back |= write.txn > txn;
        self.compare_with_latest(txn, write.txn);
    }

    #[inline]
    fn compare_with_latest(&self, txn: TxnId, from: TxnId) {
        if from != self.latest {
            self.mark_stale(txn);
        }
    }

    fn mark_stale(&self, txn: TxnId) {
        self.stale[txn as usize].store(true, Ordering::Relaxed);
    }

    fn elements_are_in_order(&self) -> bool {
        let counts =
            |element: &Option<Write>| element.is_some_and(|write| !self.aborted(write.txn));
        self.elements.iter().all(counts)
            && self.elements.is_sorted_by(|a, b| a.map(|write| write.op) < b.map(|write| write.op))
    }

    fn fault(&mut self, fault: Fault, op: OpId, other: OpId) {
        self.found.faults.push(FaultAt { fault, op, other });
    }

    fn read(&mut self, txn: TxnId, op: OpId, what: Op, earlier: Option<(OpId, Op)>) {
        if let Some((earlier, before)) = earlier {
            if before.value != what.value {
                self.fault(Fault::Internal, op, earlier);
            } else if before.kind.is_write() {
                return;
            }
        }
        match self.attribute(txn, what.value) {
            Ok(write) => self.judge_write(txn, op, write),
            Err(special) => {
                self.set_special(txn, op, special);
                match special {
                    THIN_AIR => self.fault(Fault::ThinAirRead, op, NONE),
                    UNBORN => self.fault(Fault::UnbornRead, op, NONE),
                    AMBIGUOUS => self.found.ambiguous = true,
                    _ => {}
                }
            }
        }
    }

    fn attribute(&self, txn: TxnId, value: Atom) -> Attributed {
        if value.is_nil() {
            // The row does not exist before the first write and after a deletion.
            match self.deleted {
                Deleted::Once(write) if !self.initial.is_nil() => return Ok(write),
                Deleted::Once(_) | Deleted::Often => return Err(NOTHING),
                Deleted::Never => {}
            }
        }
        let is_initial = value == self.initial;
        let Some(write) = self.writes.find(value) else {
            return match (is_initial, value.is_nil()) {
                (true, _) => Err(INIT),
                // Only a deletion that was rolled back can explain it, or a state before the initial one.
                (_, true) => self.writes.deletions().next().copied().ok_or(UNBORN),
                _ => Err(THIN_AIR),
            };
        };
        let mut repeated = self.writes.repeated(value).peekable();
        if repeated.peek().is_some() {
            self.choose(txn, repeated, is_initial)
        } else if is_initial {
            self.choose(txn, std::iter::once(write), true)
        } else {
            Ok(*write)
        }
    }

    /// Among several writers of a value only those count that did not abort.
    fn choose<'w>(
        &self,
        txn: TxnId,
        writes: impl Iterator<Item = &'w Write>,
        is_initial: bool,
    ) -> Attributed {
        let mut found = Err(if is_initial { INIT } else { THIN_AIR });
        let mut aborted = Err(THIN_AIR);
        for write in writes.filter(|write| write.txn != txn) {
            if self.aborted(write.txn) {
                aborted = Ok(*write);
            } else if matches!(found, Err(THIN_AIR)) {
                found = Ok(*write);
            } else {
                return Err(AMBIGUOUS);
            }
        }
        if matches!(found, Err(THIN_AIR)) { aborted } else { found }
    }

    fn judge_write(&mut self, txn: TxnId, op: OpId, write: Write) {
        if write.txn == txn {
            if write.op > op {
                self.fault(Fault::FutureRead, op, write.op);
            }
            return;
        }
        self.set(txn, op, write);
        if self.aborted(write.txn) {
            self.fault(Fault::AbortedRead, op, write.op);
        } else if write.is_intermediate {
            self.fault(Fault::IntermediateRead, op, write.op);
        }
    }

    /// A list read saw the version that its last element made.
    fn read_list(&mut self, txn: TxnId, op: OpId, key: KeyId, what: Op) {
        if ListRef::from_atom(what.value) != ListRef::Prefix(self.appended) || !self.in_order {
            self.mark_stale(txn);
        }
        let or_thin_air = |write: Option<Write>| write.ok_or(THIN_AIR);
        let (seen, is_whole) = match ListRef::from_atom(what.value) {
            ListRef::Prefix(0) => (Err(INIT), true),
            // The longest list stands for all its prefixes.
            ListRef::Prefix(len) => {
                let is_longest = self.elements.len() == len as usize;
                let is_whole = !is_longest || self.elements.iter().all(Option::is_some);
                (or_thin_air(self.elements[len as usize - 1]), is_whole)
            }
            odd @ ListRef::Odd(_) => {
                let list = self.history.lists.get(key, odd);
                let find = |element: &Atom| self.writes.find(*element).copied();
                let seen = list.last().map_or(Err(INIT), |element| or_thin_air(find(element)));
                (seen, list.iter().all(|element| find(element).is_some()))
            }
        };
        if seen.is_err_and(|special| special == THIN_AIR) || !is_whole {
            self.fault(Fault::ThinAirRead, op, NONE);
        }
        match seen {
            Err(special) => self.set_special(txn, op, special),
            // Its own append, which must have come before.
            Ok(write) if write.txn == txn && write.op < op => {}
            Ok(write) if write.txn == txn => self.mark_stale(txn),
            Ok(write) if self.aborted(write.txn) => self.set_special(txn, op, THIN_AIR),
            Ok(write) => self.set(txn, op, write),
        }
    }
}
