//! The operations of each key next to each other, each with its transaction.
//!
//! Idea: whatever a read has to be compared with concerns the same key. Sorted by key, the writes that it may have
//! seen lie in the cache; looked up in one large table each of them costs a trip to main memory, and the more so
//! the longer the history. Sorted in two steps: first into buckets, few enough that the ends of all of them stay in
//! the cache, then each bucket by itself, small enough to stay there as a whole.

use crate::model::{History, KeyId, Op, OpId, TxnId};
use std::ops::Range;

/// A bucket of this many operations fits the cache of a core.
const BUCKET: usize = 1 << 13;
/// So many buckets can be filled at a time.
const MOST_BUCKETS: usize = 1 << 9;

/// One operation with where it stands.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub op: OpId,
    pub txn: TxnId,
    pub what: Op,
}

/// The operations on a range of keys, in buckets of neighbouring keys, each in the order of the history.
pub(super) struct Groups<'a> {
    history: &'a History,
    keys: Range<KeyId>,
    /// A bucket is for so many keys: two to the power of this.
    shift: u32,
    ends: Vec<u32>,
    entries: Vec<(OpId, TxnId)>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(history: &'a History, keys: Range<KeyId>) -> Groups<'a> {
        let most = (history.ops.len() / BUCKET).clamp(1, MOST_BUCKETS);
        let shift = keys.len().div_ceil(most).next_power_of_two().trailing_zeros();
        let bucket = |key: KeyId| ((key - keys.start) >> shift) as usize;
        let mut ends = vec![0_u32; (keys.len() >> shift) + 2];
        for op in history.ops.iter().filter(|op| keys.contains(&op.key)) {
            ends[bucket(op.key) + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        // Filling a bucket moves its start to its end.
        let mut entries = vec![(0, 0); ends[ends.len() - 1] as usize];
        for txn in 0..history.txns.len() as TxnId {
            for op in history.range(txn) {
                let key = history.ops[op].key;
                if keys.contains(&key) {
                    let slot = &mut ends[bucket(key)];
                    entries[*slot as usize] = (op as OpId, txn);
                    *slot += 1;
                }
            }
        }
        Groups { history, keys, shift, ends, entries }
    }

    /// Hands over every key with its operations in the order of the history.
    pub(super) fn for_each(&self, mut take: impl FnMut(KeyId, &[Operation])) {
        let mut gathered: Vec<Operation> = Vec::new();
        let mut starts: Vec<u32> = Vec::new();
        let mut sorted: Vec<Operation> = Vec::new();
        let mut from = 0;
        let first_keys = self.keys.clone().step_by(1 << self.shift);
        for (first_key, &end) in first_keys.zip(&self.ends) {
            let keys = first_key..self.keys.end.min(first_key.saturating_add(1 << self.shift));
            // Nothing else happens here, so that the processor fetches many of them at a time.
            let ops = &self.history.ops;
            let entries = &self.entries[from..end as usize];
            from = end as usize;
            gathered.clear();
            gathered.extend(entries.iter().map(|&(op, txn)| Operation {
                op,
                txn,
                what: ops[op as usize],
            }));
            sort_by_key(&gathered, &keys, &mut starts, &mut sorted);
            for (key, bounds) in keys.zip(starts.windows(2)) {
                take(key, &sorted[bounds[0] as usize..bounds[1] as usize]);
            }
        }
    }
}

/// Counting sort; `starts` says where each key begins, and one more where the last one ends.
fn sort_by_key(
    operations: &[Operation],
    keys: &Range<KeyId>,
    starts: &mut Vec<u32>,
    sorted: &mut Vec<Operation>,
) {
    // Counted two further, so that filling a group moves its start to its place.
    starts.clear();
    starts.resize(keys.len() + 2, 0);
    for operation in operations {
        starts[(operation.what.key - keys.start) as usize + 2] += 1;
    }
    for at in 2..starts.len() {
        starts[at] += starts[at - 1];
    }
    sorted.clear();
    sorted.extend_from_slice(operations);
    for operation in operations {
        let slot = &mut starts[(operation.what.key - keys.start) as usize + 1];
        sorted[*slot as usize] = *operation;
        *slot += 1;
    }
    starts.pop();
}
