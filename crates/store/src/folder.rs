//! The folder itself: where everything is, what may be in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Campaign, StoreError, atomic};

const PARTS: [&str; 4] = ["suspects", "findings", "flaky", "crashes"];
const FILES: [&str; 5] = ["campaign.json", "progress", "outcomes", "summary.json", "lock"];

/// A findings folder.
#[derive(Debug, Clone)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn progress(&self) -> PathBuf {
        self.0.join("progress")
    }

    pub(crate) fn outcomes(&self) -> PathBuf {
        self.0.join("outcomes")
    }

    pub(crate) fn summary(&self) -> PathBuf {
        self.0.join("summary.json")
    }

    pub(crate) fn suspects(&self) -> PathBuf {
        self.0.join("suspects")
    }

    pub(crate) fn findings(&self) -> PathBuf {
        self.0.join("findings")
    }

    pub(crate) fn flaky(&self) -> PathBuf {
        self.0.join("flaky")
    }

    pub(crate) fn crashes(&self) -> PathBuf {
        self.0.join("crashes")
    }

    /// Refuses a folder that contains a campaign, or anything that is not ours.
    pub(crate) fn check_new(path: &Path) -> Result<(), StoreError> {
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(StoreError::io("use", path))?,
        };
        if Campaign::file(path).exists() {
            return Err(StoreError::Exists(path.to_owned()));
        }
        for entry in entries {
            let name = entry.map_err(StoreError::io("list", path))?.file_name();
            let name = name.to_string_lossy();
            let is_ours = FILES.contains(&name.as_ref())
                || PARTS.contains(&name.as_ref())
                || name.starts_with(atomic::UNFINISHED);
            if !is_ours {
                let (path, example) = (path.to_owned(), name.into_owned());
                return Err(StoreError::Foreign { path, example });
            }
        }
        Ok(())
    }

    /// Creates the folder and its parts.
    pub(crate) fn make(&self) -> Result<(), StoreError> {
        for path in PARTS.iter().map(|part| self.0.join(part)) {
            fs::create_dir_all(&path).map_err(StoreError::io("create", &path))?;
        }
        Ok(())
    }

    /// Removes what a killed process left half-written, and case files whose JSON is missing.
    pub(crate) fn sweep(&self) -> Result<(), StoreError> {
        atomic::sweep(&self.0)?;
        for part in PARTS.iter().map(|part| self.0.join(part)) {
            atomic::sweep(&part)?;
        }
        for part in [self.suspects(), self.flaky()] {
            for entry in fs::read_dir(&part).map_err(StoreError::io("list", &part))? {
                let path = entry.map_err(StoreError::io("list", &part))?.path();
                let is_case = path.extension().is_some_and(|ending| ending == "case");
                if is_case && !path.with_extension("json").exists() {
                    atomic::remove(&path)?;
                }
            }
        }
        Ok(())
    }
}
