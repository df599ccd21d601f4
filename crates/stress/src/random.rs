//! Random choices of one transaction: the same for the same seed and number, on every machine.
//!
//! Source: xoshiro256++ under helpers of our own, as in the generator of cases. Blind spot: [`Random::below`] is biased
//! by less than 2^-50 for the ranges that are used here.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of random choices.
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of one transaction of a seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed.rotate_left(32) ^ number))
    }

    /// A number below `bound`; 0 if there is none.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.0.next_u64()) * u128::from(bound);
        u64::try_from(product >> 64).expect("below the bound")
    }

    /// True in this percentage of calls.
    pub(crate) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }
}
