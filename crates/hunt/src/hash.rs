//! A hash that is the same on every machine and in every release.
//!
//! Source: FNV-1a, 64 bits (Fowler, Noll, Vo). The standard library's hashers promise no stability, and
//! shapes and fingerprints are compared across runs.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Hashes a sequence of texts; their boundaries count.
#[derive(Debug, Clone)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(OFFSET)
    }
}

impl Fnv {
    /// Adds a text.
    pub fn add(&mut self, bytes: &[u8]) {
        // No text contains this byte, so two texts never hash like one.
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// The hash.
    pub const fn finish(&self) -> u64 {
        self.0
    }
}
