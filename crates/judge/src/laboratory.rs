//! What an oracle can ask for while it judges: further runs.
//!
//! Idea: an oracle does not re-implement what SQL means. It asks the database: what a serial order of the same
//! transactions gives, what a statement does to a single row. All of it goes through here, so that an oracle knows
//! neither connections nor tables, and what went wrong in a run is passed on unread ([`RunError`]).

use anchorite_model::{Case, Level, Run, RunError, Runner};

/// Runs cases for an oracle, at the level of the run that is judged.
pub struct Laboratory<'r> {
    runner: &'r mut dyn Runner,
    level: Option<Level>,
}

impl<'r> Laboratory<'r> {
    /// Asks this runner; `level` is what was asked for when the judged run was made.
    pub fn new(runner: &'r mut dyn Runner, level: Option<Level>) -> Self {
        Self { runner, level }
    }

    /// Runs a case on the same target.
    pub fn run(&mut self, case: &Case) -> Result<Run, RunError> {
        self.runner.run(case, self.level)
    }

    /// Runs several cases that have nothing to do with each other on the same target: in fewer round trips than one
    /// after the other, where the target takes several statements at once.
    pub fn run_all(&mut self, cases: &[Case]) -> Result<Vec<Run>, RunError> {
        self.runner.run_all(cases, self.level)
    }

    /// Runs a case on the second target that runs are compared with; `None` where none was given.
    pub fn run_elsewhere(&mut self, case: &Case) -> Option<Result<Run, RunError>> {
        self.runner.run_elsewhere(case, self.level)
    }
}
