//! Exit codes: what scripts can rely on.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use anchorite_drivers::TargetError;
use anchorite_drivers::endpoint::BadUrl;
use anchorite_judge::ObserveError;
use anchorite_stage::StageError;

/// The documented exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, nothing new.
    Fine = 0,
    /// A promise was broken, and it is not a known issue.
    Violation = 1,
    /// Usage error or bad input.
    BadInput = 2,
    /// The target could not be reached, prepared or started, or it was lost.
    Target = 3,
    /// Nothing could be judged.
    NothingJudged = 4,
    /// The disk is full: results could not be written.
    DiskFull = 5,
    /// Ctrl-C or SIGTERM; everything was cleaned up.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A user's mistake: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// The message with its causes. A cause that the message already ends with is not repeated.
pub fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Whether a write failed for lack of space: a full disk, a quota, or a file size limit.
pub fn is_disk_full(error: &io::Error) -> bool {
    let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
    full.contains(&error.kind())
}

/// The exit code of an error.
pub fn code_of(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if cause.is::<BadInput>() || cause.is::<BadUrl>() {
            return Exit::BadInput;
        }
        if cause.downcast_ref().is_some_and(is_disk_full) {
            return Exit::DiskFull;
        }
        if let Some(ObserveError::Lost { .. }) = cause.downcast_ref() {
            return Exit::Target;
        }
        let target = match cause.downcast_ref::<StageError>() {
            Some(StageError::Interrupted) => return Exit::Interrupted,
            Some(StageError::Target(error)) => Some(error),
            Some(StageError::Setup { .. } | StageError::Elsewhere(_)) => return Exit::Target,
            None => cause.downcast_ref::<TargetError>(),
        };
        if let Some(error) = cause.downcast_ref::<anchorite_servers::Error>() {
            return if error.is_usage() { Exit::BadInput } else { Exit::Target };
        }
        match target {
            Some(TargetError::UnsupportedLevel { .. }) => return Exit::BadInput,
            Some(_) => return Exit::Target,
            None => {}
        }
    }
    Exit::BadInput
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let full = || io::Error::from(ErrorKind::StorageFull);
        let plain = anyhow::Error::from(full()).context("cannot write x");
        assert_eq!(told(&plain), "cannot write x: no storage space");
        let within = anyhow::Error::from(full()).context("cannot write x: no storage space");
        assert_eq!(told(&within), "cannot write x: no storage space");
        assert_eq!(code_of(&within), Exit::DiskFull);
    }
}
