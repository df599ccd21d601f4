//! What an oracle can ask for while it judges: further runs.
//!
//! Idea: an oracle does not re-implement the semantics of SQL. It asks the database: what a serial order of the same
//! transactions gives, what a statement does to a single row. All of this goes through here, so an oracle knows neither
//! connections nor tables, and errors of a run are passed on as they are ([`RunError`]).

use anchorite_model::{Case, Level, Run, RunError, Runner};

/// Runs cases for an oracle, at the level of the run that is judged.
pub struct Laboratory<'r> {
    runner: &'r mut dyn Runner,
    level: Option<Level>,
}

impl<'r> Laboratory<'r> {
    /// Uses this runner; `level` is the level that was requested for the judged run.
    pub fn new(runner: &'r mut dyn Runner, level: Option<Level>) -> Self {
        Self { runner, level }
    }

    /// Runs a case on the same target; a serial order in a single session without a past ([`Runner::rehearse`]).
    pub fn run(&mut self, case: &Case) -> Result<Run, RunError> {
        self.runner.rehearse(case, self.level)
    }

    /// Runs several unrelated cases on the same target: in fewer round trips than one after the other, if the target
    /// accepts several statements at once.
    pub fn run_all(&mut self, cases: &[Case]) -> Result<Vec<Run>, RunError> {
        self.runner.rehearse_all(cases, self.level)
    }

    /// Runs a case on the second target; `None` if none was given.
    pub fn run_elsewhere(&mut self, case: &Case) -> Option<Result<Run, RunError>> {
        self.runner.run_elsewhere(case, self.level)
    }
}
