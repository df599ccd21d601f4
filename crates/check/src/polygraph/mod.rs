//! Strong levels when the version order is not fully known.
//!
//! Idea: a polygraph. Certain dependencies are edges; for two chains of writes of a key it is open which comes first,
//! and each answer adds its own edges (ww, and rw from the readers of the overwritten version). The level holds if and
//! only if the open questions can be answered without a cycle. Steps: certain edges alone; a lucky guess (a topological
//! order answers everything); pruning with the transitive closure until nothing more follows; another guess; then a SAT
//! solver that learns about cycles. It never searches over orders of transactions. Source: Papadimitriou 1979; Cobra
//! (OSDI 2020), PolySI (PVLDB 2023), Viper (EuroSys 2023); the characterisations of SI and prefix by Cerone, Gotsman
//! and Bernardi. Shapes: serializable has a node per transaction; SI and prefix have two, begin and commit, so that "no
//! two rw edges in a row" becomes plain acyclicity. Limits: [`Limits`]; reaching one gives [`Decision::Unknown`] with
//! the reason.

mod build;
mod guess;
mod reach;
mod sat;
mod simulate;

pub use build::{Inputs, Question};

use crate::graph::EdgeList;

/// What graph the level asks about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// ww, wr, rw and the order edges: serializability.
    Serial,
    /// (order, wr, ww) then at most one rw: snapshot isolation.
    Snapshot,
    /// (order, wr) then at most one rw, or ww: prefix consistency.
    Prefix,
    /// ww and wr only, with updates next to what they read: cursor stability.
    WriteRead,
}

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest number of nodes for which the closure (a bit per pair) is computed.
    pub closure_nodes: usize,
    /// Largest number of open questions.
    pub questions: usize,
    /// Conflicts after which the SAT solver stops.
    pub conflicts: u64,
    /// Edges that may be followed while looking for cycles among answers, in one decision.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            closure_nodes: 60_000,
            questions: 20_000_000,
            conflicts: 1_000_000,
            steps: 300_000_000,
        }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The level holds; the answer to every question is the commit order implied.
    Holds,
    /// The level does not hold.
    Fails(Reason),
    /// A limit was reached.
    Unknown(String),
}

/// Why a level fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The certain dependencies already have a cycle.
    CertainCycle,
    /// Neither order of these two chains of writes is possible.
    Contradiction(Question),
    /// The solver found no answer to all questions together.
    NoAssignment {
        /// How many questions were left open for it.
        questions: usize,
    },
}

/// A polygraph over nodes that stand for transactions (see [`Shape`]).
pub struct Polygraph {
    pub(crate) shape: Shape,
    pub(crate) nodes: usize,
    pub(crate) fixed: EdgeList,
    pub(crate) questions: Vec<Question>,
    /// Readers of the last version of a chain, by chain.
    pub(crate) readers: Vec<Vec<u32>>,
    /// Key, first and last writer of each open chain.
    pub(crate) chains: Vec<(u32, u32, u32)>,
    pub(crate) hints: Vec<u64>,
}

impl Polygraph {
    /// Node of a transaction's commit.
    #[inline]
    pub(crate) fn commit(&self, txn: u32) -> u32 {
        if matches!(self.shape, Shape::Snapshot | Shape::Prefix) { 2 * txn + 1 } else { txn }
    }

    /// Node of a transaction's begin.
    #[inline]
    pub(crate) fn begin(&self, txn: u32) -> u32 {
        if matches!(self.shape, Shape::Snapshot | Shape::Prefix) { 2 * txn } else { txn }
    }

    /// The edges that one answer adds: `first` before `second`.
    pub(crate) fn answer_edges(
        &self,
        question: &Question,
        a_first: bool,
        mut visit: impl FnMut(u32, u32) -> bool,
    ) -> bool {
        let (last, next, readers) = if a_first {
            (question.a_last, question.b_first, question.a_readers)
        } else {
            (question.b_last, question.a_first, question.b_readers)
        };
        let target = if self.shape == Shape::Prefix { self.commit(next) } else { self.begin(next) };
        if !visit(self.commit(last), target) {
            return false;
        }
        if self.shape == Shape::WriteRead {
            return true;
        }
        for &reader in &self.readers[readers as usize] {
            if reader != next && !visit(self.begin(reader), self.commit(next)) {
                return false;
            }
        }
        true
    }

    /// Decides whether the questions can be answered without a cycle.
    pub fn decide(mut self, limits: &Limits) -> Decision {
        if self.questions.is_empty() {
            return match self.fixed.are_acyclic(self.nodes) {
                true => Decision::Holds,
                false => Decision::Fails(Reason::CertainCycle),
            };
        }
        let Some(order) = guess::first_order(&self) else {
            return Decision::Fails(Reason::CertainCycle);
        };
        if guess::works(&self, &order) {
            return Decision::Holds;
        }
        if self.questions.len() > limits.questions {
            return Decision::Unknown(format!(
                "{} pairs of writes have no known order; the limit is {}",
                self.questions.len(),
                limits.questions
            ));
        }
        let mut order = order;
        if self.nodes <= limits.closure_nodes {
            match reach::prune(&mut self) {
                Ok(pruned) => order = pruned,
                Err(reason) => return Decision::Fails(reason),
            }
            if self.questions.is_empty() {
                return Decision::Holds;
            }
        }
        if self.shape == Shape::Serial {
            order = simulate::order(&self);
        }
        if guess::works(&self, &order) {
            return Decision::Holds;
        }
        sat::decide(&self, &order, limits)
    }
}
