//! Turns a history into a polygraph.

use super::{Polygraph, Shape};
use crate::dsg::{Readers, real_time_edges, session_edges};
use crate::graph::{EdgeList, Kind};
use crate::model::{History, KeyId, TxnId};
use crate::orders::Orders;
use crate::predicates::PredicateEdges;
use crate::resolve::Resolved;
use crate::sessions::Sessions;

/// Two chains of writes of one key: which comes first?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The key.
    pub key: KeyId,
    /// First and last writer of one chain.
    pub a_first: TxnId,
    /// Last writer of one chain.
    pub a_last: TxnId,
    /// First writer of the other chain.
    pub b_first: TxnId,
    /// Last writer of the other chain.
    pub b_last: TxnId,
    pub(crate) a_readers: u32,
    pub(crate) b_readers: u32,
}

/// What a polygraph is made from.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The history.
    pub history: &'a History,
    /// Its reads.
    pub resolved: &'a Resolved,
    /// Its sessions.
    pub sessions: &'a Sessions,
    /// Known version orders; with derived chains except for prefix.
    pub orders: &'a Orders,
    /// Readers of every version.
    pub readers: &'a Readers,
    /// Whether session order counts.
    pub session: bool,
    /// Whether real time counts.
    pub real_time: bool,
    /// Whether predicate dependencies count.
    pub predicates: bool,
}

impl Polygraph {
    /// Builds the polygraph of a history for a shape of level.
    pub fn new(inputs: Inputs<'_>, shape: Shape) -> Polygraph {
        let txns = inputs.history.txns.len();
        let split = matches!(shape, Shape::Snapshot | Shape::Prefix);
        let mut graph = Polygraph {
            shape,
            nodes: if split { 2 * txns } else { txns },
            fixed: EdgeList::default(),
            questions: Vec::new(),
            readers: Vec::new(),
            chains: Vec::new(),
            hints: Vec::new(),
        };
        if split {
            for txn in 0..txns as TxnId {
                let (begin, commit) = (graph.begin(txn), graph.commit(txn));
                graph.fixed.push(begin, commit);
            }
        }
        let Inputs { history, resolved, sessions, orders, readers, .. } = inputs;
        crate::dsg::data_edges(history, resolved, orders, readers, |from, to, kind| {
            graph.fix(from, to, kind);
        });
        if inputs.predicates {
            PredicateEdges::new(history, resolved, orders).visit(|from, to, kind| {
                graph.fix(from, to, kind);
            });
        }
        if inputs.session {
            session_edges(sessions, |from, to| graph.fix(from, to, Kind::Session));
        }
        if inputs.real_time {
            real_time_edges(history, resolved, |from, to| graph.fix(from, to, Kind::RealTime));
        }
        for key in 0..orders.keys() as KeyId {
            graph.ask(&inputs, key);
        }
        if !graph.questions.is_empty() {
            graph.hints = hints(history, split);
        }
        graph
    }

    fn fix(&mut self, from: TxnId, to: TxnId, kind: Kind) {
        let (source, target) = match kind {
            Kind::Rw | Kind::RwPredicate if self.shape == Shape::WriteRead => return,
            Kind::Rw | Kind::RwPredicate => (self.begin(from), self.commit(to)),
            Kind::Ww | Kind::WwPredicate if self.shape == Shape::Prefix => {
                (self.commit(from), self.commit(to))
            }
            _ => (self.commit(from), self.begin(to)),
        };
        self.fixed.push(source, target);
    }

    /// One question for every two chains of the key whose order is open.
    fn ask(&mut self, inputs: &Inputs<'_>, key: KeyId) {
        let skip = usize::from(inputs.orders.first_is_first(key));
        if inputs.orders.chain_count(key) < 2 + skip {
            return;
        }
        let open: Vec<&[u32]> = inputs.orders.chains(key).skip(skip).collect();
        let txn = |op: u32| inputs.resolved.op_txn[op as usize];
        let base = self.readers.len() as u32;
        for chain in &open {
            let mut readers = inputs.readers.of(chain[chain.len() - 1]).to_vec();
            readers.dedup();
            self.readers.push(readers);
            self.chains.push((key, txn(chain[0]), txn(chain[chain.len() - 1])));
        }
        for (i, a) in open.iter().enumerate() {
            for (j, b) in open.iter().enumerate().skip(i + 1) {
                let question = Question {
                    key,
                    a_first: txn(a[0]),
                    a_last: txn(a[a.len() - 1]),
                    b_first: txn(b[0]),
                    b_last: txn(b[b.len() - 1]),
                    a_readers: base + i as u32,
                    b_readers: base + j as u32,
                };
                // Appends of one transaction that nobody saw: their order does not matter.
                if question.a_last != question.b_first && question.b_last != question.a_first {
                    self.questions.push(question);
                }
            }
        }
    }
}

/// The probable position of a transaction: by completion if recorded, else by position in the input.
fn hints(history: &History, split: bool) -> Vec<u64> {
    let timed = history.has_real_time();
    let mut hints = Vec::with_capacity(history.txns.len() * 2);
    for (at, txn) in history.txns.iter().enumerate() {
        let commit = if timed { txn.completed } else { txn.label.max(0) as u64 };
        let commit = if commit == u64::MAX { at as u64 } else { commit };
        if split {
            hints.push(if timed && txn.invoked != u64::MAX { txn.invoked } else { commit });
        }
        hints.push(commit);
    }
    hints
}
