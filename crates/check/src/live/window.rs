//! The transactions that are kept, with their dependencies; cycles among them; what can be dropped.

use crate::graph::cycles::{Component, Cycle, PATTERNS, Pattern};
use crate::graph::{Csr, EdgeList, Kind, components};
use crate::hash::WordMap;
use crate::lattice::implied_by;
use crate::live::transaction::{Read, Step, Write};
use crate::live::versions::Version;
use std::collections::BTreeSet;

/// A kept transaction.
pub(super) struct Node {
    /// When it was answered.
    pub ended: u64,
    /// Its place in the order of endings.
    pub place: u64,
    /// Rows and versions that it read from others.
    pub reads: Vec<Read>,
    /// What it wrote.
    pub writes: Vec<Write>,
    /// Who depends on it, how, and through which row.
    out: Vec<(u64, Kind, Option<u64>)>,
}

/// The kept transactions, by number.
#[derive(Default)]
pub(super) struct Window {
    nodes: WordMap<u64, Node>,
}

impl Window {
    pub(super) fn add(&mut self, number: u64, ended: u64, place: u64) {
        let (reads, writes, out) = (Vec::new(), Vec::new(), Vec::new());
        self.nodes.insert(number, Node { ended, place, reads, writes, out });
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Node> {
        self.nodes.get_mut(&number)
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.nodes.contains_key(&number)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The rows that kept transactions wrote, some of them several times.
    pub(super) fn rows(&self) -> impl Iterator<Item = u64> {
        self.nodes.values().flat_map(|node| node.writes.iter().map(|write| write.row))
    }

    /// The last version of a row that a transaction made.
    pub(super) fn last_write(&self, number: u64, row: u64) -> Option<Version> {
        let mut writes = self.nodes.get(&number)?.writes.iter().rev();
        writes.find(|write| write.row == row).map(|write| write.version(number))
    }

    /// Adds a dependency; one of a transaction that was dropped is in no cycle to come.
    pub(super) fn depend(&mut self, from: u64, to: u64, kind: Kind, row: Option<u64>) {
        if from != to
            && self.nodes.contains_key(&to)
            && let Some(node) = self.nodes.get_mut(&from)
            && !node.out.iter().any(|edge| edge.0 == to && edge.1 == kind)
        {
            node.out.push((to, kind, row));
        }
    }

    /// Everything that these transactions reach, themselves included, in order of numbers.
    fn reached(&self, starts: impl Iterator<Item = u64>) -> BTreeSet<u64> {
        let mut reached = BTreeSet::new();
        let mut queue: Vec<u64> = starts.collect();
        while let Some(number) = queue.pop() {
            let Some(node) = self.nodes.get(&number) else { continue };
            if reached.insert(number) {
                queue.extend(node.out.iter().map(|edge| edge.0));
            }
        }
        reached
    }

    /// The shortest cycle of every kind through a transaction, worst first, without those that a worse one implies.
    pub(super) fn cycles(&self, number: u64) -> Vec<(&'static Pattern, Vec<Step>)> {
        let out = self.nodes.get(&number).map_or(&[][..], |node| &node.out);
        let reached: Vec<u64> = self.reached(out.iter().map(|edge| edge.0)).into_iter().collect();
        let place = |number: &u64| reached.binary_search(number).ok().map(|at| at as u32);
        let Some(through) = place(&number) else { return Vec::new() };
        let mut edges = EdgeList::default();
        for (from, node) in reached.iter().zip(0..).map(|(number, at)| (at, &self.nodes[number])) {
            for (to, kind, _) in &node.out {
                if let Some(to) = place(to) {
                    edges.push_kind(from, to, *kind as u8);
                }
            }
        }
        let graph = Csr::new(reached.len(), &edges);
        let all = components(&graph, 0);
        let Some(members) = all.into_iter().find(|one| one.binary_search(&through).is_ok()) else {
            return Vec::new();
        };
        let component = Component::new(&graph, members, None);
        let mut found = Vec::new();
        let mut implied: BTreeSet<&'static str> = BTreeSet::new();
        for pattern in &PATTERNS {
            if implied.contains(pattern.name) {
                continue;
            }
            if let Some(cycle) = component.find_through(pattern, through) {
                implied.extend(implied_by(pattern.name));
                found.push((pattern, self.steps(&cycle, &reached)));
            }
        }
        found
    }

    fn steps(&self, cycle: &Cycle, numbers: &[u64]) -> Vec<Step> {
        let number = |at: usize| numbers[cycle[at % cycle.len()].0 as usize];
        let step = |at: usize| {
            let (from, to) = (number(at), number(at + 1));
            let kind = crate::witness::kind_of(cycle[at].1);
            let out = self.nodes[&from].out.iter();
            let row = out.into_iter().find(|edge| edge.0 == to && edge.1 == kind);
            Step { from, to, kind, row: row.and_then(|edge| edge.2) }
        };
        (0..cycle.len()).map(step).collect()
    }

    /// Removes every settled transaction that no unsettled one reaches.
    pub(super) fn drop_settled(&mut self, is_settled: impl Fn(&Node) -> bool) -> Vec<(u64, Node)> {
        let unsettled = self.nodes.iter().filter(|(_, node)| !is_settled(node));
        let needed =
            self.reached(unsettled.map(|(number, _)| *number).collect::<Vec<_>>().into_iter());
        let mut dropped: Vec<u64> =
            self.nodes.keys().copied().filter(|number| !needed.contains(number)).collect();
        dropped.sort_unstable_by_key(|number| self.nodes[number].place);
        dropped.into_iter().filter_map(|one| Some((one, self.nodes.remove(&one)?))).collect()
    }
}
