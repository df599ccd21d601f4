//! The writers of every key, grouped by session.
//!
//! Idea: a lookup of the writers of a key visits all sessions that write it, and one writer in each. So everything
//! about a key is stored together: first the sessions, then their writers.

use super::context::Context;
use crate::groups::{Groups, Keyed};
use crate::model::{KeyId, NONE, TxnId};
use crate::portions::cut;

/// A writer of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    /// Its position in its session.
    pub index: u32,
    /// The transaction.
    pub txn: TxnId,
}

/// Writers of all keys.
#[derive(Debug, Default)]
pub(super) struct Writers {
    /// Where the cells of each key begin.
    starts: Vec<usize>,
    /// For each key first how many sessions write it, then its sessions (number, end of its writers counted from the
    /// first one of the key), then its writers (index, transaction).
    cells: Vec<(u32, u32)>,
}

/// A write while it is sorted.
#[derive(Clone, Copy)]
struct Write {
    key: KeyId,
    session: u32,
    index: u32,
    txn: TxnId,
}

impl Keyed for Write {
    #[inline]
    fn key(&self) -> KeyId {
        self.key
    }
}

impl Writers {
    pub(super) fn new(context: &Context<'_>, threads: usize) -> Writers {
        let history = context.history;
        let portions = threads.clamp(1, 1 + history.txns.len() / 4096);
        let entries = |portion: usize| {
            let included = |txn: &TxnId| context.resolved.included[*txn as usize];
            let of_txn = |txn: TxnId| context.written_keys(txn).map(move |key| (key, (key, txn)));
            cut(history.txns.len(), portion, portions).filter(included).flat_map(of_txn)
        };
        let (keys, expected) = (history.keys.len(), history.ops.len() / 2);
        let groups = Groups::new(0..keys as KeyId, expected, portions, entries);
        let expand = |(key, txn): (KeyId, TxnId)| Write {
            key,
            session: history.txns[txn as usize].session,
            index: context.sessions.index[txn as usize],
            txn,
        };
        let mut writers =
            Writers { starts: Vec::with_capacity(keys), cells: Vec::with_capacity(expected) };
        groups.for_each(0, 1, expand, |_, writes| writers.add_key(writes));
        writers
    }

    fn add_key(&mut self, writes: &mut [Write]) {
        writes.sort_unstable_by_key(|write| (write.session, write.index));
        let start = self.cells.len();
        self.starts.push(start);
        self.cells.push((0, 0));
        let mut count = 0;
        let mut last = NONE;
        for write in writes.iter() {
            let is_new = std::mem::replace(&mut last, write.txn) != write.txn;
            count += u32::from(is_new);
            match self.cells[start + 1..].last_mut() {
                Some(group) if group.0 == write.session => group.1 = count,
                _ => self.cells.push((write.session, count)),
            }
        }
        self.cells[start].0 = (self.cells.len() - start - 1) as u32;
        last = NONE;
        for write in writes.iter() {
            if std::mem::replace(&mut last, write.txn) != write.txn {
                self.cells.push((write.index, write.txn));
            }
        }
    }

    /// Brings the data of these keys into the cache, several at a time because nothing else happens here.
    pub(super) fn fetch(&self, keys: impl Iterator<Item = KeyId>) {
        let sessions = |key: KeyId| self.cells[self.starts[key as usize]].0;
        std::hint::black_box(keys.fold(0, |all, key| all ^ sessions(key)));
    }

    /// The sessions that write a key, each with its writers in order.
    #[inline]
    pub(super) fn groups(&self, key: KeyId) -> impl Iterator<Item = (u32, Group<'_>)> + '_ {
        let start = self.starts[key as usize];
        let sessions = self.cells[start].0 as usize;
        let (sessions, writers) = self.cells[start + 1..].split_at(sessions);
        let mut from = 0;
        sessions.iter().map(move |&(session, end)| {
            let group = Group(&writers[from..end as usize]);
            from = end as usize;
            (session, group)
        })
    }
}

/// The writers of one session.
pub(super) struct Group<'w>(&'w [(u32, u32)]);

impl Group<'_> {
    /// The last one whose position is below this.
    #[inline]
    pub(super) fn last_below(&self, position: u32) -> Option<Writer> {
        let end = self.0.partition_point(|writer| writer.0 < position);
        self.0[..end].last().map(|&(index, txn)| Writer { index, txn })
    }
}
