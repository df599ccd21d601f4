//! Who wrote what: a table from key and value to the write, and the writers of the lists that were read.
//!
//! Idea: values are unique, so a value names its write; the table holds numbers of operations only. A list that was
//! read is nearly always the beginning of its key's longest list, so the elements of that one are looked up, once.

use crate::hash::mix_pair;
use crate::model::{Atom, History, KeyId, NONE, Op, OpId};

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

    /// Inserts a write; gives back an earlier write of the same value to the same key.
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

/// For every key the appends of its longest list, in the order of the list.
#[derive(Debug, Default)]
pub struct Appends {
    starts: Vec<u32>,
    writes: Vec<OpId>,
}

impl Appends {
    /// Looks up the elements of all longest lists.
    pub(crate) fn new(history: &History, table: &WriteTable<'_>) -> Appends {
        let mut appends = Appends { starts: vec![0], writes: Vec::new() };
        for key in 0..history.keys.len() as KeyId {
            let elements = history.lists.longest(key).iter();
            appends.writes.extend(elements.map(|value| table.find(key, *value).unwrap_or(NONE)));
            appends.starts.push(appends.writes.len() as u32);
        }
        appends
    }

    /// The appends of the key's longest list; [`NONE`] where nobody appended the element.
    #[inline]
    pub fn of(&self, key: KeyId) -> &[OpId] {
        let range = self.starts[key as usize] as usize..self.starts[key as usize + 1] as usize;
        &self.writes[range]
    }
}
