//! Anomalies that are found without a graph.
//!
//! Source: Elle's scans (aborted, intermediate and internal reads, future reads, dirty updates, duplicate elements,
//! incompatible orders, lost updates), and reads that no write explains. Each finding names the operations that show
//! it.

use crate::hash::WordMap;
use crate::model::{
    Atom, History, KeyId, ListRef, NONE, Op, OpId, OpKind, Outcome, TxnId, Workload,
};
use crate::resolve::{FIRST_SPECIAL, Fault, Resolved};
use crate::write_table::WriteTable;

/// The reader is before the initial state, which it missed, and after it, because everything is.
pub const UNBORN_READ: &str = "G-single-item";

/// A finding of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The anomaly's name.
    pub name: &'static str,
    /// The operations that show it, the reader first.
    pub ops: Vec<OpId>,
    /// The key it is about.
    pub key: KeyId,
    /// The value that is wrong, if one is.
    pub value: Option<Atom>,
}

/// Runs all scans but the one for lost updates; findings are grouped by name and in order of operations.
pub fn scan(history: &History, resolved: &Resolved) -> Vec<Scan> {
    let mut found = Vec::new();
    for at in &resolved.faults {
        let op = history.ops[at.op as usize];
        let name = match at.fault {
            Fault::AbortedRead => "G1a",
            Fault::IntermediateRead => "G1b",
            Fault::ThinAirRead => "thin-air-read",
            Fault::UnbornRead => UNBORN_READ,
            Fault::Internal => "internal",
            Fault::FutureRead => "future-read",
            Fault::WrittenTwice => "written-twice",
        };
        let value = (op.kind != OpKind::ReadList).then_some(op.value);
        let mut ops = vec![at.op];
        ops.extend((at.other != NONE).then_some(at.other));
        found.push(Scan { name, ops, key: op.key, value });
    }
    if history.workload == Workload::ListAppend {
        Lists::new(history, resolved).scan(&mut found);
    }
    found.sort_by(|a, b| (a.name, &a.ops).cmp(&(b.name, &b.ops)));
    found
}

/// At least two committed transactions read the same version of a key and then wrote the key.
pub fn lost_updates(history: &History, resolved: &Resolved) -> Vec<Scan> {
    let mut found = Vec::new();
    let mut updates: WordMap<(KeyId, Atom), Vec<OpId>> = WordMap::default();
    let mut first: WordMap<KeyId, (Atom, OpId)> = WordMap::default();
    let mut wrote: WordMap<KeyId, ()> = WordMap::default();
    for txn in 0..history.txns.len() as TxnId {
        if history.txns[txn as usize].outcome != Outcome::Committed {
            continue;
        }
        first.clear();
        wrote.clear();
        for op in history.range(txn) {
            let what = history.ops[op];
            match what.kind {
                // A read after the first write of the key shows nothing about the update.
                OpKind::Read | OpKind::ReadList if !wrote.contains_key(&what.key) => {
                    let value = version_read(history, op as OpId);
                    first.entry(what.key).or_insert((value, op as OpId));
                }
                kind if kind.is_write() && !wrote.contains_key(&what.key) => {
                    if let Some(&(value, read)) = first.get(&what.key) {
                        updates.entry((what.key, value)).or_default().push(read);
                        wrote.insert(what.key, ());
                    }
                }
                _ => {}
            }
        }
    }
    let mut clashes: Vec<_> = updates.into_iter().filter(|(_, reads)| reads.len() > 1).collect();
    clashes.sort_by_key(|(key, _)| *key);
    for ((key, value), ops) in clashes {
        let value = (history.workload != Workload::ListAppend).then_some(value);
        debug_assert!(
            ops.iter().all(|op| resolved.included[resolved.op_txn[*op as usize] as usize])
        );
        found.push(Scan { name: "lost-update", ops, key, value });
    }
    found
}

/// What identifies the version that a read saw: its value, or the whole list.
fn version_read(history: &History, op: OpId) -> Atom {
    let what = history.ops[op as usize];
    if what.kind == OpKind::Read {
        return what.value;
    }
    match ListRef::from_atom(what.value) {
        ListRef::Odd(_) => {
            let list = history.lists.get(what.key, ListRef::from_atom(what.value));
            let mixed = list
                .iter()
                .fold(list.len() as u64, |mixed, element| crate::hash::mix(mixed ^ element.bits()));
            Atom::from_bits(mixed | 1 << 62)
        }
        ListRef::Prefix(_) => what.value,
    }
}

struct Lists<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    /// Who appended what; only needed, and only filled, if something was aborted.
    writers: WriteTable<'a>,
    aborts: bool,
    /// One bit per operation: an append that its own transaction followed with another.
    intermediate: Vec<u64>,
}

impl<'a> Lists<'a> {
    fn new(history: &'a History, resolved: &'a Resolved) -> Lists<'a> {
        let aborts = history.txns.iter().any(|txn| txn.outcome == Outcome::Aborted);
        let size = if aborts { history.ops.len() } else { 0 };
        let mut writers = WriteTable::with_capacity(&history.ops, size);
        let mut intermediate = vec![0_u64; history.ops.len() / 64 + 1];
        let mut last = vec![(NONE, NONE); history.keys.len()];
        for (op, what) in history.ops.iter().enumerate() {
            if what.kind != OpKind::Append {
                continue;
            }
            if aborts {
                writers.insert(op as OpId);
            }
            let txn = resolved.op_txn[op];
            let (owner, before) = last[what.key as usize];
            if owner == txn {
                intermediate[before as usize / 64] |= 1 << (before % 64);
            }
            last[what.key as usize] = (txn, op as OpId);
        }
        Lists { history, resolved, writers, aborts, intermediate }
    }

    fn outcome(&self, write: OpId) -> Outcome {
        self.history.txns[self.resolved.op_txn[write as usize] as usize].outcome
    }

    fn scan(&self, found: &mut Vec<Scan>) {
        let mut reported = vec![0_u32; self.history.keys.len()];
        for txn in 0..self.history.txns.len() as TxnId {
            // One of unknown outcome counts if it was read from.
            if !self.resolved.included[txn as usize] {
                continue;
            }
            for op in self.history.range(txn) {
                let what = self.history.ops[op];
                if what.kind != OpKind::ReadList {
                    continue;
                }
                let list = self.list(op as OpId);
                self.duplicates(op as OpId, list, found);
                self.intermediate_read(op as OpId, found);
                if self.aborts {
                    self.aborted_reads(op as OpId, list, &mut reported, found);
                }
            }
            self.internal(txn, found);
        }
        for key in (0..self.history.keys.len() as KeyId).filter(|_| self.aborts) {
            self.dirty_updates(key, found);
        }
        self.incompatible(found);
    }

    fn list(&self, op: OpId) -> &'a [Atom] {
        let what = self.history.ops[op as usize];
        self.history.lists.get(what.key, ListRef::from_atom(what.value))
    }

    /// Aborted reads of any element.
    fn aborted_reads(&self, op: OpId, list: &[Atom], reported: &mut [u32], found: &mut Vec<Scan>) {
        let key = self.history.ops[op as usize].key;
        // A prefix that was examined before cannot contain a new aborted element.
        let known = reported[key as usize] as usize;
        let fresh = if self.history.lists.has_odd() { 0 } else { known.min(list.len()) };
        for &element in &list[fresh..] {
            let Some(write) = self.writers.find(key, element) else { continue };
            if self.outcome(write) == Outcome::Aborted {
                found.push(Scan { name: "G1a", ops: vec![op, write], key, value: Some(element) });
            }
        }
        reported[key as usize] = reported[key as usize].max(list.len() as u32);
    }

    /// A read that ends in an element that its writer followed with another.
    fn intermediate_read(&self, op: OpId, found: &mut Vec<Scan>) {
        let write = self.resolved.source(op as usize);
        if write < FIRST_SPECIAL && self.intermediate[write as usize / 64] >> (write % 64) & 1 == 1
        {
            let Op { key, value, .. } = self.history.ops[write as usize];
            found.push(Scan { name: "G1b", ops: vec![op, write], key, value: Some(value) });
        }
    }

    fn duplicates(&self, op: OpId, list: &[Atom], found: &mut Vec<Scan>) {
        let what = self.history.ops[op as usize];
        // The longest list of a key stands for all its prefixes.
        let longest = self.history.lists.longest(what.key);
        let is_prefix = matches!(ListRef::from_atom(what.value), ListRef::Prefix(_));
        if is_prefix && list.len() < longest.len() {
            return;
        }
        let mut sorted = list.to_vec();
        sorted.sort_unstable_by_key(|element| element.bits());
        if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
            return;
        }
        let mut seen: WordMap<Atom, ()> = WordMap::default();
        if let Some(&twice) = list.iter().find(|element| seen.insert(**element, ()).is_some()) {
            let (name, key) = ("duplicate-elements", what.key);
            if !found.iter().rev().any(|scan| scan.name == name && scan.key == key) {
                found.push(Scan { name, ops: vec![op], key, value: Some(twice) });
            }
        }
    }

    /// Reads that contradict the transaction's own earlier reads and appends, or its later appends.
    fn internal(&self, txn: TxnId, found: &mut Vec<Scan>) {
        let range = self.history.range(txn);
        let ops = &self.history.ops;
        let few = &ops[range.clone()];
        let apart = |at: usize| few[at + 1..].iter().all(|other| other.key != few[at].key);
        if few.len() <= 8 && (0..few.len()).all(apart) {
            return;
        }
        let mut touched: Vec<usize> =
            range.filter(|op| matches!(ops[*op].kind, OpKind::Append | OpKind::ReadList)).collect();
        touched.sort_by_key(|op| ops[*op].key);
        let of_keys = touched.chunk_by(|a, b| ops[*a].key == ops[*b].key);
        let odd: Vec<Scan> = of_keys.flat_map(|of_key| self.internal_to_key(of_key)).collect();
        for name in ["internal", "future-read"] {
            // Of each kind the one whose last operation comes first.
            let of_name = odd.iter().filter(|scan| scan.name == name);
            found.extend(of_name.min_by_key(|scan| scan.ops.iter().max()).cloned());
        }
    }

    /// The first read of a key that contradicts the transaction, and the first one of a later append; `touched` are
    /// its operations on the key.
    fn internal_to_key(&self, touched: &[usize]) -> Vec<Scan> {
        let ops = &self.history.ops;
        let key = ops[touched[0]].key;
        let mut found: Vec<Scan> = Vec::new();
        // The last list that was read, and what was appended since.
        let mut base: Option<&[Atom]> = None;
        let mut own: Vec<Atom> = Vec::new();
        // Elements that were read, with the first read of each.
        let mut read_in: WordMap<Atom, usize> = WordMap::default();
        let is_new = |found: &[Scan], name| found.iter().all(|scan| scan.name != name);
        for (at, &op) in touched.iter().enumerate() {
            let value = ops[op].value;
            if ops[op].kind == OpKind::Append {
                if let Some(&read) = read_in.get(&value)
                    && is_new(&found, "future-read")
                {
                    let ops = vec![read as OpId, op as OpId];
                    found.push(Scan { name: "future-read", ops, key, value: Some(value) });
                }
                own.push(value);
                continue;
            }
            let list = self.list(op as OpId);
            if at > 0 && !fits(base, &own, list) && is_new(&found, "internal") {
                let ops = vec![op as OpId, touched[at - 1] as OpId];
                found.push(Scan { name: "internal", ops, key, value: None });
            }
            if touched.len() > at + 1 {
                for element in list {
                    read_in.entry(*element).or_insert(op);
                }
            }
            base = Some(list);
            own.clear();
        }
        found
    }

    /// Reads of a key of which neither is a prefix of the other.
    fn incompatible(&self, found: &mut Vec<Scan>) {
        let mut reads: WordMap<KeyId, Vec<OpId>> =
            self.history.lists.keys_with_odd().map(|key| (key, Vec::new())).collect();
        for (op, what) in self.history.ops.iter().enumerate() {
            if what.kind == OpKind::ReadList
                && self.resolved.included[self.resolved.op_txn[op] as usize]
                && let Some(of_key) = reads.get_mut(&what.key)
            {
                of_key.push(op as OpId);
            }
        }
        for (key, mut reads) in reads {
            reads.sort_by_key(|op| (self.list(*op).len(), *op));
            let odd = |pair: &&[OpId]| !self.list(pair[1]).starts_with(self.list(pair[0]));
            if let Some(pair) = reads.windows(2).find(odd) {
                let ops = vec![pair[1], pair[0]];
                found.push(Scan { name: "incompatible-order", ops, key, value: None });
            }
        }
    }

    /// An aborted append that a committed one built upon.
    fn dirty_updates(&self, key: KeyId, found: &mut Vec<Scan>) {
        let mut aborted: Option<OpId> = None;
        for &element in self.history.lists.longest_of_all(key) {
            let Some(write) = self.writers.find(key, element) else { continue };
            match self.outcome(write) {
                Outcome::Aborted => aborted = aborted.or(Some(write)),
                Outcome::Unknown => {}
                Outcome::Committed => {
                    if let Some(dirty) = aborted.take() {
                        let ops = vec![write, dirty];
                        found.push(Scan { name: "dirty-update", ops, key, value: Some(element) });
                    }
                }
            }
        }
    }
}

/// Whether a list agrees with the transaction's own last read and what it appended since.
fn fits(base: Option<&[Atom]>, own: &[Atom], list: &[Atom]) -> bool {
    match base {
        // After a read of nothing Elle expects what was appended since, or anything if nothing was.
        Some([]) => own.is_empty() || list == own,
        Some(base) => {
            list.len() == base.len() + own.len()
                && list[..base.len()] == *base
                && list[base.len()..] == *own
        }
        None => list.ends_with(own),
    }
}
