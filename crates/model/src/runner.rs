//! Ways to run cases, and what can go wrong.
//!
//! Idea: oracles, the reducer and campaigns ask for runs, whatever the preparation of tables and sessions. So the trait
//! is here, below all of them; the implementations are in the stage. A run that is judged has the sessions of its case;
//! what an oracle compares it with is *rehearsed*, and must not inherit anything from the sessions of the run.
//! Errors differ by database: an oracle passes them on as they are, and code that knows the stage unpacks them
//! ([`RunError`]).

use std::error::Error;
use std::fmt;

use crate::{Case, Level, Run};

/// Runs cases, one after another.
pub trait Runner {
    /// Runs a case on tables that look new; `level` overrides what the case says.
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError>;

    /// Runs a case that a run is compared with. One in which transactions follow one another runs in a single session
    /// without a past, so that a fault that lives in the sessions of the run does not repeat itself.
    fn rehearse(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.run(case, level)
    }

    /// Rehearses several unrelated cases: one after the other, unless the runner can send them together.
    fn rehearse_all(&mut self, cases: &[Case], level: Option<Level>) -> Result<Vec<Run>, RunError> {
        cases.iter().map(|case| self.rehearse(case, level)).collect()
    }

    /// Whether there is a second target to compare with.
    fn has_elsewhere(&self) -> bool {
        false
    }

    /// Runs a case on the second target; `None` if there is none.
    fn run_elsewhere(&mut self, _: &Case, _: Option<Level>) -> Option<Result<Run, RunError>> {
        None
    }
}

/// A runner, and another one on the second target, if there is one.
pub struct Pair<'r> {
    /// Where cases run.
    pub here: &'r mut dyn Runner,
    /// Where they are compared.
    pub elsewhere: Option<&'r mut dyn Runner>,
}

impl<'r> Pair<'r> {
    /// Both, or the first one alone.
    pub fn new<R: Runner>(here: &'r mut dyn Runner, elsewhere: Option<&'r mut R>) -> Self {
        Self { here, elsewhere: elsewhere.map(|runner| runner as &mut dyn Runner) }
    }
}

impl Runner for Pair<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.here.run(case, level)
    }

    fn rehearse(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.here.rehearse(case, level)
    }

    fn rehearse_all(&mut self, cases: &[Case], level: Option<Level>) -> Result<Vec<Run>, RunError> {
        self.here.rehearse_all(cases, level)
    }

    fn has_elsewhere(&self) -> bool {
        self.elsewhere.is_some()
    }

    fn run_elsewhere(
        &mut self,
        case: &Case,
        level: Option<Level>,
    ) -> Option<Result<Run, RunError>> {
        self.elsewhere.as_mut().map(|elsewhere| elsewhere.run(case, level))
    }
}

/// Why a case could not be run: the runner's error, boxed.
#[derive(Debug)]
pub struct RunError {
    error: Box<dyn Error + Send + Sync>,
    is_refusal: bool,
}

impl RunError {
    /// Boxes an error.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self { error: Box::new(error), is_refusal: false }
    }

    /// Boxes an error with which a working database refuses the case's tables or rows.
    pub fn refusal(error: impl Error + Send + Sync + 'static) -> Self {
        Self { is_refusal: true, ..Self::new(error) }
    }

    /// Whether the database refused the case's tables or rows: an answer about the case, not about the database.
    pub const fn is_refusal(&self) -> bool {
        self.is_refusal
    }

    /// Returns the error, if it is of this type.
    pub fn downcast<E: Error + 'static>(self) -> Result<E, Self> {
        let Self { error, is_refusal } = self;
        error.downcast().map(|error| *error).map_err(|error| Self { error, is_refusal })
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, thiserror::Error)]
    #[error("the server has gone")]
    struct Gone;

    #[test]
    fn an_error_is_unpacked_by_who_knows_it() {
        let packed = RunError::new(Gone);
        assert_eq!(packed.to_string(), "the server has gone");
        let packed = packed.downcast::<fmt::Error>().expect_err("it is another one");
        assert_eq!(packed.downcast::<Gone>().ok(), Some(Gone));
    }

    #[test]
    fn a_pair_knows_where_else_to_run() {
        struct Named(&'static str);
        impl Runner for Named {
            fn run(&mut self, _: &Case, _: Option<Level>) -> Result<Run, RunError> {
                Err(RunError::new(std::io::Error::other(self.0)))
            }
        }
        let case = Case::default();
        let (mut here, mut there) = (Named("here"), Named("there"));
        assert!(here.run_elsewhere(&case, None).is_none());
        let mut pair = Pair { here: &mut here, elsewhere: Some(&mut there) };
        let said = |result: Result<Run, RunError>| result.map_err(|e| e.to_string()).err();
        assert_eq!(said(pair.run(&case, None)).as_deref(), Some("here"));
        let elsewhere = pair.run_elsewhere(&case, None).expect("there is one");
        assert_eq!(said(elsewhere).as_deref(), Some("there"));
    }
}
