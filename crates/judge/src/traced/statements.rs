//! Dependencies between single statements, and orders of the statements that fit them.
//!
//! Idea: the definitions hold for statements as they do for transactions, so every statement of a committed transaction
//! is taken for a transaction of its own. The order within a transaction counts only where data depends on it. Source:
//! the statement-dependency graph of TxCheck (OSDI 2023).

use std::collections::{BTreeMap, BTreeSet};

use anchorite_check::graph::{Csr, EdgeList, Kind, components};
use anchorite_sql::chained::Effect;

use super::Traced;
use super::case::Part;
use super::edges::{Dependencies, Edge, dependencies};
use crate::evidence::transactions::Performed;

/// A statement that reads or writes rows.
#[derive(Debug, Clone, Copy)]
pub struct Node<'t> {
    /// Its transaction.
    pub transaction: usize,
    /// The statement.
    pub performed: &'t Performed<'t>,
}

/// Which of several possible statements comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The one that was sent first.
    First,
    /// One of the transaction that had the last one.
    SameTransaction,
    /// The one that was sent last.
    Last,
    /// One that is drawn, from this seed.
    Drawn(u64),
}

impl Traced<'_> {
    /// The statements of committed transactions that were answered without an error, and not taken back.
    pub fn nodes(&self) -> Vec<Node<'_>> {
        let committed = self.transactions.iter().enumerate().filter(|(_, one)| one.committed);
        let all = committed.flat_map(|(transaction, one)| {
            one.statements.iter().map(move |performed| Node { transaction, performed })
        });
        let counts = |node: &Node<'_>| {
            let performed = node.performed;
            let step = self.case.step(performed.n);
            let is_of_rows = step.is_some_and(|step| {
                step.part != Part::Before && step.chained.effect != Effect::None
            });
            is_of_rows && performed.reply.is_ok() && !performed.undone && !performed.ignored
        };
        let mut nodes: Vec<Node<'_>> = all.filter(counts).collect();
        nodes.sort_by_key(|node| node.performed.n);
        nodes
    }

    /// What depends on what among these statements.
    pub fn between(&self, nodes: &[Node<'_>]) -> Dependencies {
        let places = nodes.iter().enumerate().map(|(at, node)| (node.performed.n, at));
        let places: BTreeMap<usize, usize> = places.collect();
        let mut versions = self.versions.clone();
        for version in &mut versions.all {
            version.writer = places.get(&version.n).copied();
        }
        // What other statements saw is of no importance: they count as one that did not commit.
        let other = nodes.len();
        let mut looks = self.looks.to_vec();
        for look in &mut looks {
            look.reader = places.get(&look.n).copied().unwrap_or(other);
        }
        let counts: Vec<bool> = (0..=other).map(|node| node != other).collect();
        dependencies(&versions, &looks, self.matches, &counts)
    }
}

/// What has to come before what, among some of the statements.
#[derive(Debug, Clone)]
pub struct Precedence {
    /// Of each node, those that it depends on.
    before: Vec<BTreeSet<usize>>,
    left_out: BTreeSet<usize>,
}

impl Precedence {
    /// What these dependencies say about so many nodes, some of which are left out.
    pub fn new<'e>(
        nodes: usize,
        edges: impl IntoIterator<Item = &'e Edge>,
        left_out: &BTreeSet<usize>,
    ) -> Self {
        let mut before = vec![BTreeSet::new(); nodes];
        let is_in = |node: &usize| !left_out.contains(node);
        for edge in edges.into_iter().filter(|edge| is_in(&edge.from) && is_in(&edge.to)) {
            before[edge.to].insert(edge.from);
        }
        Self { before, left_out: left_out.clone() }
    }

    /// The nodes that depend on each other in circles.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        let mut edges = EdgeList::default();
        for (to, from) in self.before.iter().enumerate() {
            from.iter().for_each(|from| edges.push_kind(*from as u32, to as u32, Kind::Ww as u8));
        }
        let found = components(&Csr::new(self.before.len(), &edges), 0);
        found.into_iter().map(|one| one.into_iter().map(|node| node as usize).collect()).collect()
    }

    /// In how many dependencies a node takes part.
    pub fn degree(&self, node: usize) -> usize {
        let later = self.before.iter().filter(|before| before.contains(&node));
        self.before[node].len() + later.count()
    }

    /// A node and all that depend on it.
    pub fn and_later(&self, node: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([node]);
        loop {
            let next = (0..self.before.len())
                .find(|other| !found.contains(other) && !self.before[*other].is_disjoint(&found));
            match next {
                Some(next) => found.insert(next),
                None => return found,
            };
        }
    }

    /// An order in which everything comes after what it depends on; what is in a circle has no place.
    pub fn order(&self, nodes: &[Node<'_>], choice: Choice) -> Vec<usize> {
        let all = (0..nodes.len()).filter(|node| !self.left_out.contains(node));
        let mut left: BTreeSet<usize> = all.collect();
        let mut order: Vec<usize> = Vec::new();
        loop {
            let free = left.iter().copied().filter(|node| self.before[*node].is_disjoint(&left));
            let free: Vec<usize> = free.collect();
            let last = order.last().map(|last| nodes[*last].transaction);
            let next = match choice {
                Choice::First => free.first(),
                Choice::Last => free.last(),
                Choice::SameTransaction => {
                    let same = free.iter().find(|node| Some(nodes[**node].transaction) == last);
                    same.or(free.first())
                }
                Choice::Drawn(seed) => free.get(drawn(seed, order.len(), free.len())),
            };
            let Some(&next) = next else { return order };
            left.remove(&next);
            order.push(next);
        }
    }
}

/// A number below a limit that looks like chance, and is always the same.
fn drawn(seed: u64, at: usize, limit: usize) -> usize {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = (seed ^ (at as u64).wrapping_mul(ODD)).wrapping_mul(ODD);
    ((mixed >> 32) as usize).checked_rem(limit).unwrap_or(0)
}
