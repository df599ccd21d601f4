//! Elle's own inference for registers and closed predicates, for results that match Elle's exactly.
//!
//! Idea: where the rest of this crate is exact, Elle is conservative: it uses only the partial version order that its
//! options allow (nil first; writes follow reads; session, real-time or given order per key), and drops a source that
//! contradicts itself, reporting `cyclic-versions`. This module infers the same edges. Source: the documentation and
//! definitions of Elle's rw-register checker. Blind spot: everything that Elle does not see; use the exact mode for
//! that.

use crate::graph::{Csr, EdgeList, Kind, components};
use crate::hash::WordMap;
use crate::model::{Atom, History, KeyId, NONE, OpId, OpKind, Outcome, TxnId};
use crate::sessions::Sessions;

/// Which sources of version orders may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Within a transaction, writes follow reads.
    pub wfr_keys: bool,
    /// Each key is sequentially consistent.
    pub sequential_keys: bool,
    /// Each key is linearizable.
    pub linearizable_keys: bool,
    /// Position of every transaction, if given.
    pub txn_order: Option<Vec<Option<i64>>>,
}

/// What the inference found.
#[derive(Debug, Default)]
pub struct Inferred {
    /// Edges.
    pub edges: EdgeList,
    /// Operations behind them.
    pub because: WordMap<(TxnId, TxnId, u8), (OpId, OpId)>,
    /// Keys with a cyclic version order, with the values on the cycle and the source that closed it.
    pub cyclic: Vec<(KeyId, Vec<Atom>, &'static str)>,
}

/// External reads and writes of a transaction: key to operation.
struct External {
    reads: WordMap<KeyId, OpId>,
    writes: WordMap<KeyId, OpId>,
}

fn external(history: &History, txn: TxnId) -> External {
    let mut found = External { reads: WordMap::default(), writes: WordMap::default() };
    for op in history.range(txn) {
        let what = history.ops[op];
        if what.kind.is_write() {
            found.writes.insert(what.key, op as OpId);
        } else if what.kind == OpKind::Read && !found.writes.contains_key(&what.key) {
            found.reads.entry(what.key).or_insert(op as OpId);
        }
    }
    found
}

type VersionGraphs = WordMap<KeyId, Vec<(Atom, Atom)>>;

struct Inference<'a> {
    history: &'a History,
    externals: Vec<External>,
}

/// Infers edges for a register history.
pub fn infer(history: &History, sessions: &Sessions, sources: &Sources) -> Inferred {
    let count = history.txns.len() as TxnId;
    let inference =
        Inference { history, externals: (0..count).map(|txn| external(history, txn)).collect() };
    let mut graphs: VersionGraphs = WordMap::default();
    let mut inferred = Inferred::default();
    let mut candidates: Vec<(&'static str, VersionGraphs)> =
        vec![("initial-state", inference.initial_state())];
    if sources.wfr_keys {
        candidates.push(("wfr-keys", inference.writes_follow_reads()));
    }
    if sources.sequential_keys {
        let mut edges = EdgeList::default();
        crate::dsg::session_edges(sessions, |from, to| edges.push(from, to));
        candidates.push(("sequential-keys", inference.along_transactions(&edges)));
    }
    if sources.linearizable_keys {
        candidates
            .push(("linearizable-keys", inference.along_transactions(&inference.real_time())));
    }
    if let Some(order) = &sources.txn_order {
        candidates.push(("transaction-order", inference.given_order(order)));
    }
    for (name, more) in candidates {
        let mut joined = graphs.clone();
        for (key, edges) in more {
            joined.entry(key).or_default().extend(edges);
        }
        let cyclic = cyclic_keys(&joined);
        if cyclic.is_empty() {
            graphs = joined;
        } else {
            inferred.cyclic.extend(cyclic.into_iter().map(|(key, values)| (key, values, name)));
        }
    }
    inference.edges(&graphs, &mut inferred);
    inferred
}

fn cyclic_keys(graphs: &VersionGraphs) -> Vec<(KeyId, Vec<Atom>)> {
    let mut cyclic = Vec::new();
    for (key, edges) in graphs {
        let mut values: Vec<Atom> = edges.iter().flat_map(|(a, b)| [*a, *b]).collect();
        values.sort_unstable();
        values.dedup();
        let place = |value: &Atom| values.binary_search(value).unwrap_or(0) as u32;
        let mut list = EdgeList::default();
        for (a, b) in edges {
            list.push(place(a), place(b));
        }
        for component in components(&Csr::new(values.len(), &list), 0) {
            cyclic.push((*key, component.iter().map(|at| values[*at as usize]).collect()));
        }
    }
    cyclic.sort();
    cyclic
}

impl Inference<'_> {
    fn outcome(&self, txn: TxnId) -> Outcome {
        self.history.txns[txn as usize].outcome
    }

    fn value(&self, op: OpId) -> Atom {
        self.history.ops[op as usize].value
    }

    fn possible(&self) -> impl Iterator<Item = TxnId> + '_ {
        let count = self.history.txns.len() as TxnId;
        (0..count).filter(|txn| self.outcome(*txn) != Outcome::Aborted)
    }

    fn initial_state(&self) -> VersionGraphs {
        let mut graphs = VersionGraphs::default();
        for txn in self.possible() {
            let external = &self.externals[txn as usize];
            let reads = (self.outcome(txn) == Outcome::Committed).then_some(&external.reads);
            for (&key, &op) in external.writes.iter().chain(reads.into_iter().flatten()) {
                if !self.value(op).is_nil() {
                    graphs.entry(key).or_default().push((Atom::NIL, self.value(op)));
                }
            }
        }
        graphs
    }

    fn writes_follow_reads(&self) -> VersionGraphs {
        let mut graphs = VersionGraphs::default();
        for txn in self.possible().filter(|txn| self.outcome(*txn) == Outcome::Committed) {
            let external = &self.externals[txn as usize];
            for (key, &read) in &external.reads {
                if let Some(&write) = external.writes.get(key)
                    && !self.value(read).is_nil()
                {
                    graphs.entry(*key).or_default().push((self.value(read), self.value(write)));
                }
            }
        }
        graphs
    }

    /// The writes of every key in the order that was given.
    fn given_order(&self, order: &[Option<i64>]) -> VersionGraphs {
        let mut placed: Vec<(i64, TxnId)> = self
            .possible()
            .filter_map(|txn| order.get(txn as usize).copied().flatten().map(|place| (place, txn)))
            .collect();
        placed.sort_unstable();
        let mut last: WordMap<KeyId, Atom> = WordMap::default();
        let mut graphs = VersionGraphs::default();
        for (_, txn) in placed {
            for (&key, &op) in &self.externals[txn as usize].writes {
                if let Some(before) = last.insert(key, self.value(op)) {
                    graphs.entry(key).or_default().push((before, self.value(op)));
                }
            }
        }
        graphs
    }

    fn real_time(&self) -> EdgeList {
        let mut edges = EdgeList::default();
        let included: Vec<bool> =
            self.history.txns.iter().map(|txn| txn.outcome != Outcome::Aborted).collect();
        crate::dsg::real_time_between(self.history, &included, |from, to| edges.push(from, to));
        edges
    }

    /// The last version of a key in a transaction: its write, or else what it read.
    fn last_version(&self, txn: TxnId, key: KeyId) -> Option<Atom> {
        let external = &self.externals[txn as usize];
        let write = external.writes.get(&key).map(|op| self.value(*op));
        match self.outcome(txn) {
            Outcome::Committed => write.or(external.reads.get(&key).map(|op| self.value(*op))),
            Outcome::Unknown => write,
            Outcome::Aborted => None,
        }
    }

    /// The first version of a key in a transaction.
    fn first_version(&self, txn: TxnId, key: KeyId) -> Option<Atom> {
        let external = &self.externals[txn as usize];
        let write = external.writes.get(&key).map(|op| self.value(*op));
        let read = external.reads.get(&key).map(|op| self.value(*op));
        match self.outcome(txn) {
            Outcome::Committed => read.filter(|value| !value.is_nil()).or(write).or(read),
            Outcome::Unknown => write,
            Outcome::Aborted => None,
        }
    }

    /// From each transaction to the next ones that touch the same key.
    fn along_transactions(&self, order: &EdgeList) -> VersionGraphs {
        let graph = Csr::new(self.history.txns.len(), order);
        let mut graphs = VersionGraphs::default();
        let mut seen = vec![NONE; self.history.txns.len()];
        let mut round = 0;
        for txn in self.possible() {
            let external = &self.externals[txn as usize];
            let mut keys: Vec<KeyId> =
                external.reads.keys().chain(external.writes.keys()).copied().collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let Some(before) = self.last_version(txn, key) else { continue };
                round += 1;
                let mut queue: Vec<TxnId> = graph.targets(txn).to_vec();
                while let Some(next) = queue.pop() {
                    if std::mem::replace(&mut seen[next as usize], round) == round {
                        continue;
                    }
                    let touches = {
                        let external = &self.externals[next as usize];
                        external.writes.contains_key(&key)
                            || self.outcome(next) == Outcome::Committed
                                && external.reads.contains_key(&key)
                    };
                    if !touches {
                        queue.extend_from_slice(graph.targets(next));
                        continue;
                    }
                    if let Some(after) = self.first_version(next, key)
                        && after != before
                    {
                        graphs.entry(key).or_default().push((before, after));
                    }
                }
            }
        }
        graphs
    }

    /// wr from values, ww and rw from version graphs; committed transactions only.
    fn edges(&self, graphs: &VersionGraphs, inferred: &mut Inferred) {
        let mut writers: WordMap<(KeyId, Atom), Vec<OpId>> = WordMap::default();
        let mut readers: WordMap<(KeyId, Atom), Vec<OpId>> = WordMap::default();
        for txn in self.possible().filter(|txn| self.outcome(*txn) == Outcome::Committed) {
            let external = &self.externals[txn as usize];
            for (&key, &op) in &external.writes {
                writers.entry((key, self.value(op))).or_default().push(op);
            }
            for (&key, &op) in &external.reads {
                readers.entry((key, self.value(op))).or_default().push(op);
            }
        }
        let nobody = Vec::new();
        let mut link = |first: OpId, second: OpId, kind: Kind| {
            let (from, to) = (self.history.txn_of(first), self.history.txn_of(second));
            if from == to {
                return;
            }
            let edge = (from, to, kind as u8);
            if inferred.because.insert(edge, (first, second)).is_none() {
                inferred.edges.push_kind(from, to, kind as u8);
            }
        };
        for (version, reads) in &readers {
            let written = writers.get(version).unwrap_or(&nobody);
            if let [write] = written.as_slice() {
                for read in reads {
                    link(*write, *read, Kind::Wr);
                }
            }
        }
        for (&key, edges) in graphs {
            for &(before, after) in edges {
                for &second in writers.get(&(key, after)).unwrap_or(&nobody) {
                    for &first in writers.get(&(key, before)).unwrap_or(&nobody) {
                        link(first, second, Kind::Ww);
                    }
                    for &first in readers.get(&(key, before)).unwrap_or(&nobody) {
                        link(first, second, Kind::Rw);
                    }
                }
            }
        }
    }
}
