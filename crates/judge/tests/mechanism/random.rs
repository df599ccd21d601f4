//! Pseudo-random numbers that are the same every time (Knuth's constants for a linear congruence).

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }

    /// One of the numbers from `low` to `high`.
    pub fn number(&mut self, low: i128, high: i128) -> i128 {
        low + self.below(usize::try_from(high - low + 1).expect("a small range")) as i128
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
