//! Somewhere to run cases, one after another.

use anchorite_drivers::Target;
use anchorite_model::{Case, Level, Run};

use crate::{RunOptions, StageError, run_case};

/// Runs cases. Oracles, the reducer and campaigns ask for runs through this and do not care how a place
/// is prepared for them.
pub trait Runner {
    /// Runs a case on tables that nobody else has touched; `level` overrides what the case says.
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, StageError>;
}

/// Creates everything anew for each case: schema, tables, sessions. Slow, and beyond doubt.
pub struct FreshTables<'t> {
    /// Where.
    pub target: &'t dyn Target,
    /// How; the level is the caller's.
    pub options: RunOptions,
}

impl Runner for FreshTables<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, StageError> {
        run_case(self.target, case, &RunOptions { level, ..self.options.clone() })
    }
}
