//! How every transaction ended that is no longer kept: two bits each.
//!
//! Idea: a version names its writer, so a read of a version that is long gone needs no more than this to be called by
//! its name. It is the only thing that grows with the run: a quarter of a byte per transaction.

/// What is known about a transaction by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// It has not ended, or never existed.
    NotYet,
    Committed,
    Aborted,
}

/// The endings of all transactions.
#[derive(Default)]
pub(super) struct Endings {
    bits: Vec<u64>,
}

impl Endings {
    pub(super) fn set(&mut self, number: u64, ending: Ending) {
        let (word, shift) = ((number / 32) as usize, number % 32 * 2);
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        let code = match ending {
            Ending::NotYet => 0,
            Ending::Committed => 1,
            Ending::Aborted => 2,
        };
        self.bits[word] = self.bits[word] & !(3 << shift) | code << shift;
    }

    pub(super) fn of(&self, number: u64) -> Ending {
        let word = self.bits.get((number / 32) as usize).copied().unwrap_or(0);
        match word >> (number % 32 * 2) & 3 {
            1 => Ending::Committed,
            2 => Ending::Aborted,
            _ => Ending::NotYet,
        }
    }
}
