//! Copying and handing over whole folders.

use std::fs;
use std::io;
use std::os::unix::fs::{chown, lchown, symlink};
use std::path::Path;

use crate::user::OtherUser;

/// Copies a folder with its permissions and links; the copy belongs to `owner`, if one is given.
pub(crate) fn tree(from: &Path, to: &Path, owner: Option<OtherUser>) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            tree(&source, &target, owner)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
            give(&target, owner)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
            give(&target, owner)?;
        }
    }
    // Last, because the permissions of a read-only folder would forbid what comes before.
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    give(to, owner)
}

/// Makes the user the owner of one file or folder.
pub(crate) fn give(path: &Path, owner: Option<OtherUser>) -> io::Result<()> {
    match owner {
        Some(user) if path.is_symlink() => lchown(path, Some(user.uid), Some(user.gid)),
        Some(user) => chown(path, Some(user.uid), Some(user.gid)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn permissions_and_links_survive() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::write(from.join("inner/file"), "text").unwrap();
        fs::set_permissions(from.join("inner/file"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(from.join("inner"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink("inner/file", from.join("link")).unwrap();
        let to = folder.path().join("to");
        tree(&from, &to, None).unwrap();
        let mode = |path: &str| fs::metadata(to.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("inner/file"), 0o640);
        assert_eq!(mode("inner"), 0o700);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("inner/file"));
    }
}
