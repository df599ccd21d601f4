//! Entries sorted by key.
//!
//! Idea: a read is compared only with entries about the same key. Sorted by key, the writes that it may have seen are
//! in the cache; in one large table each lookup would cost a trip to main memory, increasingly so with longer
//! histories. Sorting takes two steps: first into buckets, few enough that the ends of all of them stay in the cache,
//! then each bucket by itself, small enough to fit the cache.

use crate::model::KeyId;
use crate::portions::{cut, in_portions};
use std::ops::Range;

/// A bucket of this many entries fits the cache of a core.
const BUCKET: usize = 1 << 13;
/// Number of buckets that can be filled at a time.
const MOST_BUCKETS: usize = 1 << 9;

/// Something about one key.
pub(crate) trait Keyed: Copy {
    /// The key.
    fn key(&self) -> KeyId;
}

/// Entries about a range of keys, in buckets of neighbouring keys, each in the order in which they came.
pub(crate) struct Groups<E> {
    keys: Range<KeyId>,
    /// A bucket holds two to the power of this many keys.
    shift: u32,
    /// The entries of each portion of the input, by bucket.
    portions: Vec<Portion<E>>,
}

struct Portion<E> {
    /// Where each bucket ends.
    ends: Vec<u32>,
    entries: Vec<E>,
}

impl<E: Copy + Default + Send> Groups<E> {
    /// Sorts what `entries` yields, about `expected` of them; every portion is read twice, each on its own thread.
    pub(crate) fn new<I: Iterator<Item = (KeyId, E)>>(
        keys: Range<KeyId>,
        expected: usize,
        portions: usize,
        entries: impl Fn(usize) -> I + Sync,
    ) -> Groups<E> {
        let most = (expected / BUCKET).clamp(1, MOST_BUCKETS);
        let shift = keys.len().div_ceil(most).next_power_of_two().trailing_zeros();
        let entries = |portion: usize| entries(portion).filter(|(key, _)| keys.contains(key));
        let portions = in_portions(portions, &|portion| {
            let bucket = |key: KeyId| ((key - keys.start) >> shift) as usize;
            let mut ends = vec![0_u32; (keys.len() >> shift) + 2];
            entries(portion).for_each(|(key, _)| ends[bucket(key) + 1] += 1);
            for at in 1..ends.len() {
                ends[at] += ends[at - 1];
            }
            // Filling a bucket moves its start to its end.
            let mut sorted = vec![E::default(); ends[ends.len() - 1] as usize];
            entries(portion).for_each(|(key, entry)| {
                let slot = &mut ends[bucket(key)];
                sorted[*slot as usize] = entry;
                *slot += 1;
            });
            Portion { ends, entries: sorted }
        });
        Groups { keys, shift, portions }
    }

    /// The keys of each bucket.
    fn buckets(&self) -> impl ExactSizeIterator<Item = Range<KeyId>> {
        let (end, shift) = (self.keys.end, self.shift);
        let keys = move |first: KeyId| first..end.min(first.saturating_add(1 << shift));
        self.keys.clone().step_by(1 << shift).map(keys)
    }

    /// Visits every key of a portion of all keys, in order, with its entries, which are expanded first.
    pub(crate) fn for_each<T: Keyed>(
        &self,
        portion: usize,
        portions: usize,
        expand: impl Fn(E) -> T,
        mut take: impl FnMut(KeyId, &mut [T]),
    ) {
        let mut expanded: Vec<T> = Vec::new();
        let mut starts: Vec<u32> = Vec::new();
        let mut sorted: Vec<T> = Vec::new();
        let own = cut(self.buckets().len(), portion, portions);
        let buckets = self.buckets().enumerate();
        for (bucket, keys) in buckets.skip(own.start as usize).take(own.len()) {
            // Nothing else happens here, so the processor can fetch many of them at a time.
            expanded.clear();
            for Portion { ends, entries } in &self.portions {
                let start = bucket.checked_sub(1).map_or(0, |before| ends[before] as usize);
                let entries = &entries[start..ends[bucket] as usize];
                expanded.extend(entries.iter().map(|entry| expand(*entry)));
            }
            sort_by_key(&expanded, &keys, &mut starts, &mut sorted);
            for (key, bounds) in keys.zip(starts.windows(2)) {
                take(key, &mut sorted[bounds[0] as usize..bounds[1] as usize]);
            }
        }
    }
}

/// Counting sort; `starts` says where each key begins, and one more where the last one ends.
fn sort_by_key<T: Keyed>(
    entries: &[T],
    keys: &Range<KeyId>,
    starts: &mut Vec<u32>,
    sorted: &mut Vec<T>,
) {
    // Counts are shifted by two, so that filling a group moves its start into place.
    starts.clear();
    starts.resize(keys.len() + 2, 0);
    for entry in entries {
        starts[(entry.key() - keys.start) as usize + 2] += 1;
    }
    for at in 2..starts.len() {
        starts[at] += starts[at - 1];
    }
    sorted.clear();
    sorted.extend_from_slice(entries);
    for entry in entries {
        let slot = &mut starts[(entry.key() - keys.start) as usize + 1];
        sorted[*slot as usize] = *entry;
        *slot += 1;
    }
    starts.pop();
}
