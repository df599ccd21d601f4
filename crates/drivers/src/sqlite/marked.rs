//! Folders of database files that runs have left: those of this user, by their names.
//!
//! A folder's name is `anchorite-sqlite-` and a mark that names its owner. The first run of a process removes the
//! folders of owners that have ended: a run that was killed could not.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use tempfile::TempDir;

use super::folder_for_databases;
use crate::mark::{Kind, Mark, Marked, Owner};

const PREFIX: &str = "anchorite-sqlite-";
/// Earlier releases: six random characters instead of a mark.
const RANDOM_CHARS: usize = 6;

/// A new folder that is removed with the value.
pub(super) fn create() -> std::io::Result<TempDir> {
    static SWEPT: Once = Once::new();
    let parent = folder_for_databases();
    SWEPT.call_once(|| sweep(&parent));
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}", Mark::next()))
        .rand_bytes(0)
        .tempdir_in(parent)
}

/// All folders that carry our mark.
pub(super) fn list() -> Vec<Marked> {
    list_in(&folder_for_databases())
}

/// Removes one of them.
pub(super) fn remove(marked: &Marked) -> std::io::Result<()> {
    let path = PathBuf::from(&marked.name);
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sweep(parent: &Path) {
    for marked in list_in(parent).iter().filter(|marked| marked.owner == Owner::Ended) {
        // Best effort: the next run tries again.
        let _ = remove(marked);
    }
}

fn list_in(parent: &Path) -> Vec<Marked> {
    let us = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let mark = name.to_str()?.strip_prefix(PREFIX)?;
        let path = entry.path();
        // Only what is ours: a folder that another user made could name any process.
        let data = fs::symlink_metadata(&path).ok().filter(|d| d.is_dir() && d.uid() == us)?;
        let path = path.to_str()?;
        Marked::of_mark(Kind::Folder, path, mark).or_else(|| {
            let is_random = |c: char| c.is_ascii_alphanumeric();
            let is_earlier = mark.len() == RANDOM_CHARS && mark.chars().all(is_random);
            let (kind, name) = (Kind::Folder, path.to_owned());
            // A run makes and removes journals in its folder all the time.
            let age = data.modified().ok().and_then(|last| last.elapsed().ok());
            is_earlier.then_some(Marked { kind, name, owner: Owner::Unknown, age })
        })
    };
    entries.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_runs_that_have_ended_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let ours = Mark::next();
        let folders = [
            (format!("{PREFIX}{ours}"), true),
            (format!("{PREFIX}{}", ours.of_somebody_who_ended()), false),
            (format!("{PREFIX}a1B2c3"), true),
            (format!("{PREFIX}my-own"), true),
            ("other".to_owned(), true),
        ];
        for (name, _) in &folders {
            fs::create_dir_all(parent.path().join(name).join("data")).unwrap();
        }
        assert_eq!(list_in(parent.path()).len(), 3);
        sweep(parent.path());
        for (name, stays) in folders {
            assert_eq!(parent.path().join(&name).exists(), stays, "{name}");
        }
    }
}
