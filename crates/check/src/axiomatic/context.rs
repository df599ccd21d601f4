//! What the axiomatic levels look at: reads with their writers, writers of keys, session order.

use crate::graph::EdgeList;
use crate::model::{History, KeyId, NONE, OpId, TxnId};
use crate::resolve::{FIRST_SPECIAL, INIT, Resolved};
use crate::sessions::Sessions;
use std::ops::Range;

/// A read of another transaction's write, or of the initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The operation.
    pub op: OpId,
    /// What was read.
    pub key: KeyId,
    /// The writer; [`NONE`] for the initial state.
    pub from: TxnId,
}

/// A history with its reads resolved and its sessions in order.
#[derive(Debug)]
pub struct Context<'a> {
    /// The history.
    pub history: &'a History,
    /// Its reads.
    pub resolved: &'a Resolved,
    /// Its sessions.
    pub sessions: &'a Sessions,
}

impl Context<'_> {
    /// The transactions that count.
    pub fn included(&self) -> impl Iterator<Item = TxnId> + '_ {
        let included = &self.resolved.included;
        (0..included.len() as TxnId).filter(|txn| included[*txn as usize])
    }

    /// Reads of other transactions' writes and of the initial state, in program order.
    #[inline]
    pub fn reads(&self, txn: TxnId) -> impl Iterator<Item = Read> + '_ {
        self.history.range(txn).filter_map(|op| {
            let seen = self.resolved.seen[op];
            let counts = seen.source() < FIRST_SPECIAL || seen.source() == INIT;
            counts.then(|| Read { op: op as OpId, key: self.history.ops[op].key, from: seen.txn() })
        })
    }

    /// Keys that the transaction writes, repeated if written repeatedly.
    #[inline]
    pub fn written_keys(&self, txn: TxnId) -> impl Iterator<Item = KeyId> + '_ {
        self.history.ops[self.history.range(txn)]
            .iter()
            .filter(|op| op.kind.is_write())
            .map(|op| op.key)
    }

    /// Session order and reads-from.
    pub fn base_edges(&self) -> EdgeList {
        let mut edges = EdgeList::default();
        for txn in self.included() {
            let previous = self.sessions.previous[txn as usize];
            if previous != NONE {
                edges.push(previous, txn);
            }
            for read in self.reads(txn) {
                if read.from != NONE {
                    edges.push(read.from, txn);
                }
            }
        }
        edges
    }

    /// Writers of these keys, grouped by session, in session order.
    pub fn writers_by_session(&self, keys: &Range<KeyId>) -> Writers {
        let mut starts = vec![0_u32; keys.len() + 2];
        let mut last = vec![NONE; keys.len()];
        let written = |txn: TxnId| {
            let own = self.written_keys(txn).filter(|key| keys.contains(key));
            own.map(|key| (key - keys.start) as usize)
        };
        for &txn in &self.sessions.order {
            for key in written(txn) {
                if std::mem::replace(&mut last[key], txn) != txn {
                    starts[key + 2] += 1;
                }
            }
        }
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut writers = vec![Writer { index: 0, txn: 0 }; starts[starts.len() - 1] as usize];
        last.fill(NONE);
        for &txn in &self.sessions.order {
            for key in written(txn) {
                if std::mem::replace(&mut last[key], txn) != txn {
                    let slot = &mut starts[key + 1];
                    let index = self.sessions.index[txn as usize];
                    writers[*slot as usize] = Writer { index, txn };
                    *slot += 1;
                }
            }
        }
        starts.pop();
        Writers::grouped(self.history, keys.start, starts, writers)
    }
}

/// A writer of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Its position in its session.
    pub index: u32,
    /// The transaction.
    pub txn: TxnId,
}

/// Writers of keys, grouped by session.
#[derive(Debug)]
pub struct Writers {
    first_key: KeyId,
    starts: Vec<u32>,
    writers: Vec<Writer>,
    group_starts: Vec<u32>,
    groups: Vec<(u32, u32)>,
}

impl Writers {
    fn grouped(
        history: &History,
        first_key: KeyId,
        starts: Vec<u32>,
        writers: Vec<Writer>,
    ) -> Writers {
        let mut groups = Vec::new();
        let mut group_starts = Vec::with_capacity(starts.len());
        for key in 0..starts.len() - 1 {
            group_starts.push(groups.len() as u32);
            let mut session = NONE;
            for at in starts[key]..starts[key + 1] {
                let own = history.txns[writers[at as usize].txn as usize].session;
                if own != session {
                    groups.push((own, at));
                    session = own;
                }
            }
        }
        group_starts.push(groups.len() as u32);
        Writers { first_key, starts, writers, group_starts, groups }
    }

    /// The sessions that write a key, each with its writers in order.
    #[inline]
    pub fn groups(&self, key: KeyId) -> impl Iterator<Item = (u32, &[Writer])> + '_ {
        let key = (key - self.first_key) as usize;
        let range = self.group_starts[key] as usize..self.group_starts[key + 1] as usize;
        let end = self.starts[key + 1];
        self.groups[range.clone()].iter().enumerate().map(move |(at, &(session, start))| {
            let next = range.start + at + 1;
            let stop = if next < range.end { self.groups[next].1 } else { end };
            (session, &self.writers[start as usize..stop as usize])
        })
    }
}
