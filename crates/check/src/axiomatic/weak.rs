//! Read committed, read atomic and causal of Biswas and Enea, complete on unique values.
//!
//! Idea: each of these levels holds exactly if session order, reads-from and the writes that a reader's view forces
//! into an order ("it saw t2, yet read x from t1, and t2 writes x too: so t2 came before t1") have no cycle. Per read
//! only the latest write of each session can matter. Source: Biswas and Enea, OOPSLA 2019; complexity as in AWDIT (PLDI
//! 2025). The initial state is a transaction before all others: a transaction that must precede it is a violation.
//! Assumption: every read has one writer (see [`crate::resolve`]).

use super::clocks::Clocks;
use super::context::Context;
use super::own_reads::OwnReads;
use super::writers::Writers;
use super::written_keys::WrittenKeys;
use crate::graph::{Csr, EdgeList};
use crate::hash::WordMap;
use crate::model::{KeyId, NONE, OpId, TxnId};
use crate::portions::{cut, in_portions};
use std::ops::Range;

/// Which of the three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weak {
    /// A transaction's later reads see at least what its earlier reads saw.
    ReadCommitted,
    /// All of a transaction's reads see all of the transactions it saw.
    ReadAtomic,
    /// All reads see everything in the causal past.
    Causal,
}

/// An order that a read forces: `before` came before `after`, because of the read `op`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forced {
    /// The write that the reader knew.
    pub before: TxnId,
    /// The writer it read from; [`NONE`] for the initial state.
    pub after: TxnId,
    /// The read.
    pub op: OpId,
}

/// Receives the forced orders; returning `false` stops the search.
pub(crate) trait Collect {
    fn forced(&mut self, order: Forced) -> bool;
}

impl<F: FnMut(Forced) -> bool> Collect for F {
    fn forced(&mut self, order: Forced) -> bool {
        self(order)
    }
}

/// Whether the level holds.
///
/// First without storing anything: if all edges lead forward in the input, as in a log, there is no cycle, and if one
/// does not, this is noticed early. Only a read that did not see the last write before it can force an edge that leads
/// back. Only then is the graph built.
pub fn holds(context: &Context<'_>, level: Weak, threads: usize) -> bool {
    let resolved = context.resolved;
    let basis = Basis::new(context, level, threads);
    if resolved.leads_forward {
        let parts = in_parts(context, level, threads, &|jobs: &Part| {
            let mut seen = Glance { possible: true, forward: true };
            let matters = |txn: TxnId| resolved.stale[txn as usize];
            collect(context, &basis, level, jobs, matters, &mut |order: Forced| {
                seen.possible &= order.after != NONE;
                seen.forward &= order.before < order.after;
                seen.possible && seen.forward
            });
            seen
        });
        if parts.iter().any(|seen| !seen.possible) {
            return false;
        }
        if parts.iter().all(|seen| seen.forward) {
            return true;
        }
    }
    let mut edges = context.base_edges();
    let parts = in_parts(context, level, threads, &|jobs: &Part| {
        let mut edges = EdgeList::default();
        let mut possible = true;
        collect(context, &basis, level, jobs, |_| true, &mut |order: Forced| {
            possible &= order.after != NONE;
            edges.push(order.before, order.after);
            possible
        });
        (possible, edges)
    });
    for (possible, mut found) in parts {
        if !possible {
            return false;
        }
        edges.append(&mut found);
    }
    edges.are_acyclic(context.history.txns.len())
}

struct Glance {
    possible: bool,
    forward: bool,
}

/// A portion of the work: transactions or, at the causal level, keys, because clocks are passed from transaction to
/// transaction; and whether it includes session order.
struct Part {
    txns: Range<TxnId>,
    keys: Range<KeyId>,
    sessions: bool,
}

/// Runs `work` on portions of the whole; results come in order.
fn in_parts<T: Send>(
    context: &Context<'_>,
    level: Weak,
    threads: usize,
    work: &(dyn Fn(&Part) -> T + Sync),
) -> Vec<T> {
    let (txns, keys) = (context.history.txns.len(), context.history.keys.len());
    let portions = threads.clamp(1, 1 + txns / 4096);
    in_portions(portions, &|portion| {
        let mut part = Part { sessions: portion == 0, ..Part::whole(context) };
        match level {
            Weak::Causal => part.keys = cut(keys, portion, portions),
            Weak::ReadCommitted | Weak::ReadAtomic => part.txns = cut(txns, portion, portions),
        }
        work(&part)
    })
}

impl Part {
    fn whole(context: &Context<'_>) -> Part {
        let (txns, keys) = (context.history.txns.len(), context.history.keys.len());
        Part { txns: 0..txns as TxnId, keys: 0..keys as KeyId, sessions: true }
    }
}

/// Data that all portions of the work share.
#[derive(Default)]
struct Basis {
    /// Read committed and read atomic: the keys of each writer.
    written: WrittenKeys,
    /// Causal: the writers of each key.
    writers: Writers,
    /// Causal: the transactions in an order that follows the causal one; none if that is cyclic.
    order: Vec<TxnId>,
}

impl Basis {
    fn new(context: &Context<'_>, level: Weak, threads: usize) -> Basis {
        match level {
            Weak::ReadCommitted | Weak::ReadAtomic => {
                Basis { written: WrittenKeys::new(context), ..Basis::default() }
            }
            Weak::Causal => Basis {
                writers: Writers::new(context, threads),
                order: causal_order(context),
                ..Basis::default()
            },
        }
    }
}

fn causal_order(context: &Context<'_>) -> Vec<TxnId> {
    let count = context.history.txns.len();
    if context.resolved.leads_forward {
        return (0..count as TxnId).collect();
    }
    let graph = Csr::new(count, &context.base_edges());
    crate::graph::topological_order(&graph).unwrap_or_default()
}

/// All orders that the level forces.
pub fn forced_orders(context: &Context<'_>, level: Weak) -> Vec<Forced> {
    let mut all = Vec::new();
    let basis = Basis::new(context, level, 1);
    collect(context, &basis, level, &Part::whole(context), |_| true, &mut |order: Forced| {
        all.push(order);
        true
    });
    all
}

/// Passes every order that a relevant transaction forces to `sink`. Causal: passes nothing if the causal order is
/// cyclic.
fn collect<C: Collect>(
    context: &Context<'_>,
    basis: &Basis,
    level: Weak,
    part: &Part,
    matters: impl Fn(TxnId) -> bool,
    sink: &mut C,
) {
    match level {
        Weak::ReadCommitted => {
            observed(context, &basis.written, true, part, matters, sink);
        }
        Weak::ReadAtomic => {
            if observed(context, &basis.written, false, part, &matters, sink) && part.sessions {
                session_writers(context, matters, sink);
            }
        }
        Weak::Causal => {
            causal(context, basis, &part.keys, matters, sink);
        }
    }
}

/// Orders from what the transaction itself read: earlier reads only, or all of them.
fn observed<C: Collect>(
    context: &Context<'_>,
    written: &WrittenKeys,
    earlier_only: bool,
    part: &Part,
    matters: impl Fn(TxnId) -> bool,
    sink: &mut C,
) -> bool {
    let mut reads = OwnReads::new(context.history);
    // Large writers are looked up key by key instead of being scanned for every reader.
    let mut large: WordMap<TxnId, WordMap<u32, ()>> = WordMap::default();
    for txn in part.txns.clone() {
        if !context.resolved.included[txn as usize] || !matters(txn) {
            continue;
        }
        reads.take(context, txn);
        if reads.all.len() < 2 {
            continue;
        }
        for at in 0..reads.all.len() {
            let writer = reads.all[at].from;
            if writer == NONE || !reads.is_first_from(writer, at) {
                continue;
            }
            let floor = if earlier_only { at + 1 } else { 0 };
            let mut visit = |key: u32| {
                reads.of_key(key, floor).all(|other| {
                    other.from == writer
                        || sink.forced(Forced { before: writer, after: other.from, op: other.op })
                })
            };
            let keys = written.of(writer);
            let go_on = if keys.len() <= 4 * reads.all.len() + 16 {
                keys.iter().copied().all(&mut visit)
            } else {
                let keys = large
                    .entry(writer)
                    .or_insert_with(|| keys.iter().map(|key| (*key, ())).collect());
                let is_written = |key: &u32| keys.contains_key(key);
                reads.keys().filter(is_written).all(visit)
            };
            if !go_on {
                return false;
            }
        }
    }
    true
}

/// Orders from session order: the last writer of the key earlier in the same session.
fn session_writers<C: Collect>(
    context: &Context<'_>,
    matters: impl Fn(TxnId) -> bool,
    sink: &mut C,
) -> bool {
    let history = context.history;
    let mut last = vec![(NONE, NONE); history.keys.len()];
    for &txn in &context.sessions.order {
        let session = history.txns[txn as usize].session;
        for read in context.reads(txn).take_while(|_| matters(txn)) {
            let (owner, writer) = last[read.key as usize];
            if owner != session || writer == read.from {
                continue;
            }
            let order = Forced { before: writer, after: read.from, op: read.op };
            if !sink.forced(order) {
                return false;
            }
        }
        for key in context.written_keys(txn) {
            last[key as usize] = (session, txn);
        }
    }
    true
}

/// Number of transactions for which the writers of what they read are fetched together.
const AHEAD: usize = 16;

/// Orders from the causal past: per session the last writer of the key that the reader knew. Reads of keys outside
/// `keys` count only as knowledge.
fn causal<C: Collect>(
    context: &Context<'_>,
    basis: &Basis,
    keys: &Range<KeyId>,
    matters: impl Fn(TxnId) -> bool,
    sink: &mut C,
) -> bool {
    let Basis { writers, order, .. } = basis;
    let mut clocks = Clocks::new(context);
    for (at, &txn) in order.iter().enumerate() {
        if at % AHEAD == 0 {
            let soon = &order[at..order.len().min(at + AHEAD)];
            let reads =
                soon.iter().filter(|txn| matters(**txn)).flat_map(|txn| context.reads(*txn));
            writers.fetch(reads.map(|read| read.key).filter(|key| keys.contains(key)));
        }
        if !context.resolved.included[txn as usize] {
            continue;
        }
        clocks.enter(context, txn);
        let own =
            (context.history.txns[txn as usize].session, context.sessions.index[txn as usize]);
        let reads = context.reads(txn).take_while(|_| matters(txn));
        for read in reads.filter(|read| keys.contains(&read.key)) {
            let known = clocks.of(txn);
            let base = (read.from != NONE).then(|| clocks.of(read.from));
            for (session, group) in writers.groups(read.key) {
                // The clock counts the transaction itself, which is not in its own past.
                let upper = if session == own.0 { own.1 } else { known[session as usize] };
                let lower = base.map_or(0, |clock| clock[session as usize]);
                if upper <= lower {
                    continue;
                }
                let Some(writer) = group.last_below(upper) else { continue };
                if writer.index < lower || writer.txn == read.from {
                    continue;
                }
                let order = Forced { before: writer.txn, after: read.from, op: read.op };
                if !sink.forced(order) {
                    return false;
                }
            }
        }
        clocks.leave(context, txn);
    }
    true
}
