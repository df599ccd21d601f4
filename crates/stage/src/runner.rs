//! The runner beyond doubt.

use anchorite_drivers::Target;
use anchorite_model::{Case, Level, Run, RunError, Runner};

use crate::one_session::{in_one_session, told_as};
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

    fn rehearse(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        let options = RunOptions { level, ..self.options.clone() };
        let dialect = self.target.info().product.dialect();
        match in_one_session(case, dialect, &options) {
            Some(merged) => {
                let run = run_case(self.target, &merged, &options)?;
                Ok(told_as(case, &options, run))
            }
            None => self.run(case, level),
        }
    }
}
