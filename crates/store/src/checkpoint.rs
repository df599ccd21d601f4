//! Checkpoints: a journal of progress that stays short however long a campaign lasts.
//!
//! Idea: lines of progress are only ever added up: ranges of case numbers that are done, counts, and how long each
//! session took. So many lines can be replaced by a few with the same sum: one line per range without a gap, and one
//! for each of two sums of time. They are ordinary lines, so every release can read them. The new journal is written to
//! a temporary file and renamed, so after a kill either the long or the short one is there.
//!
//! The length depends on the number of gaps (blocks that workers are still running), not on the time that has passed.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Progress, Ranges};

/// At this many lines a journal is shortened.
pub(crate) const LINES: usize = 1_000;

/// How many lines it may have before it is shortened again, if this many were left: with many gaps it is not rewritten
/// after each line.
pub(crate) fn next_at(left: usize) -> usize {
    LINES.max(2 * left)
}

/// Counts that can be added up.
pub trait Counts: Serialize + DeserializeOwned + Default {
    /// Adds the counts of another.
    fn add(&mut self, other: &Self);
}

/// A single number.
impl Counts for u64 {
    fn add(&mut self, other: &Self) {
        *self += other;
    }
}

/// Progress, added up.
#[derive(Debug)]
pub(crate) struct Sum<T> {
    done: BTreeMap<usize, Ranges>,
    counts: T,
    /// The latest time of each session.
    sessions: BTreeMap<u32, u64>,
}

impl<T: Counts> Sum<T> {
    pub(crate) fn new() -> Self {
        Self { done: BTreeMap::new(), counts: T::default(), sessions: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, line: &Progress<T>) {
        self.done.entry(line.place).or_default().add(line.from..line.to);
        self.counts.add(&line.counts);
        let latest = self.sessions.entry(line.session).or_default();
        *latest = (*latest).max(line.at_ms);
    }

    /// The fewest lines with the same sum.
    pub(crate) fn into_lines(mut self) -> Vec<Progress<T>> {
        let Some((current, at_ms)) = self.sessions.pop_last() else { return Vec::new() };
        let line = |place, from, to, session, at_ms| Progress {
            place,
            from,
            to,
            at_ms,
            session,
            counts: T::default(),
        };
        let mut lines = Vec::new();
        // Only the sum of the earlier ones matters.
        if let Some(last) = self.sessions.keys().next_back() {
            lines.push(line(0, 0, 0, *last, self.sessions.values().sum()));
        }
        lines.push(line(0, 0, 0, current, at_ms));
        lines[0].counts = self.counts;
        for (place, done) in self.done {
            lines.extend(done.iter().map(|range| line(place, range.start, range.end, current, 0)));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(place: usize, from: u64, session: u32, at_ms: u64) -> Progress<u64> {
        Progress { place, from, to: from + 10, at_ms, session, counts: 10 }
    }

    #[test]
    fn few_lines_add_up_to_the_same_as_many() {
        let mut sum = Sum::new();
        let mut time = 0;
        for session in 0..50 {
            for n in 0..20_u32 {
                let from = u64::from(session * 20 + n) * 10;
                // The second place has a gap.
                sum.add(&line(0, from, session, u64::from(n)));
                sum.add(&line(1, if from >= 500 { from + 10 } else { from }, session, 19));
            }
            time += 19;
        }
        let lines = sum.into_lines();
        assert_eq!(lines.len(), 2 + 1 + 2);
        let mut again = Sum::new();
        lines.iter().for_each(|line| again.add(line));
        assert_eq!(again.counts, 2 * 50 * 20 * 10);
        assert_eq!(again.sessions.values().sum::<u64>(), time);
        assert_eq!(again.sessions.keys().next_back(), Some(&49));
        assert!(again.done[&0].iter().eq(std::iter::once(0..10_000)));
        assert!(again.done[&1].iter().eq([0..500, 510..10_010]));
        let once_more = again.into_lines();
        assert_eq!(once_more, lines);
    }

    #[test]
    fn nothing_stays_nothing() {
        assert_eq!(Sum::<u64>::new().into_lines(), []);
    }
}
