//! How many times something must recur before it counts as confirmed.
//!
//! Idea: a suspected violation is run again on freshly created tables. What recurs every time is confirmed; what recurs
//! only sometimes, or never, is flaky: kept separately, and counted.
//!
//! Assumption: runs are independent of each other. Blind spot: a bug that occurs only by chance is flaky, but still a
//! bug.

use anchorite_model::Confirmed;

/// The result of repeating something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// It recurred every time.
    Confirmed(Confirmed),
    /// It recurred sometimes.
    Flaky(Confirmed),
    /// It never recurred.
    NotShownAgain {
        /// The number of runs.
        runs: u32,
    },
}

/// Counts repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetitions {
    wanted: u32,
    shown: u32,
    runs: u32,
}

impl Repetitions {
    /// The number of repetitions; at least one.
    pub fn new(wanted: u32) -> Self {
        Self { wanted: wanted.max(1), shown: 0, runs: 0 }
    }

    /// Whether another run is needed. All runs are made even after one that showed nothing: readers of a flaky finding
    /// want to know how often it shows.
    pub const fn wants_more(&self) -> bool {
        self.runs < self.wanted
    }

    /// Notes a run.
    pub const fn note(&mut self, shown: bool) {
        self.runs += 1;
        self.shown += shown as u32;
    }

    /// The result.
    pub const fn verdict(&self) -> Confirmation {
        let confirmed = Confirmed { shown: self.shown, runs: self.runs };
        match self.shown {
            0 => Confirmation::NotShownAgain { runs: self.runs },
            shown if shown == self.runs => Confirmation::Confirmed(confirmed),
            _ => Confirmation::Flaky(confirmed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(shown: &[bool]) -> Confirmation {
        let mut repetitions = Repetitions::new(u32::try_from(shown.len()).expect("few runs"));
        for shown in shown {
            assert!(repetitions.wants_more());
            repetitions.note(*shown);
        }
        assert!(!repetitions.wants_more());
        repetitions.verdict()
    }

    #[test]
    fn only_what_comes_out_every_time_is_confirmed() {
        let confirmed = |shown, runs| Confirmed { shown, runs };
        assert_eq!(verdict(&[true, true, true]), Confirmation::Confirmed(confirmed(3, 3)));
        assert_eq!(verdict(&[false, true]), Confirmation::Flaky(confirmed(1, 2)));
        assert_eq!(verdict(&[false, false]), Confirmation::NotShownAgain { runs: 2 });
    }
}
