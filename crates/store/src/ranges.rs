//! Sets of case numbers, as ranges.

use std::collections::BTreeMap;
use std::ops::Range;

/// Which case numbers are done. Adjacent ranges are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    /// Start to end, disjoint and not adjacent.
    ranges: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds a range; it may overlap others.
    pub fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        let touching: Vec<(u64, u64)> = self
            .ranges
            .range(..=end)
            .filter(|(_, other_end)| **other_end >= start)
            .map(|(other, other_end)| (*other, *other_end))
            .collect();
        for (other, other_end) in touching {
            self.ranges.remove(&other);
            start = start.min(other);
            end = end.max(other_end);
        }
        self.ranges.insert(start, end);
    }

    /// The first number from `from` on that is missing.
    pub fn next_missing(&self, from: u64) -> u64 {
        match self.ranges.range(..=from).next_back() {
            Some((_, end)) if *end > from => *end,
            _ => from,
        }
    }

    /// The first number from `from` on that is in the set.
    pub fn next_present(&self, from: u64) -> Option<u64> {
        let inside = self.next_missing(from) > from;
        if inside { Some(from) } else { self.ranges.range(from..).next().map(|(start, _)| *start) }
    }

    /// How many numbers are in the set.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(start, end)| end - start).sum()
    }

    /// The ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().map(|(start, end)| *start..*end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_in_any_order_become_one() {
        let mut ranges = Ranges::default();
        for range in [40..50, 0..10, 20..30, 10..20, 25..45, 5..5] {
            ranges.add(range);
        }
        assert!(ranges.iter().eq(std::iter::once(0..50)));
        assert_eq!((ranges.count(), ranges.next_missing(7), ranges.next_missing(60)), (50, 50, 60));
    }

    #[test]
    fn gaps_stay_gaps() {
        let mut ranges = Ranges::default();
        ranges.add(200..300);
        ranges.add(0..100);
        assert_eq!(
            (ranges.next_missing(0), ranges.next_missing(100), ranges.count()),
            (100, 100, 200)
        );
        assert_eq!(ranges.next_missing(250), 300);
        let present = [0, 99, 100, 199, 299, 300].map(|from| ranges.next_present(from));
        assert_eq!(present, [Some(0), Some(99), Some(200), Some(200), Some(299), None]);
    }
}
