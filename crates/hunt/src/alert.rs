//! A runner for which a lost connection is an error and not a result.
//!
//! Idea: a run in which a connection was lost proves nothing about isolation, nor about what a target understands. Code
//! that asks one question of many runs (does it recur? is this accepted?) must not take such a run for an answer.

use anchorite_drivers::TargetError;
use anchorite_model::{Case, Ending, ErrorClass, Level, Outcome, Run, RunError, Runner};
use anchorite_stage::StageError;

/// Passes cases on, and returns an error when a connection was lost.
pub struct Alert<'a> {
    /// Who runs them.
    pub runner: &'a mut dyn Runner,
    /// What the error calls the target.
    pub target: &'a str,
    /// Whether others know already that the target is lost.
    pub in_doubt: &'a dyn Fn() -> bool,
}

impl Runner for Alert<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.check_doubt()?;
        let run = self.runner.run(case, level);
        self.checked(run)
    }

    fn rehearse(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.check_doubt()?;
        let run = self.runner.rehearse(case, level);
        self.checked(run)
    }

    fn rehearse_all(&mut self, cases: &[Case], level: Option<Level>) -> Result<Vec<Run>, RunError> {
        self.check_doubt()?;
        match self.runner.rehearse_all(cases, level) {
            Ok(runs) => runs.into_iter().map(|run| self.checked(Ok(run))).collect(),
            Err(error) => self.checked(Err(error)).map(|run| vec![run]),
        }
    }

    fn has_elsewhere(&self) -> bool {
        self.runner.has_elsewhere()
    }

    fn run_elsewhere(
        &mut self,
        case: &Case,
        level: Option<Level>,
    ) -> Option<Result<Run, RunError>> {
        let run = self.runner.run_elsewhere(case, level)?;
        Some(self.checked(run))
    }
}

impl Alert<'_> {
    fn check_doubt(&self) -> Result<(), RunError> {
        match (self.in_doubt)() {
            true => Err(self.lost("somebody else has lost it".to_owned()).into()),
            false => Ok(()),
        }
    }

    fn checked(&self, run: Result<Run, RunError>) -> Result<Run, RunError> {
        let run = match run.map_err(StageError::from) {
            Err(StageError::Setup { error, .. }) if error.class == ErrorClass::ConnectionLost => {
                return Err(self.lost(error.message).into());
            }
            run => run?,
        };
        match lost_in(&run).into_iter().next() {
            Some(words) => Err(self.lost(words).into()),
            None => Ok(run),
        }
    }

    fn lost(&self, reason: String) -> StageError {
        TargetError::Connect { endpoint: self.target.to_owned(), reason }.into()
    }
}

/// The messages of all lost connections of a run; empty if none was lost.
pub fn lost_in(run: &Run) -> Vec<String> {
    let of_the_end = match &run.ending {
        Ending::TargetLost(words) => Some(words.clone()),
        _ => None,
    };
    let of_events = run.events.iter().filter_map(|event| match &event.outcome {
        Outcome::Error(error) if error.class == ErrorClass::ConnectionLost => {
            Some(format!("{}: {}", error.code, error.message))
        }
        _ => None,
    });
    of_the_end.into_iter().chain(of_events).collect()
}
