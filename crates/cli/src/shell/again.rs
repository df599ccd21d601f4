//! What was typed, run anew: replayed, judged, reduced.
//!
//! Idea: what is said about it was just executed again, on fresh tables and in fresh sessions, as by the commands `run`
//! and `reduce`; the sessions of the shell are not touched.

use std::sync::Arc;

use anchorite_claims::Claims;
use anchorite_drivers::Target;
use anchorite_hunt::Examiner;
use anchorite_model::{Case, Run};
use anchorite_report::{RunResult, text};
use anchorite_stage::{FreshTables, Limits, RunOptions, run_case};

use super::script::differences;
use crate::exit::Exit;
use crate::oracles::{self, OracleChoice};
use crate::output::text_options;
use crate::reduce::reduce_case;
use crate::run::{exit_for, judged};

/// How it is run anew.
pub struct Again {
    /// Who judges.
    pub oracles: Vec<OracleChoice>,
    /// Whether documented exceptions count as violations.
    pub strict: bool,
    /// How long things may take, and what interrupts them.
    pub options: RunOptions,
}

/// What to show, and what the exit code of a script is to say.
type Told = anyhow::Result<(String, Exit)>;

impl Again {
    /// Runs it anew, and says where it differs from what was seen before.
    pub fn replay(&self, target: &dyn Target, case: &Case, typed: &Run) -> Told {
        let run = run_case(target, case, &self.options)?;
        let differences = differences(typed, &run);
        let mut told = text(&[RunResult::from(run)], &text_options());
        if differences.is_empty() {
            told += "\nThe replay gave the same answers.\n";
        } else {
            told += &format!("\nThe replay differs:\n  {}\n", differences.join("\n  "));
        }
        Ok((told, Exit::Fine))
    }

    /// Runs it anew and lets the oracles judge it.
    pub fn judge(&self, target: &dyn Target, case: &Case) -> Told {
        let oracles = oracles::chosen(&self.oracles, false);
        let claims = Claims::for_target(target.info());
        let examiner = Examiner { claims, oracles: &oracles, strict: self.strict };
        let mut fresh = FreshTables { target, options: self.options.clone() };
        let mut tried = examiner.examine(&mut fresh, case, None)?;
        examiner.diagnose(&mut fresh, &mut tried)?;
        let results = [judged(tried, &examiner)];
        Ok((text(&results, &text_options()), exit_for(&results)))
    }

    /// Makes it as small as possible; what is left is printed there.
    pub fn reduce(&self, target: (&str, &dyn Target), case: &Case) -> Told {
        let interrupt = Arc::clone(&self.options.interrupt);
        let options = RunOptions { limits: Limits::hurried(), interrupt, ..RunOptions::default() };
        let exit = reduce_case(case, target, &self.oracles, self.strict, &options)?;
        Ok((String::new(), exit))
    }
}
