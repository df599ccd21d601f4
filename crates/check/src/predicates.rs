//! Dependencies of predicate reads.
//!
//! Source: Adya 1999; the definitions as in the thesis on exact dependency graphs (chapter 5): a transaction that
//! installed a version that a predicate read examined is before it (wr); one that installed a later version that
//! changes whether the row matches is after it (rw). Idea: what a predicate read examined is what it returned, what the
//! input says it examined, and, in a closed universe, what is left when every other version of the row would have
//! matched. Assumption: a predicate given as text matches what some read of the same text says it matches; where no
//! read says so, there is no edge ("never report from a may edge").

use crate::graph::Kind;
use crate::hash::WordMap;
use crate::model::{Atom, History, KeyId, OpId, OpKind, Predicate, PredicateRead, TxnId, Workload};
use crate::orders::Orders;
use crate::resolve::Resolved;
use std::collections::HashMap;

/// A version of a row: absent before its first write, written, or the initial row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Version {
    /// Before the first write; holds the initial value, or nothing.
    Initial,
    /// Installed by this write.
    Write(OpId),
}

/// A predicate read that must have returned a row but did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The predicate read.
    pub op: OpId,
    /// The row.
    pub key: KeyId,
}

/// Computes the edges.
pub struct PredicateEdges<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    orders: &'a Orders,
    /// What reads of a text say about values: text, key, value.
    by_text: HashMap<(&'a str, KeyId, Atom), bool>,
    by_value: WordMap<(KeyId, Atom), OpId>,
}

impl<'a> PredicateEdges<'a> {
    /// Prepares the index; cheap if the history has no predicate reads.
    pub fn new(history: &'a History, resolved: &'a Resolved, orders: &'a Orders) -> Self {
        let mut by_text = HashMap::new();
        let mut by_value = WordMap::default();
        if history.workload == Workload::Predicates {
            for read in &history.predicates {
                let Predicate::Text(text) = &read.predicate else { continue };
                for &(key, value) in &read.matched {
                    by_text.insert((&**text, key, value), true);
                }
                for &(key, value) in &read.unmatched {
                    by_text.insert((&**text, key, value), false);
                }
                for &(key, value, matches) in &read.others {
                    by_text.insert((&**text, key, value), matches);
                }
            }
            for &op in orders.all_writes() {
                let what = history.ops[op as usize];
                // A deletion may have a name, so that a read can say that it examined what it left.
                if what.kind != OpKind::Delete || !what.value.is_nil() {
                    by_value.insert((what.key, what.value), op);
                }
            }
        }
        PredicateEdges { history, resolved, orders, by_text, by_value }
    }

    fn value(&self, key: KeyId, version: Version) -> Option<Atom> {
        let value = match version {
            Version::Initial => self.history.initial_value(key),
            Version::Write(op) => {
                let what = self.history.ops[op as usize];
                if what.kind == OpKind::Delete { Atom::NIL } else { what.value }
            }
        };
        (!value.is_nil()).then_some(value)
    }

    /// Whether a version matches; `None` if unknown.
    fn matches(&self, predicate: &'a Predicate, key: KeyId, version: Version) -> Option<bool> {
        let Some(value) = self.value(key, version) else { return Some(false) };
        match predicate {
            Predicate::True => Some(true),
            Predicate::Equals(wanted) => Some(value == *wanted),
            Predicate::Modulo(modulus, rest) => {
                value.as_int().map(|number| number.rem_euclid(*modulus) == *rest)
            }
            Predicate::Text(text) => self.by_text.get(&(&**text, key, value)).copied(),
        }
    }

    /// The versions of a row in order, the initial one first, if the order is known.
    fn versions(&self, key: KeyId) -> Option<Vec<Version>> {
        if self.orders.chain_count(key) > 1 {
            return None;
        }
        let writes = self.orders.chains(key).flatten().map(|op| Version::Write(*op));
        Some(std::iter::once(Version::Initial).chain(writes).collect())
    }

    /// The versions that a predicate read examined, as far as they are certain.
    fn version_set(&self, read: &'a PredicateRead) -> Vec<(KeyId, Version)> {
        let mut set: WordMap<KeyId, Version> = WordMap::default();
        for &(key, value) in read.matched.iter().chain(&read.unmatched) {
            if let Some(&op) = self.by_value.get(&(key, value)) {
                set.insert(key, Version::Write(op));
            } else if let Some(version) = self.unwritten(key, value) {
                set.insert(key, version);
            }
        }
        if !matches!(read.predicate, Predicate::Text(_)) {
            for key in 0..self.history.keys.len() as KeyId {
                if set.contains_key(&key) || read.matched.iter().any(|row| row.0 == key) {
                    continue;
                }
                let Some(versions) = self.versions(key) else { continue };
                let mut unmatched = versions
                    .iter()
                    .filter(|version| self.matches(&read.predicate, key, **version) == Some(false));
                if let (Some(&only), None) = (unmatched.next(), unmatched.next()) {
                    set.insert(key, only);
                }
            }
        }
        let mut set: Vec<(KeyId, Version)> = set.into_iter().collect();
        set.sort_by_key(|entry| entry.0);
        set
    }

    /// The version of a row that has a value which nobody wrote: the initial one, or that of the only deletion.
    fn unwritten(&self, key: KeyId, value: Atom) -> Option<Version> {
        let is_initial = value == self.history.initial_value(key);
        let writes = self.orders.chains(key).flatten().copied();
        let mut deletions =
            writes.filter(|op| self.history.ops[*op as usize].kind == OpKind::Delete);
        match (value.is_nil().then(|| deletions.next()).flatten(), is_initial) {
            (None, true) => Some(Version::Initial),
            (Some(only), false) if deletions.next().is_none() => Some(Version::Write(only)),
            _ => None,
        }
    }

    /// Transactions whose predicate reads examined rows of the initial state.
    pub fn of_initial(&self) -> Vec<TxnId> {
        let examines = |read| {
            let set = self.version_set(read);
            set.iter().any(|(key, version)| {
                *version == Version::Initial && self.value(*key, *version).is_some()
            })
        };
        let reads = self.predicate_reads().filter(|(_, read)| examines(read));
        reads.map(|(op, _)| self.resolved.op_txn[op as usize]).collect()
    }

    fn predicate_reads(&self) -> impl Iterator<Item = (OpId, &'a PredicateRead)> + '_ {
        let history = self.history;
        history.ops.iter().enumerate().filter_map(move |(op, what)| {
            let txn = self.resolved.op_txn[op] as usize;
            (what.kind == OpKind::ReadPredicate && self.resolved.included[txn])
                .then(|| (op as OpId, &history.predicates[what.value.bits() as usize]))
        })
    }

    /// Passes every predicate dependency to `add`.
    pub fn visit(&self, mut add: impl FnMut(TxnId, TxnId, Kind)) {
        if self.history.workload != Workload::Predicates {
            return;
        }
        for (op, read) in self.predicate_reads() {
            let reader = self.resolved.op_txn[op as usize];
            for (key, version) in self.version_set(read) {
                if let Version::Write(write) = version {
                    let writer = self.resolved.op_txn[write as usize];
                    if writer != reader {
                        add(writer, reader, Kind::WrPredicate);
                    }
                }
                for write in self.changing(&read.predicate, key, version) {
                    let writer = self.resolved.op_txn[write as usize];
                    if writer != reader {
                        add(reader, writer, Kind::RwPredicate);
                    }
                }
            }
        }
    }

    /// Later versions of a row that change whether the predicate matches.
    fn changing(&self, predicate: &'a Predicate, key: KeyId, seen: Version) -> Vec<OpId> {
        let (Some(versions), Some(matched)) =
            (self.versions(key), self.matches(predicate, key, seen))
        else {
            return Vec::new();
        };
        let later = versions.iter().skip_while(|version| **version != seen).skip(1);
        later
            .filter(|version| self.matches(predicate, key, **version) == Some(!matched))
            .filter_map(|version| match version {
                Version::Write(op) => Some(*op),
                Version::Initial => None,
            })
            .collect()
    }

    /// Predicate reads that missed a row although every version of it matches.
    pub fn misses(&self) -> Vec<Miss> {
        let mut misses = Vec::new();
        if self.history.workload != Workload::Predicates {
            return misses;
        }
        for (op, read) in self.predicate_reads() {
            for key in 0..self.history.keys.len() as KeyId {
                if read.matched.iter().any(|row| row.0 == key) {
                    continue;
                }
                let Some(versions) = self.versions(key) else { continue };
                let all =
                    versions.iter().all(|v| self.matches(&read.predicate, key, *v) == Some(true));
                if all {
                    misses.push(Miss { op, key });
                }
            }
        }
        misses
    }

    /// Explains a predicate edge: the predicate read, the row and the version that the reader saw or
    /// that replaced it.
    pub fn explain(&self, from: TxnId, to: TxnId, kind: Kind) -> Option<(OpId, KeyId, OpId)> {
        for (op, read) in self.predicate_reads() {
            let reader = self.resolved.op_txn[op as usize];
            for (key, version) in self.version_set(read) {
                match (kind, version) {
                    (Kind::WrPredicate, Version::Write(write))
                        if reader == to && self.resolved.op_txn[write as usize] == from =>
                    {
                        return Some((op, key, write));
                    }
                    (Kind::RwPredicate, _) if reader == from => {
                        let changing = self.changing(&read.predicate, key, version);
                        let found =
                            changing.iter().find(|w| self.resolved.op_txn[**w as usize] == to);
                        if let Some(&write) = found {
                            return Some((op, key, write));
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }
}
