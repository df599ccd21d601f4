//! Random choices that are the same on every machine and in every release.
//!
//! Idea: xoshiro256++ (a fixed algorithm, its crate pinned to one version) under our own range, choice and shuffle
//! helpers, because those of the `rand` crates change between releases. Every purpose has a separate stream, so that a
//! change in how rows are generated does not change the tables.
//!
//! Blind spot: [`Random::below`] is biased by less than 2^-50 for the small ranges that are used here.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What a stream of random numbers is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Tables and indexes.
    Schema = 1,
    /// Initial rows.
    Rows = 2,
    /// Transactions and their order.
    Play = 3,
}

/// A stream of random choices.
#[derive(Debug, Clone)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream for one purpose of one numbered thing of a seed.
    pub(crate) fn new(seed: u64, purpose: Purpose, number: u64) -> Self {
        let mut state = mix(mix(mix(seed) ^ purpose as u64) ^ number);
        let mut bytes = [0; 32];
        for word in bytes.chunks_exact_mut(8) {
            state = mix(state);
            word.copy_from_slice(&state.to_le_bytes());
        }
        Self(Xoshiro256PlusPlus::from_seed(bytes))
    }

    /// A number below `bound`; 0 if there is none.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(self.0.next_u64()) * bound as u128;
        usize::try_from(product >> 64).expect("below a usize")
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in this percentage of calls.
    pub(crate) fn percent(&mut self, share: u32) -> bool {
        self.below(100) < share as usize
    }

    /// One of these.
    pub(crate) fn pick<'s, T>(&mut self, choices: &'s [T]) -> &'s T {
        &choices[self.below(choices.len())]
    }

    /// One of these, or `None` if there are none.
    pub(crate) fn try_pick<'s, T>(&mut self, choices: &'s [T]) -> Option<&'s T> {
        if choices.is_empty() { None } else { Some(self.pick(choices)) }
    }

    /// One of these by weight; the first one if no weight is above zero.
    pub(crate) fn weighted<T: Copy>(&mut self, choices: &[(u32, T)]) -> T {
        let total: usize = choices.iter().map(|(weight, _)| *weight as usize).sum();
        let mut rest = self.below(total);
        for (weight, choice) in choices {
            if rest < *weight as usize {
                return *choice;
            }
            rest -= *weight as usize;
        }
        choices[0].1
    }

    /// The same in random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

/// SplitMix64's step: spreads every bit of the input over the whole output.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_pinned() {
        let mut random = Random::new(7, Purpose::Play, 3);
        let numbers: Vec<usize> = (0..12).map(|_| random.below(1000)).collect();
        insta::assert_compact_debug_snapshot!(numbers);
    }

    #[test]
    fn every_choice_comes_up_as_often_as_its_weight_says() {
        let mut random = Random::new(1, Purpose::Rows, 0);
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            counts[random.weighted(&[(1, 0), (0, 1), (3, 2)])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((2_300..2_700).contains(&counts[0]), "{counts:?}");
        assert_eq!(random.weighted(&[(0, 'a'), (0, 'b')]), 'a');
    }

    #[test]
    fn a_shuffle_keeps_everything() {
        let mut items: Vec<usize> = (0..20).collect();
        Random::new(1, Purpose::Rows, 1).shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
    }
}
