//! The user that a server runs as.
//!
//! PostgreSQL refuses to run as root, so root runs it as another user: `postgres` if there is one, else
//! `nobody`. Everybody else, and every other server, runs as the user who asked.
//! Blind spot: users are looked up in `/etc/passwd` only.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

/// A user other than ourselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OtherUser {
    /// User number.
    pub uid: u32,
    /// Group number.
    pub gid: u32,
}

/// The user for servers that refuse root; `None` where we are not root.
pub(crate) fn instead_of_root() -> Option<OtherUser> {
    if !geteuid().is_root() {
        return None;
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = ["postgres", "nobody"].iter().find_map(|name| find(&passwd, name));
    Some(found.unwrap_or(OtherUser { uid: 65534, gid: 65534 }))
}

fn find(passwd: &str, name: &str) -> Option<OtherUser> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        (uid != 0).then_some(OtherUser { uid, gid })
    })
}

impl OtherUser {
    /// Whether this user can get to `path`: each folder above it can be searched.
    pub(crate) fn reaches(self, path: &Path) -> bool {
        path.ancestors().filter(|part| part.exists()).all(|part| {
            fs::metadata(part).is_ok_and(|data| {
                let shift = if data.uid() == self.uid {
                    6
                } else if data.gid() == self.gid {
                    3
                } else {
                    0
                };
                data.mode() >> shift & 1 == 1
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn users_are_found_by_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104:,,,:/var/lib:/bin/bash\n";
        assert_eq!(find(passwd, "postgres"), Some(OtherUser { uid: 101, gid: 104 }));
        assert_eq!(find(passwd, "root"), None);
        assert_eq!(find(passwd, "nobody"), None);
    }

    #[test]
    fn a_private_folder_is_out_of_reach() {
        let stranger = OtherUser { uid: 4_000_000, gid: 4_000_000 };
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!stranger.reaches(&inner));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
        assert!(stranger.reaches(&inner));
    }
}
