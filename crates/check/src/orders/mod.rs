//! Version orders: what is known about which write of a key came after which.
//!
//! Idea: for every key a list of chains. Inside a chain each version is known to be followed directly by the next; how
//! the chains follow each other is open. A key with one chain has a known order. Sources of knowledge: list reads (the
//! longest list is the order, appends that nobody saw come after it), version numbers in the input, a given order of
//! all transactions, and, for levels that forbid lost updates, read-modify-write: a transaction that read a version and
//! wrote the key wrote the next one. All chains are in one array, key by key. Blind spot: lists that contradict each
//! other; the longest wins, the contradiction itself is reported as `incompatible-order`.

mod known;
mod updates;

pub use known::known;
pub use updates::{Clash, derive_from_updates, updates_fit};

use crate::model::{KeyId, OpId};

/// What is known about all keys.
#[derive(Debug, Clone, Default)]
pub struct Orders {
    /// Writes in version order, chain by chain, key by key.
    ops: Vec<OpId>,
    /// Where each chain starts in `ops`, and the end.
    chain_starts: Vec<u32>,
    /// Where each key's chains start in `chain_starts`, and the end.
    key_starts: Vec<u32>,
    /// Whether all other chains of a key come after its first one.
    first_is_first: Vec<bool>,
}

impl Orders {
    fn start() -> Orders {
        Orders { chain_starts: vec![0], key_starts: vec![0], ..Orders::default() }
    }

    fn end_chain(&mut self) {
        self.chain_starts.push(self.ops.len() as u32);
    }

    fn end_key(&mut self, first_is_first: bool) {
        self.key_starts.push(self.chain_starts.len() as u32 - 1);
        self.first_is_first.push(first_is_first);
    }

    /// How many keys there are.
    pub fn keys(&self) -> usize {
        self.first_is_first.len()
    }

    /// How many chains a key has.
    pub fn chain_count(&self, key: KeyId) -> usize {
        (self.key_starts[key as usize + 1] - self.key_starts[key as usize]) as usize
    }

    /// One chain of a key.
    pub fn chain(&self, key: KeyId, at: usize) -> &[OpId] {
        let chain = self.key_starts[key as usize] as usize + at;
        &self.ops[self.chain_starts[chain] as usize..self.chain_starts[chain + 1] as usize]
    }

    /// The chains of a key.
    pub fn chains(&self, key: KeyId) -> impl Iterator<Item = &[OpId]> + '_ {
        (0..self.chain_count(key)).map(move |at| self.chain(key, at))
    }

    /// Whether all other chains of a key come after its first one.
    pub fn first_is_first(&self, key: KeyId) -> bool {
        self.first_is_first[key as usize]
    }

    /// Whether the order of some writes is open.
    pub fn is_open(&self) -> bool {
        (0..self.keys() as KeyId)
            .any(|key| self.chain_count(key) > 1 + usize::from(self.first_is_first(key)))
    }

    /// Every write that is in a chain.
    pub fn all_writes(&self) -> &[OpId] {
        &self.ops
    }
}
