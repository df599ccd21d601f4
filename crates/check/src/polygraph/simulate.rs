//! A good guess for serial orders: run the transactions.
//!
//! Idea: execute transactions one after the other, each time the one that probably comes first among those whose
//! certain predecessors are done; but never overwrite a version that a transaction still has to read. If all that are
//! left would do so, the most urgent one goes ahead; the order is then wrong somewhere, but still a good start for the
//! solver. Whether the order answers all questions is tested afterwards.

use super::Polygraph;
use crate::graph::Csr;
use crate::hash::WordMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

struct Simulation<'p> {
    polygraph: &'p Polygraph,
    /// Chains that a transaction begins, ends, or reads the end of.
    begins: Vec<Vec<u32>>,
    ends: Vec<Vec<u32>>,
    reads: Vec<Vec<u32>>,
    readers_left: Vec<u32>,
    complete: Vec<bool>,
    current: WordMap<u32, u32>,
    waiting: WordMap<u32, Vec<u32>>,
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    parked: Vec<bool>,
}

/// An order of all transactions that follows the certain edges.
pub(super) fn order(polygraph: &Polygraph) -> Vec<u32> {
    let graph = Csr::new(polygraph.nodes, &polygraph.fixed);
    let mut incoming = vec![0_u32; polygraph.nodes];
    for node in 0..polygraph.nodes as u32 {
        for &to in graph.targets(node) {
            incoming[to as usize] += 1;
        }
    }
    let mut simulation = Simulation::new(polygraph);
    for (txn, left) in incoming.iter().enumerate() {
        if *left == 0 {
            simulation.offer(txn as u32);
        }
    }
    let mut order = Vec::with_capacity(polygraph.nodes);
    while let Some(txn) = simulation.next() {
        order.push(txn);
        for &to in graph.targets(txn) {
            incoming[to as usize] -= 1;
            if incoming[to as usize] == 0 {
                simulation.offer(to);
            }
        }
    }
    order
}

impl<'p> Simulation<'p> {
    fn new(polygraph: &'p Polygraph) -> Simulation<'p> {
        let nodes = polygraph.nodes;
        let mut simulation = Simulation {
            polygraph,
            begins: vec![Vec::new(); nodes],
            ends: vec![Vec::new(); nodes],
            reads: vec![Vec::new(); nodes],
            readers_left: polygraph.readers.iter().map(|readers| readers.len() as u32).collect(),
            complete: vec![false; polygraph.chains.len()],
            current: WordMap::default(),
            waiting: WordMap::default(),
            ready: BinaryHeap::new(),
            parked: vec![false; nodes],
        };
        for (chain, &(_, first, last)) in polygraph.chains.iter().enumerate() {
            simulation.begins[first as usize].push(chain as u32);
            simulation.ends[last as usize].push(chain as u32);
            for &reader in &polygraph.readers[chain] {
                simulation.reads[reader as usize].push(chain as u32);
            }
        }
        simulation
    }

    fn offer(&mut self, txn: u32) {
        self.parked[txn as usize] = false;
        self.ready.push(Reverse((self.polygraph.hints[txn as usize], txn)));
    }

    /// The key on which a transaction would overwrite a version that is still needed.
    fn blocked_on(&self, txn: u32) -> Option<u32> {
        self.begins[txn as usize].iter().find_map(|chain| {
            let key = self.polygraph.chains[*chain as usize].0;
            let current = *self.current.get(&key)?;
            let own = self.polygraph.readers[current as usize].contains(&txn);
            let free = self.complete[current as usize]
                && self.readers_left[current as usize] <= u32::from(own);
            (!free && current != *chain).then_some(key)
        })
    }

    fn next(&mut self) -> Option<u32> {
        while let Some(Reverse((_, txn))) = self.ready.pop() {
            match self.blocked_on(txn) {
                Some(key) => {
                    self.parked[txn as usize] = true;
                    self.waiting.entry(key).or_default().push(txn);
                }
                None => {
                    self.execute(txn);
                    return Some(txn);
                }
            }
        }
        let hints = &self.polygraph.hints;
        let waiting = self.waiting.values().flatten().copied();
        let urgent = waiting
            .filter(|txn| self.parked[*txn as usize])
            .min_by_key(|txn| (hints[*txn as usize], *txn))?;
        self.parked[urgent as usize] = false;
        for list in self.waiting.values_mut() {
            list.retain(|txn| *txn != urgent);
        }
        self.execute(urgent);
        Some(urgent)
    }

    fn execute(&mut self, txn: u32) {
        for at in 0..self.reads[txn as usize].len() {
            let chain = self.reads[txn as usize][at];
            let left = &mut self.readers_left[chain as usize];
            *left = left.saturating_sub(1);
            if *left <= 1 {
                self.wake(chain);
            }
        }
        for at in 0..self.begins[txn as usize].len() {
            let chain = self.begins[txn as usize][at];
            self.current.insert(self.polygraph.chains[chain as usize].0, chain);
        }
        for at in 0..self.ends[txn as usize].len() {
            let chain = self.ends[txn as usize][at];
            self.complete[chain as usize] = true;
            self.wake(chain);
        }
    }

    fn wake(&mut self, chain: u32) {
        let key = self.polygraph.chains[chain as usize].0;
        for txn in self.waiting.remove(&key).unwrap_or_default() {
            self.offer(txn);
        }
    }
}
