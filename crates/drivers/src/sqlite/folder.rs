//! Where a database file lies.

use std::path::PathBuf;

use tempfile::TempDir;

/// The temporary folder; removed when the last user is gone, even when a panic unwinds.
#[derive(Debug)]
pub(super) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(super) const fn of(folder: TempDir) -> Self {
        Self { folder }
    }

    /// Its database file.
    pub(super) fn database(&self) -> PathBuf {
        self.folder.path().join("case.sqlite")
    }
}
