//! The runner beyond doubt.

use anchorite_drivers::Target;
use anchorite_model::{Case, Level, Run, RunError, Runner};

use crate::{RunOptions, run_case};

/// Creates everything anew for each case: schema, tables, sessions. Slow, and beyond doubt.
pub struct FreshTables<'t> {
    /// Where.
    pub target: &'t dyn Target,
    /// How; the level is the caller's.
    pub options: RunOptions,
}

impl Runner for FreshTables<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        Ok(run_case(self.target, case, &RunOptions { level, ..self.options.clone() })?)
    }
}
