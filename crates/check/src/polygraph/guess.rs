//! Topological orders that follow a hint, and whether one answers all questions.

use super::Polygraph;
use crate::graph::Csr;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A topological order of the certain edges that takes the node with the smallest hint first; `None` if there is a
/// cycle. In a log of an execution that is the order of the log.
pub(super) fn first_order(polygraph: &Polygraph) -> Option<Vec<u32>> {
    if polygraph.hints.is_sorted() && polygraph.fixed.leads_forward() {
        return Some((0..polygraph.nodes as u32).collect());
    }
    order(&Csr::new(polygraph.nodes, &polygraph.fixed), &polygraph.hints)
}

/// The same for any graph.
pub(super) fn order(graph: &Csr, hints: &[u64]) -> Option<Vec<u32>> {
    let nodes = graph.nodes();
    let mut incoming = vec![0_u32; nodes];
    for node in 0..nodes as u32 {
        for &to in graph.targets(node) {
            incoming[to as usize] += 1;
        }
    }
    let mut ready: BinaryHeap<Reverse<(u64, u32)>> = (0..nodes as u32)
        .filter(|node| incoming[*node as usize] == 0)
        .map(|node| Reverse((hints[node as usize], node)))
        .collect();
    let mut order = Vec::with_capacity(nodes);
    while let Some(Reverse((_, node))) = ready.pop() {
        order.push(node);
        for &to in graph.targets(node) {
            incoming[to as usize] -= 1;
            if incoming[to as usize] == 0 {
                ready.push(Reverse((hints[to as usize], to)));
            }
        }
    }
    (order.len() == nodes).then_some(order)
}

/// Positions of the nodes in an order.
pub(super) fn positions(order: &[u32]) -> Vec<u32> {
    let mut positions = vec![0; order.len()];
    for (at, &node) in order.iter().enumerate() {
        positions[node as usize] = at as u32;
    }
    positions
}

/// Whether answering every question as the order says makes no cycle.
pub(super) fn works(polygraph: &Polygraph, order: &[u32]) -> bool {
    let positions = positions(order);
    let answer = |visit: &mut dyn FnMut(u32, u32) -> bool| {
        polygraph.questions.iter().all(|question| {
            let a = positions[polygraph.commit(question.a_last) as usize];
            let b = positions[polygraph.commit(question.b_last) as usize];
            polygraph.answer_edges(question, a < b, &mut *visit)
        })
    };
    // The certain edges follow the order: if the answers do, too, there is no cycle.
    if answer(&mut |from, to| positions[from as usize] < positions[to as usize]) {
        return true;
    }
    let mut edges = polygraph.fixed.clone();
    answer(&mut |from, to| {
        edges.push(from, to);
        true
    });
    crate::graph::is_acyclic(&Csr::new(polygraph.nodes, &edges))
}
