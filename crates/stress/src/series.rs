//! How a run went over time: transactions, failures and latencies per interval, in bounded memory.
//!
//! Idea: an interval is a second at first. When there are too many of them each two become one, so a run of days takes
//! as much memory as one of ten minutes. Latencies are counted in classes that grow by an eighth of an octave.
//!
//! Blind spot: a transaction belongs to the interval in which the judge read its end, not to that of its end.

use std::time::Duration;

use anchorite_check::model::Outcome;

use crate::record::Record;

/// Intervals that are kept.
const INTERVALS_MAX: usize = 600;

/// Classes of latencies per octave.
const PER_OCTAVE: f64 = 8.0;

/// Classes of latencies: up to more than an hour.
const CLASSES: usize = 256;

/// Latencies, counted by class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    counts: Vec<u32>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: vec![0; CLASSES] }
    }
}

impl Latencies {
    fn note(&mut self, micros: u32) {
        let class = (f64::from(micros.max(1)).log2() * PER_OCTAVE).round() as usize;
        self.counts[class.min(CLASSES - 1)] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
    }

    /// The latency that this share of all does not exceed, in microseconds, to within a tenth; `None` without any.
    pub fn share(&self, share: f64) -> Option<u64> {
        let all: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let wanted = (all as f64 * share).ceil().max(1.0) as u64;
        let mut sum = 0;
        let class = self.counts.iter().position(|count| {
            sum += u64::from(*count);
            sum >= wanted
        })?;
        Some((class as f64 / PER_OCTAVE).exp2().round() as u64)
    }
}

/// What was counted in one interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interval {
    /// Transactions that committed.
    pub committed: u64,
    /// Statements of these.
    pub statements: u64,
    /// Transactions that failed or whose outcome is unknown.
    pub failed: u64,
    /// From begin to end, of those that committed.
    pub latencies: Latencies,
}

impl Interval {
    fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.statements += other.statements;
        self.failed += other.failed;
        self.latencies.add(&other.latencies);
    }
}

/// A run over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// How many seconds an interval has.
    pub seconds: u64,
    /// One after the other, from the first transaction on.
    pub intervals: Vec<Interval>,
}

impl Default for Series {
    fn default() -> Self {
        Self { seconds: 1, intervals: Vec::new() }
    }
}

impl Series {
    /// A transaction has ended, so long after the first one began.
    pub fn note(&mut self, elapsed: Duration, record: &Record) {
        while elapsed.as_secs() / self.seconds >= INTERVALS_MAX as u64 {
            self.halve();
        }
        let place = (elapsed.as_secs() / self.seconds) as usize;
        if self.intervals.len() <= place {
            self.intervals.resize_with(place + 1, Interval::default);
        }
        let interval = &mut self.intervals[place];
        if record.outcome == Outcome::Committed {
            interval.committed += 1;
            interval.statements += record.seen.len() as u64;
            interval.latencies.note(record.micros);
        } else if record.outcome == Outcome::Unknown || record.error.is_some() {
            interval.failed += 1;
        }
    }

    fn halve(&mut self) {
        self.seconds *= 2;
        let pairs = self.intervals.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|other| sum.add(other));
            sum
        });
        self.intervals = pairs.collect();
    }

    /// The latencies of the whole run.
    pub fn latencies(&self) -> Latencies {
        let mut all = Latencies::default();
        self.intervals.iter().for_each(|interval| all.add(&interval.latencies));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(micros: u32) -> Record {
        let (seen, blunders) = (Vec::new(), Vec::new());
        let outcome = Outcome::Committed;
        Record { number: 1, session: 0, outcome, error: None, seen, blunders, micros }
    }

    #[test]
    fn a_long_run_takes_no_more_room_and_loses_no_count() {
        let mut series = Series::default();
        for second in 0..5_000 {
            series.note(Duration::from_secs(second), &record(1_000));
        }
        assert!(series.intervals.len() <= INTERVALS_MAX);
        assert_eq!(series.seconds, 16);
        assert_eq!(series.intervals.iter().map(|one| one.committed).sum::<u64>(), 5_000);
    }

    #[test]
    fn shares_of_latencies_are_right_to_within_a_tenth() {
        let mut series = Series::default();
        (1..=1_000).for_each(|n| series.note(Duration::ZERO, &record(n * 100)));
        let all = series.latencies();
        for (share, expected) in [(0.5, 50_000.0), (0.99, 99_000.0)] {
            let told = all.share(share).expect("there are some") as f64;
            assert!((told / expected - 1.0).abs() < 0.1, "{share}: {told}");
        }
        assert_eq!(Latencies::default().share(0.5), None);
    }
}
