//! The operations of each key next to each other, each with its transaction.
//!
//! Idea: whatever a read has to be compared with concerns the same key. Sorted by key, the writes that it may have
//! seen lie in the cache; looked up in one large table each of them costs a trip to main memory, and the more so
//! the longer the history. A counting sort does it in two passes.

use crate::model::{History, KeyId, OpId, TxnId};
use std::ops::Range;

/// The operations on a range of keys, by key, in the order of the history.
pub(super) struct Groups {
    keys: Range<KeyId>,
    starts: Vec<u32>,
    entries: Vec<(OpId, TxnId)>,
}

impl Groups {
    pub(super) fn new(history: &History, keys: Range<KeyId>) -> Groups {
        // Where a group ends, counted one further: so that filling it moves its start to its place.
        let mut starts = vec![0_u32; keys.len() + 2];
        for op in history.ops.iter().filter(|op| keys.contains(&op.key)) {
            starts[(op.key - keys.start) as usize + 2] += 1;
        }
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut entries = vec![(0, 0); starts[starts.len() - 1] as usize];
        for txn in 0..history.txns.len() as TxnId {
            for op in history.range(txn) {
                let key = history.ops[op].key;
                if keys.contains(&key) {
                    let slot = &mut starts[(key - keys.start) as usize + 1];
                    entries[*slot as usize] = (op as OpId, txn);
                    *slot += 1;
                }
            }
        }
        starts.pop();
        Groups { keys, starts, entries }
    }

    /// Every key with its operations.
    pub(super) fn iter(&self) -> impl Iterator<Item = (KeyId, &[(OpId, TxnId)])> + '_ {
        self.keys
            .clone()
            .zip(self.starts.windows(2))
            .map(|(key, bounds)| (key, &self.entries[bounds[0] as usize..bounds[1] as usize]))
    }
}
