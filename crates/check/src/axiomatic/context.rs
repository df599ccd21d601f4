//! The input of the axiomatic levels: reads with their writers, writers of keys, session order.

use crate::graph::EdgeList;
use crate::model::{History, KeyId, NONE, OpId, TxnId};
use crate::resolve::{FIRST_SPECIAL, INIT, Resolved};
use crate::sessions::Sessions;

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
}
