//! Dependencies between single statements, and orders of the statements that fit them.
//!
//! Idea: the definitions hold for statements as they do for transactions, so every statement of a committed transaction
//! is taken for a transaction of its own. The order within a transaction counts only where data depends on it. Source:
//! the statement-dependency graph of TxCheck (OSDI 2023).

use std::collections::{BTreeMap, BTreeSet};

use anchorite_sql::chained::Effect;

use super::Traced;
use super::case::Part;
use super::edges::{Dependencies, dependencies};
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
        let mut looks = self.looks.clone();
        for look in &mut looks {
            look.reader = places.get(&look.n).copied().unwrap_or(other);
        }
        let counts: Vec<bool> = (0..=other).map(|node| node != other).collect();
        dependencies(&versions, &looks, &self.matches, &counts)
    }
}

/// An order in which everything comes after what it depends on; `None` if there is a circle.
pub fn order(nodes: &[Node<'_>], found: &Dependencies, choice: Choice) -> Option<Vec<usize>> {
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); nodes.len()];
    for edge in &found.certain {
        before[edge.to].insert(edge.from);
    }
    let mut left: BTreeSet<usize> = (0..nodes.len()).collect();
    let mut order: Vec<usize> = Vec::new();
    while !left.is_empty() {
        let free = left.iter().copied().filter(|node| before[*node].is_disjoint(&left));
        let free: Vec<usize> = free.collect();
        let last = order.last().map(|last| nodes[*last].transaction);
        let next = match choice {
            Choice::First => free.first(),
            Choice::Last => free.last(),
            Choice::SameTransaction => {
                let same = free.iter().find(|node| Some(nodes[**node].transaction) == last);
                same.or(free.first())
            }
        };
        let next = *next?;
        left.remove(&next);
        order.push(next);
    }
    Some(order)
}
