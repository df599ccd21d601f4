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
            let outcome = self.history.txns[txn as usize].outcome;
            if outcome == Outcome::Aborted {
                continue;
            }
            for op in self.history.range(txn) {
                let what = self.history.ops[op];
                if what.kind != OpKind::ReadList {
                    continue;
                }
                let list = self.list(op as OpId);
                self.duplicates(op as OpId, list, found);
                if outcome == Outcome::Committed {
                    self.intermediate_read(op as OpId, found);
                    if self.aborts {
                        self.aborted_reads(op as OpId, list, &mut reported, found);
                    }
                }
            }
            if outcome == Outcome::Committed {
                self.internal(txn, found);
            }
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
        let touched: Vec<usize> =
            range.filter(|op| matches!(ops[*op].kind, OpKind::Append | OpKind::ReadList)).collect();
        let mut reported = (false, false);
        for (at, &op) in touched.iter().enumerate() {
            let key = ops[op].key;
            if ops[op].kind == OpKind::ReadList {
                let before: Vec<usize> =
                    touched[..at].iter().copied().filter(|op| ops[*op].key == key).collect();
                if !reported.0 && !self.fits(&before, self.list(op as OpId)) {
                    reported.0 = true;
                    let ops = vec![op as OpId, before[before.len() - 1] as OpId];
                    found.push(Scan { name: "internal", ops, key, value: None });
                }
            } else if !reported.1 {
                let value = ops[op].value;
                let early = touched[..at].iter().copied().find(|read| {
                    ops[*read].key == key
                        && ops[*read].kind == OpKind::ReadList
                        && self.list(*read as OpId).contains(&value)
                });
                if let Some(read) = early {
                    reported.1 = true;
                    let ops = vec![read as OpId, op as OpId];
                    found.push(Scan { name: "future-read", ops, key, value: Some(value) });
                }
            }
        }
    }

    /// Whether a list agrees with the transaction's own earlier operations.
    fn fits(&self, before: &[usize], list: &[Atom]) -> bool {
        let ops = &self.history.ops;
        let read = before.iter().rposition(|op| ops[*op].kind == OpKind::ReadList);
        let own: Vec<Atom> =
            before[read.map_or(0, |at| at + 1)..].iter().map(|op| ops[*op].value).collect();
        let base = read.map(|at| self.list(before[at] as OpId)).filter(|base| !base.is_empty());
        match (base, read) {
            (Some(base), _) => {
                list.len() == base.len() + own.len()
                    && list[..base.len()] == *base
                    && list[base.len()..] == *own
            }
            // After a read of nothing Elle expects what was appended since, or anything if nothing was.
            (None, Some(_)) if own.is_empty() => true,
            (None, Some(_)) => list == own,
            (None, None) => list.ends_with(&own),
        }
    }

    /// Reads of a key of which neither is a prefix of the other.
    fn incompatible(&self, found: &mut Vec<Scan>) {
        let mut reads: WordMap<KeyId, Vec<OpId>> =
            self.history.lists.keys_with_odd().map(|key| (key, Vec::new())).collect();
        for (op, what) in self.history.ops.iter().enumerate() {
            let outcome = self.history.txns[self.resolved.op_txn[op] as usize].outcome;
            if what.kind == OpKind::ReadList
                && outcome != Outcome::Aborted
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
