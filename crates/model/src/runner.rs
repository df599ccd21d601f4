//! Somewhere to run cases, and what can go wrong there.
//!
//! Idea: oracles, the reducer and campaigns ask for runs, and do not care how tables and sessions are made ready for
//! them. So the question stands here, below all of them; the answers are in the stage. What can go wrong is as manifold
//! as the databases are: whoever judges passes it on unread, and whoever knows the stage unpacks it ([`RunError`]).

use std::error::Error;
use std::fmt;

use crate::{Case, Level, Run};

/// Runs cases, one after another.
pub trait Runner {
    /// Runs a case on tables that nobody else has touched; `level` overrides what the case says.
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError>;

    /// Runs several cases that have nothing to do with each other. One after the other, unless the runner knows how to
    /// send them together.
    fn run_all(&mut self, cases: &[Case], level: Option<Level>) -> Result<Vec<Run>, RunError> {
        cases.iter().map(|case| self.run(case, level)).collect()
    }

    /// Whether there is a second target that runs are compared with.
    fn has_elsewhere(&self) -> bool {
        false
    }

    /// Runs a case on the second target; `None` where there is none.
    fn run_elsewhere(&mut self, _: &Case, _: Option<Level>) -> Option<Result<Run, RunError>> {
        None
    }
}

/// A runner, and another one on the target that runs are compared with, if there is one.
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

    fn run_all(&mut self, cases: &[Case], level: Option<Level>) -> Result<Vec<Run>, RunError> {
        self.here.run_all(cases, level)
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

/// Why a case could not be run: an error of whoever runs cases, packed.
#[derive(Debug)]
pub struct RunError {
    error: Box<dyn Error + Send + Sync>,
    is_refusal: bool,
}

impl RunError {
    /// Packs an error.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self { error: Box::new(error), is_refusal: false }
    }

    /// Packs an error by which a database refuses the case's tables or rows, and is well otherwise.
    pub fn refusal(error: impl Error + Send + Sync + 'static) -> Self {
        Self { is_refusal: true, ..Self::new(error) }
    }

    /// Whether the database refused the case's tables or rows: an answer about the case, not about the database.
    pub const fn is_refusal(&self) -> bool {
        self.is_refusal
    }

    /// Unpacks it, if it is of this type.
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
