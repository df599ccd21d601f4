//! Values of list reads, stored compactly.
//!
//! Idea: in a correct history every read of a key is a prefix of the longest one, so a read is
//! stored as its length only, and the longest list once per key. Only a read that is *not* a
//! prefix or an extension of what was seen before is stored in full.
//! Assumption: none; incompatible reads cost memory, not correctness.

use super::{Atom, KeyId};
use std::collections::HashMap;

/// Where the value of a list read is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListRef {
    /// The first elements of the key's longest list, this many.
    Prefix(u32),
    /// A separate list: index into the incompatible ones.
    Odd(u32),
}

const ODD: u64 = 1 << 40;

impl ListRef {
    pub(crate) fn to_atom(self) -> Atom {
        Atom::from_bits(match self {
            ListRef::Prefix(len) => u64::from(len),
            ListRef::Odd(index) => ODD | u64::from(index),
        })
    }

    pub(crate) fn from_atom(atom: Atom) -> ListRef {
        let bits = atom.bits();
        if bits & ODD == 0 {
            ListRef::Prefix(bits as u32)
        } else {
            ListRef::Odd((bits & 0xffff_ffff) as u32)
        }
    }
}

/// All list values of a history.
#[derive(Default, Debug, Clone)]
pub struct Lists {
    longest: Vec<Vec<Atom>>,
    odd: Vec<Vec<Atom>>,
    /// The longest incompatible list of a key.
    longest_odd: HashMap<KeyId, u32>,
}

impl Lists {
    /// Stores a list that was read from `key`.
    pub fn add(&mut self, key: KeyId, list: &[Atom]) -> ListRef {
        if self.longest.len() <= key as usize {
            self.longest.resize_with(key as usize + 1, Vec::new);
        }
        let longest = &mut self.longest[key as usize];
        let common = longest.len().min(list.len());
        if longest[..common] != list[..common] {
            let index = self.odd.len() as u32;
            self.odd.push(list.to_vec());
            let best = self.longest_odd.entry(key).or_insert(index);
            if self.odd[*best as usize].len() <= list.len() {
                *best = index;
            }
            return ListRef::Odd(index);
        }
        if list.len() > longest.len() {
            longest.extend_from_slice(&list[common..]);
        }
        ListRef::Prefix(list.len() as u32)
    }

    /// Stores a list that says nothing about the order of the appends: the transaction that read it does not count.
    pub fn add_apart(&mut self, list: &[Atom]) -> ListRef {
        self.odd.push(list.to_vec());
        ListRef::Odd(self.odd.len() as u32 - 1)
    }

    /// Every element of a list that counts, with its key.
    pub fn elements(&self) -> impl Iterator<Item = (KeyId, Atom)> + '_ {
        let even = self.longest.iter().enumerate().map(|(key, list)| (key as KeyId, list));
        let odd = self.longest_odd.iter().map(|(key, odd)| (*key, &self.odd[*odd as usize]));
        even.chain(odd).flat_map(|(key, list)| list.iter().map(move |element| (key, *element)))
    }

    /// The elements of a stored list.
    pub fn get(&self, key: KeyId, list: ListRef) -> &[Atom] {
        match list {
            ListRef::Prefix(0) => &[],
            ListRef::Prefix(len) => &self.longest[key as usize][..len as usize],
            ListRef::Odd(index) => &self.odd[index as usize],
        }
    }

    /// The longest list of a key that is compatible with the first one read.
    pub fn longest(&self, key: KeyId) -> &[Atom] {
        self.longest.get(key as usize).map_or(&[], |list| list)
    }

    /// The longest list of a key, incompatible ones included.
    pub fn longest_of_all(&self, key: KeyId) -> &[Atom] {
        let even = self.longest(key);
        match self.longest_odd.get(&key).map(|odd| &self.odd[*odd as usize]) {
            Some(odd) if odd.len() > even.len() => odd,
            _ => even,
        }
    }

    /// Keys with reads that were incompatible with an earlier one.
    pub fn keys_with_odd(&self) -> impl Iterator<Item = KeyId> + '_ {
        self.longest_odd.keys().copied()
    }

    /// Whether some read was incompatible with an earlier one.
    pub fn has_odd(&self) -> bool {
        !self.longest_odd.is_empty()
    }
}
