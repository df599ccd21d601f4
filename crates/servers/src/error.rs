//! Why a server could not be obtained, started or stopped: always one message that says what to do next.

use std::io;
use std::path::{Path, PathBuf};

/// Everything that can go wrong with a private server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text does not name a server.
    #[error("'{request}' is not a server: {reason}")]
    Request {
        /// What was asked for.
        request: String,
        /// What was expected.
        reason: String,
    },
    /// The program that the user named is not what was asked for.
    #[error("{named_by} {}: {reason}", program.display())]
    Given {
        /// The option or variable that named it.
        named_by: &'static str,
        /// The program.
        program: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No source on this machine has it.
    #[error("{request} is not available on this machine: {reason}")]
    Unavailable {
        /// What was asked for.
        request: String,
        /// Which sources were tried and why they failed.
        reason: String,
    },
    /// A program that fetches, unpacks or builds failed.
    #[error("{what} failed: {reason}")]
    Tool {
        /// The program and what it was doing.
        what: String,
        /// How it ended and its last lines.
        reason: String,
    },
    /// The operating system refused something.
    #[error("cannot {action} {}: {cause}", path.display())]
    Io {
        /// A verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The server ended, or did not become ready in time.
    #[error("{server} did not start: {reason}\n{log}")]
    Start {
        /// What was being started.
        server: String,
        /// What happened.
        reason: String,
        /// The last lines of its log.
        log: String,
    },
    /// [`crate::stop_all`] was called.
    #[error("interrupted")]
    Interrupted,
    /// `stop` named a kept server that is not there.
    #[error("there is no kept server '{name}'; {known}")]
    NotKept {
        /// The name, port or target.
        name: String,
        /// Those that exist, in a sentence.
        known: String,
    },
}

impl Error {
    /// An [`Error::Io`] maker for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { action, path, cause }
    }

    /// Whether the caller asked for something that does not exist (as opposed to a failure on the way).
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Request { .. } | Self::Given { .. } | Self::NotKept { .. })
    }
}
