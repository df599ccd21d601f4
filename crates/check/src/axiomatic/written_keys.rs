//! The keys that each transaction writes, close together.
//!
//! Idea: a reader needs to know which keys its writer wrote. In the history they are scattered among reads and values;
//! here those of a transaction fit one cache line.

use super::context::Context;
use crate::model::{KeyId, TxnId};

/// Keys by transaction, repeated if written repeatedly.
#[derive(Default)]
pub(super) struct WrittenKeys {
    starts: Vec<u32>,
    keys: Vec<KeyId>,
}

impl WrittenKeys {
    pub(super) fn new(context: &Context<'_>) -> WrittenKeys {
        let count = context.history.txns.len();
        let mut starts = Vec::with_capacity(count + 1);
        let mut keys = Vec::with_capacity(context.history.ops.len() / 2);
        starts.push(0);
        for txn in 0..count as TxnId {
            keys.extend(context.written_keys(txn));
            starts.push(keys.len() as u32);
        }
        WrittenKeys { starts, keys }
    }

    #[inline]
    pub(super) fn of(&self, txn: TxnId) -> &[KeyId] {
        let range = self.starts[txn as usize] as usize..self.starts[txn as usize + 1] as usize;
        &self.keys[range]
    }
}
