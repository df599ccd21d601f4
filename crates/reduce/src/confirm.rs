//! How often something must come out again before it is believed.
//!
//! Idea: a suspected violation is run again on freshly created tables. What comes out every time is
//! confirmed; what comes out only sometimes, or never again, is flaky: kept apart, and counted.
//!
//! Assumption: runs are independent of each other. Blind spot: a bug that needs luck looks flaky, and is one.

use anchorite_model::Confirmed;

/// What repeating something said about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// It came out every time.
    Confirmed(Confirmed),
    /// It came out sometimes.
    Flaky(Confirmed),
    /// It never came out again.
    NotShownAgain {
        /// So many times it was run.
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
    /// So many repetitions are wanted; at least one.
    pub fn new(wanted: u32) -> Self {
        Self { wanted: wanted.max(1), shown: 0, runs: 0 }
    }

    /// Whether another run is needed. All of them are made even after one that showed nothing: how often it
    /// shows is what a reader of a flaky finding wants to know.
    pub const fn wants_more(&self) -> bool {
        self.runs < self.wanted
    }

    /// Notes a run.
    pub const fn note(&mut self, shown: bool) {
        self.runs += 1;
        self.shown += shown as u32;
    }

    /// What it comes to.
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
