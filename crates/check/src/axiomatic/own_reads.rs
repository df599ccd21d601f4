//! The reads of one transaction, found by their keys.
//!
//! Idea: most transactions read a handful of keys, which are compared one by one and never leave the cache; only those
//! that read many use tables over all keys and transactions.

use super::context::{Context, Read};
use crate::model::{History, KeyId, NONE, TxnId};

/// Up to this many reads are compared one by one.
const FEW: usize = 16;

/// The reads of the current transaction.
pub(super) struct OwnReads {
    pub all: Vec<Read>,
    txn: TxnId,
    keys: usize,
    txns: usize,
    /// The last read of a key, valid where the transaction is the current one; empty until needed.
    last: Vec<(TxnId, u32)>,
    /// The read of the same key before each read, or [`NONE`].
    before: Vec<u32>,
    /// The first read from a writer, valid where the transaction is the current one; empty until needed.
    first_from: Vec<(TxnId, u32)>,
}

impl OwnReads {
    pub(super) fn new(history: &History) -> OwnReads {
        OwnReads {
            all: Vec::new(),
            txn: NONE,
            keys: history.keys.len(),
            txns: history.txns.len(),
            last: Vec::new(),
            before: Vec::new(),
            first_from: Vec::new(),
        }
    }

    /// Makes a transaction the current one.
    pub(super) fn take(&mut self, context: &Context<'_>, txn: TxnId) {
        self.txn = txn;
        self.all.clear();
        self.all.extend(context.reads(txn));
        if self.all.len() <= FEW {
            return;
        }
        self.last.resize(self.keys, (NONE, 0));
        self.first_from.resize(self.txns, (NONE, 0));
        self.before.clear();
        for (at, read) in self.all.iter().enumerate() {
            let last = &mut self.last[read.key as usize];
            self.before.push(if last.0 == txn { last.1 } else { NONE });
            *last = (txn, at as u32);
            if read.from != NONE {
                let first = &mut self.first_from[read.from as usize];
                if first.0 != txn {
                    *first = (txn, at as u32);
                }
            }
        }
    }

    /// Whether the read at this position is the first one from its writer.
    #[inline]
    pub(super) fn is_first_from(&self, writer: TxnId, at: usize) -> bool {
        if self.all.len() <= FEW {
            !self.all[..at].iter().any(|read| read.from == writer)
        } else {
            self.first_from[writer as usize] == (self.txn, at as u32)
        }
    }

    /// The reads of a key from this position on, last one first.
    #[inline]
    pub(super) fn of_key(&self, key: KeyId, floor: usize) -> OfKey<'_> {
        let next = if self.all.len() <= FEW {
            self.all.len() as u32
        } else {
            let (owner, last) = self.last[key as usize];
            if owner == self.txn { last } else { NONE }
        };
        OfKey { reads: self, key, floor: floor as u32, next }
    }

    /// Every key that is read, once.
    pub(super) fn keys(&self) -> impl Iterator<Item = KeyId> + '_ {
        self.all
            .iter()
            .enumerate()
            .filter(|(at, read)| self.is_last(*at, read.key))
            .map(|(_, read)| read.key)
    }

    fn is_last(&self, at: usize, key: KeyId) -> bool {
        if self.all.len() <= FEW {
            !self.all[at + 1..].iter().any(|read| read.key == key)
        } else {
            self.last[key as usize].1 == at as u32
        }
    }
}

/// The reads of one key.
pub(super) struct OfKey<'r> {
    reads: &'r OwnReads,
    key: KeyId,
    floor: u32,
    /// If compared one by one: the end of what is left. Otherwise the next read, or [`NONE`].
    next: u32,
}

impl<'r> Iterator for OfKey<'r> {
    type Item = &'r Read;

    #[inline]
    fn next(&mut self) -> Option<&'r Read> {
        let all = &self.reads.all;
        if all.len() <= FEW {
            while self.next > self.floor {
                self.next -= 1;
                let read = &all[self.next as usize];
                if read.key == self.key {
                    return Some(read);
                }
            }
            return None;
        }
        if self.next == NONE || self.next < self.floor {
            return None;
        }
        let read = &all[self.next as usize];
        self.next = self.reads.before[self.next as usize];
        Some(read)
    }
}
