//! Components and topological orders, without recursion.

use super::{Csr, EdgeList};

/// A topological order of the graph, or `None` if it has a cycle. Deterministic.
pub fn topological_order(graph: &Csr) -> Option<Vec<u32>> {
    let nodes = graph.nodes();
    let mut incoming = vec![0_u32; nodes];
    for node in 0..nodes as u32 {
        for &to in graph.targets(node) {
            incoming[to as usize] += 1;
        }
    }
    let mut order: Vec<u32> = (0..nodes as u32).filter(|n| incoming[*n as usize] == 0).collect();
    let mut at = 0;
    while at < order.len() {
        let node = order[at];
        at += 1;
        for &to in graph.targets(node) {
            let left = &mut incoming[to as usize];
            *left -= 1;
            if *left == 0 {
                order.push(to);
            }
        }
    }
    (order.len() == nodes).then_some(order)
}

/// Whether the graph has no cycle.
pub fn is_acyclic(graph: &Csr) -> bool {
    topological_order(graph).is_some()
}

impl EdgeList {
    /// Whether the edges have no cycle; trivially so if they all lead to larger numbers.
    pub fn are_acyclic(self, nodes: usize) -> bool {
        if self.leads_forward() {
            return true;
        }
        let graph = Csr::new(nodes, &self);
        drop(self);
        is_acyclic(&graph)
    }
}

const UNSEEN: u32 = u32::MAX;
const DONE: u32 = u32::MAX - 1;

/// The components with more than one node (or with an edge to itself), following only edges whose
/// kind is in `mask` (0 follows all). Nodes of a component are sorted, components by their first node.
pub fn components(graph: &Csr, mask: u8) -> Vec<Vec<u32>> {
    let nodes = graph.nodes();
    let mut low = vec![UNSEEN; nodes];
    let mut stack: Vec<u32> = Vec::new();
    let mut calls: Vec<(u32, u32, u32)> = Vec::new();
    let mut found = Vec::new();
    let mut next = 0_u32;
    for root in 0..nodes as u32 {
        if low[root as usize] != UNSEEN {
            continue;
        }
        calls.push((root, graph.start(root), next));
        low[root as usize] = next;
        next += 1;
        stack.push(root);
        while let Some(&mut (node, ref mut at, own)) = calls.last_mut() {
            if *at < graph.start(node + 1) {
                let (to, kind) = graph.edge_at(*at);
                *at += 1;
                if mask != 0 && kind & mask == 0 {
                    continue;
                }
                match low[to as usize] {
                    UNSEEN => {
                        low[to as usize] = next;
                        stack.push(to);
                        calls.push((to, graph.start(to), next));
                        next += 1;
                    }
                    DONE => {}
                    seen => low[node as usize] = low[node as usize].min(seen),
                }
                continue;
            }
            calls.pop();
            let reached = low[node as usize];
            if let Some(&(parent, _, _)) = calls.last() {
                low[parent as usize] = low[parent as usize].min(reached);
            }
            if reached == own {
                close(graph, mask, node, &mut stack, &mut low, &mut found);
            }
        }
    }
    found.sort_by_key(|component: &Vec<u32>| component[0]);
    found
}

/// Takes a finished component off the stack; keeps it if it holds a cycle.
fn close(
    graph: &Csr,
    mask: u8,
    root: u32,
    stack: &mut Vec<u32>,
    low: &mut [u32],
    found: &mut Vec<Vec<u32>>,
) {
    let from = stack.iter().rposition(|node| *node == root).unwrap_or(0);
    let own_edge =
        |node: u32| graph.out(node).any(|(to, kind)| to == node && (mask == 0 || kind & mask != 0));
    if stack.len() - from > 1 || own_edge(root) {
        let mut component = stack[from..].to_vec();
        component.sort_unstable();
        found.push(component);
    }
    for node in stack.drain(from..) {
        low[node as usize] = DONE;
    }
}

#[cfg(test)]
mod tests {
    use super::super::EdgeList;
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32, u8)]) -> Csr {
        let mut list = EdgeList::default();
        for &(from, to, kind) in edges {
            list.push_kind(from, to, kind);
        }
        Csr::new(nodes, &list)
    }

    #[test]
    fn components_follow_the_mask() {
        let cyclic = graph(5, &[(0, 1, 1), (1, 2, 2), (2, 0, 4), (3, 3, 1), (2, 4, 1)]);
        assert_eq!(components(&cyclic, 0), [vec![0, 1, 2], vec![3]]);
        assert_eq!(components(&cyclic, 3), [vec![3]]);
        assert!(topological_order(&cyclic).is_none());
        assert!(is_acyclic(&graph(3, &[(2, 1, 1), (1, 0, 1)])));
    }
}
