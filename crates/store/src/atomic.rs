//! Files that are complete, or not there at all.
//!
//! Idea: write a temporary file in the same folder, synchronise, rename, synchronise the folder. Only one process works
//! in a findings folder ([`crate::lock`]), so the temporary name needs no random part, and what a killed process left
//! there is simply overwritten.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::StoreError;

/// What the name of a half-written file or folder begins with.
pub(crate) const UNFINISHED: &str = ".unfinished-";

/// Writes a file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let beside = beside(path);
    let attempt = || -> io::Result<()> {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        sync_folder(path)
    };
    attempt().map_err(|error| {
        // On a full disk the half-written file would only take up space.
        let _ = fs::remove_file(&beside);
        StoreError::io("write", path)(error)
    })
}

/// Writes a folder with these files; there must be no folder of that name.
pub(crate) fn write_folder(path: &Path, files: &[(String, String)]) -> Result<(), StoreError> {
    let beside = beside(path);
    let attempt = || -> io::Result<()> {
        remove_if_there(&beside)?;
        fs::create_dir(&beside)?;
        for (name, text) in files {
            let mut file = File::create(beside.join(name))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
        }
        File::open(&beside)?.sync_all()?;
        fs::rename(&beside, path)?;
        sync_folder(path)
    };
    attempt().map_err(|error| {
        let _ = remove_if_there(&beside);
        StoreError::io("write", path)(error)
    })
}

/// Removes a file; a missing file is no error.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Removes what a killed process left half-written in a folder.
pub(crate) fn sweep(folder: &Path) -> Result<(), StoreError> {
    let failed = || StoreError::io("tidy up", folder);
    for entry in fs::read_dir(folder).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            remove_if_there(&entry.path()).map_err(failed())?;
        }
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{UNFINISHED}{name}"))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"one").unwrap();
        fs::write(beside(&path), "torn").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"one").unwrap();
        fs::create_dir(beside(&path)).unwrap();
        let error = write(&path, b"two").unwrap_err().to_string();
        assert!(error.starts_with("cannot write"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"one");
    }

    #[test]
    fn a_folder_appears_with_all_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::create_dir(beside(&path)).unwrap();
        fs::write(beside(&path).join("old"), "left by a killed process").unwrap();
        write_folder(&path, &[("x".to_owned(), "1".to_owned())]).unwrap();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        fs::create_dir(beside(&path)).unwrap();
        sweep(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
