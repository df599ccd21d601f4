//! Who wrote what: a table from key and value to the write.
//!
//! Idea: values are unique, so a value identifies its write; the table contains only operation numbers.

use crate::hash::mix_pair;
use crate::model::{Atom, NONE, Op, OpId};

/// Open-addressing table from (key, value) to the write.
pub(crate) struct WriteTable<'a> {
    ops: &'a [Op],
    slots: Vec<u32>,
    mask: usize,
}

impl<'a> WriteTable<'a> {
    pub(crate) fn with_capacity(ops: &'a [Op], writes: usize) -> WriteTable<'a> {
        let size = (writes * 2).next_power_of_two().max(16);
        WriteTable { ops, slots: vec![NONE; size], mask: size - 1 }
    }

    /// Inserts a write; returns an earlier write of the same value to the same key.
    #[inline]
    pub(crate) fn insert(&mut self, op: OpId) -> Option<OpId> {
        let Op { key, value, .. } = self.ops[op as usize];
        let mut at = mix_pair(key, value.bits()) as usize & self.mask;
        loop {
            let found = self.slots[at];
            if found == NONE {
                self.slots[at] = op;
                return None;
            }
            let there = self.ops[found as usize];
            if there.key == key && there.value == value {
                return Some(found);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// The write of this value to this key.
    #[inline]
    pub(crate) fn find(&self, key: u32, value: Atom) -> Option<OpId> {
        let mut at = mix_pair(key, value.bits()) as usize & self.mask;
        loop {
            let found = self.slots[at];
            if found == NONE {
                return None;
            }
            let there = self.ops[found as usize];
            if there.key == key && there.value == value {
                return Some(found);
            }
            at = (at + 1) & self.mask;
        }
    }
}
