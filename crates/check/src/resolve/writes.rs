//! The writes of one key, found by their values.
//!
//! Idea: most keys have a handful of writes, which are searched one by one; more of them get a hash table. Both are
//! emptied and reused for the next key.

use crate::hash::{WordMap, mix};
use crate::model::{Atom, NONE, Op, OpId, OpKind, TxnId};

/// Up to this many operations on a key are searched one by one.
const FEW: usize = 24;

/// One write of the key.
#[derive(Clone, Copy)]
pub(super) struct Write {
    value: Atom,
    pub op: OpId,
    pub txn: TxnId,
    /// A deletion has no value to find it by.
    is_deletion: bool,
    /// Its own transaction overwrote it.
    pub is_intermediate: bool,
}

/// All writes of the key.
#[derive(Default)]
pub(super) struct Writes {
    all: Vec<Write>,
    /// Numbers of writes, by value; empty where there are few.
    slots: Vec<u32>,
    /// Values written twice, with the numbers of all their writes.
    repeated: WordMap<Atom, Vec<u32>>,
}

impl Writes {
    /// Forgets everything; the next key has this many operations.
    pub(super) fn begin(&mut self, operations: usize) {
        self.all.clear();
        self.slots.clear();
        self.repeated.clear();
        if operations > FEW {
            self.slots.resize((operations * 2).next_power_of_two(), NONE);
        }
    }

    /// Adds a write in the order of the history; returns an earlier write of the same value.
    pub(super) fn add(&mut self, op: OpId, txn: TxnId, what: Op) -> Option<OpId> {
        if let Some(before) = self.all.last_mut().filter(|before| before.txn == txn) {
            before.is_intermediate = true;
        }
        let is_deletion = what.kind == OpKind::Delete;
        let number = self.all.len() as u32;
        let earlier = if is_deletion { None } else { self.enter(what.value, number) };
        let value = what.value;
        self.all.push(Write { value, op, txn, is_deletion, is_intermediate: false });
        let earlier = earlier?;
        let writes = self.repeated.entry(value).or_insert_with(|| vec![earlier]);
        writes.push(number);
        Some(self.all[earlier as usize].op)
    }

    /// Enters a number under a value, unless there is one.
    #[inline]
    fn enter(&mut self, value: Atom, number: u32) -> Option<u32> {
        match self.search(value) {
            Ok(earlier) => Some(earlier),
            Err(at) => {
                if let Some(slot) = self.slots.get_mut(at) {
                    *slot = number;
                }
                None
            }
        }
    }

    /// The number of the first write of a value, or the slot for it.
    #[inline]
    fn search(&self, value: Atom) -> Result<u32, usize> {
        if self.slots.is_empty() {
            let is_it = |write: &Write| write.value == value && !write.is_deletion;
            return self.all.iter().position(is_it).map(|at| at as u32).ok_or(0);
        }
        let mask = self.slots.len() - 1;
        let mut at = mix(value.bits()) as usize & mask;
        loop {
            let number = self.slots[at];
            if number == NONE {
                return Err(at);
            }
            if self.all[number as usize].value == value {
                return Ok(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// The first write of a value.
    #[inline]
    pub(super) fn find(&self, value: Atom) -> Option<&Write> {
        self.search(value).ok().map(|number| &self.all[number as usize])
    }

    /// All writes of a value that was written more than once.
    pub(super) fn repeated(&self, value: Atom) -> impl Iterator<Item = &Write> {
        let numbers = (!self.repeated.is_empty()).then(|| self.repeated.get(&value)).flatten();
        numbers.into_iter().flatten().map(|number| &self.all[*number as usize])
    }

    /// All deletions.
    pub(super) fn deletions(&self) -> impl Iterator<Item = &Write> {
        self.all.iter().filter(|write| write.is_deletion)
    }
}
