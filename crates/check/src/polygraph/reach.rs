//! Pruning: what the transitive closure of the certain edges already answers.

use super::{Polygraph, Reason, guess};
use crate::graph::Csr;

/// A bit for every pair of nodes: is there a path?
struct Closure {
    words: usize,
    bits: Vec<u64>,
}

impl Closure {
    fn new(graph: &Csr, order: &[u32]) -> Closure {
        let words = graph.nodes().div_ceil(64);
        let mut closure = Closure { words, bits: vec![0; words * graph.nodes()] };
        for &node in order.iter().rev() {
            for &to in graph.targets(node) {
                closure.absorb(node as usize, to as usize);
            }
        }
        closure
    }

    fn absorb(&mut self, node: usize, to: usize) {
        let (own, other) = (node * self.words, to * self.words);
        if self.bits[own + to / 64] >> (to % 64) & 1 == 1 {
            return;
        }
        let (low, high) = (own.min(other), own.max(other));
        let (head, tail) = self.bits.split_at_mut(high);
        let (a, b) = (&mut head[low..low + self.words], &mut tail[..self.words]);
        let (mine, theirs) = if own < other { (a, &*b) } else { (b, &*a) };
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine |= theirs;
        }
        mine[to / 64] |= 1 << (to % 64);
    }

    /// The probable position of each node: how many more nodes come before it than after it.
    fn balance(&self) -> Vec<u64> {
        let nodes = self.bits.len() / self.words.max(1);
        let mut balance = vec![nodes as i64; nodes];
        for (node, row) in self.bits.chunks(self.words.max(1)).enumerate() {
            for (word, bits) in row.iter().enumerate() {
                balance[node] -= i64::from(bits.count_ones());
                let mut rest = *bits;
                while rest != 0 {
                    balance[word * 64 + rest.trailing_zeros() as usize] += 1;
                    rest &= rest - 1;
                }
            }
        }
        balance.into_iter().map(|place| place.max(0) as u64).collect()
    }

    #[inline]
    fn path(&self, from: u32, to: u32) -> bool {
        self.bits[from as usize * self.words + to as usize / 64] >> (to % 64) & 1 == 1
    }
}

/// Answers every question that has one possible answer, until nothing more follows. Gives the final
/// topological order of the certain edges.
pub(super) fn prune(polygraph: &mut Polygraph) -> Result<Vec<u32>, Reason> {
    loop {
        let graph = Csr::new(polygraph.nodes, &polygraph.fixed);
        let Some(order) = crate::graph::topological_order(&graph) else {
            return Err(Reason::CertainCycle);
        };
        let closure = Closure::new(&graph, &order);
        drop(graph);
        let questions = std::mem::take(&mut polygraph.questions);
        let mut answered = Vec::new();
        for question in questions {
            let possible = |a_first: bool| {
                polygraph.answer_edges(&question, a_first, |from, to| {
                    from != to && !closure.path(to, from)
                })
            };
            match (possible(true), possible(false)) {
                (false, false) => return Err(Reason::Contradiction(question)),
                (true, true) => polygraph.questions.push(question),
                (a_first, _) => answered.push((question, a_first)),
            }
        }
        let mut news = false;
        for (question, a_first) in &answered {
            let mut edges = Vec::new();
            polygraph.answer_edges(question, *a_first, |from, to| {
                if !closure.path(from, to) {
                    edges.push((from, to));
                }
                true
            });
            news |= !edges.is_empty();
            for (from, to) in edges {
                polygraph.fixed.push(from, to);
            }
        }
        if !news {
            polygraph.hints = closure.balance();
            let graph = Csr::new(polygraph.nodes, &polygraph.fixed);
            return guess::order(&graph, &polygraph.hints).ok_or(Reason::CertainCycle);
        }
        if polygraph.questions.is_empty() {
            let graph = Csr::new(polygraph.nodes, &polygraph.fixed);
            return guess::order(&graph, &polygraph.hints).ok_or(Reason::CertainCycle);
        }
    }
}
