//! A fast hash for machine words, and a table of operations keyed by (key, value).
//!
//! Idea: histories contain millions of small integers, for which the standard library's keyed hash is the bottleneck.
//! Assumption: inputs that are built to collide only make the checker slow, never wrong; the multiplier is folded with
//! the high half so that regular patterns spread.

use std::hash::{BuildHasherDefault, Hasher};

/// A hash map for keys that are machine words.
pub type WordMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// Mixes one word: a folded multiplication.
#[inline]
pub(crate) fn mix(word: u64) -> u64 {
    let wide = u128::from(word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Mixes a key id and a value.
#[inline]
pub(crate) fn mix_pair(key: u32, value: u64) -> u64 {
    mix(mix(value).wrapping_add(u64::from(key).wrapping_mul(0xa076_1d64_78bd_642f)))
}

/// The hasher behind [`WordMap`].
#[derive(Default, Clone, Copy)]
pub struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0_u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0.rotate_left(23) ^ word);
    }
}
