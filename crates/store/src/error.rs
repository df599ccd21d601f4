//! What can be wrong with a findings folder.

use std::io;
use std::path::{Path, PathBuf};

/// Why a findings folder could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried (`write`).
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A file is not what this version writes.
    #[error("{}:{line}: {reason}", .path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The line, 1-based.
        line: usize,
        /// What was expected.
        reason: String,
    },
    /// Another process works there.
    #[error("{} is in use by another hunt; wait for it, or choose another folder with --out", .0.display())]
    InUse(PathBuf),
    /// There is a campaign already.
    #[error(
        "{} already contains a campaign; continue it with --resume, or choose another folder with --out",
        .0.display()
    )]
    Exists(PathBuf),
    /// There is something else.
    #[error(
        "{} contains other files ({example}); expected an empty or a new folder for the findings",
        .path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// One of the files.
        example: String,
    },
    /// There is no campaign to resume.
    #[error("{} contains no campaign to resume (no campaign.json)", .0.display())]
    NoCampaign(PathBuf),
    /// The campaign to resume is another one.
    #[error(
        "{} is a campaign with {what} {theirs}, and the command line says {ours}; leave the option out to continue \
         it, or choose another folder with --out",
        .path.display()
    )]
    Differs {
        /// The campaign's file.
        path: PathBuf,
        /// Which option.
        what: &'static str,
        /// What the campaign has.
        theirs: String,
        /// What the command line says.
        ours: String,
    },
}

impl StoreError {
    /// Makes an error of the system one of ours.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// A file whose JSON does not fit.
    pub(crate) fn json(path: &Path, first_line: usize, error: &serde_json::Error) -> Self {
        let line = first_line + error.line().saturating_sub(1);
        Self::Bad { path: path.to_owned(), line, reason: error.to_string() }
    }

    /// Whether the disk, or our quota on it, is full.
    pub fn is_disk_full(&self) -> bool {
        let Self::Io { source, .. } = self else { return false };
        let full =
            [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
        full.contains(&source.kind())
    }
}
