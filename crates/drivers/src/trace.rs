//! What a server on this machine leaves of its Unix socket when it ends.
//!
//! Idea: a server that is shut down removes its socket; one that is killed or crashes leaves it. So if the socket was
//! known, the two can be distinguished, even for a server that tells its clients nothing. Blind spot: a server that was
//! restarted before anyone looked has created another one.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::endpoint::Endpoint;

/// What is left of the Unix socket of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// It is gone: an orderly shutdown removes it.
    Removed,
    /// Unchanged: its server is still there, or ended without cleaning up.
    Left,
}

/// A server's Unix socket as it was when we connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device, number, and when it was last changed: numbers are reused.
    identity: (u64, u64, i64, i64),
}

impl SocketFile {
    pub(crate) fn of(endpoint: &Endpoint) -> Option<Self> {
        let path = endpoint.socket.clone()?;
        Some(Self { identity: identity(&path).ok()?, path })
    }

    /// What is left of it; `None` if another one has replaced it.
    pub(crate) fn trace(&self) -> Option<Trace> {
        match identity(&self.path) {
            Ok(now) => (now == self.identity).then_some(Trace::Left),
            Err(error) => (error.kind() == io::ErrorKind::NotFound).then_some(Trace::Removed),
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64, i64, i64)> {
    let data = fs::symlink_metadata(path)?;
    Ok((data.dev(), data.ino(), data.ctime(), data.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn an_orderly_end_is_told_from_a_sudden_one_by_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let endpoint = Endpoint::parse("mysql://root@127.0.0.1").unwrap();
        assert_eq!(SocketFile::of(&endpoint), None);
        let endpoint = Endpoint { socket: Some(path.clone()), ..endpoint };
        let listener = UnixListener::bind(&path).unwrap();
        let file = SocketFile::of(&endpoint).unwrap();
        drop(listener);
        assert_eq!(file.trace(), Some(Trace::Left));
        fs::remove_file(&path).unwrap();
        assert_eq!(file.trace(), Some(Trace::Removed));
        let _another = UnixListener::bind(&path).unwrap();
        assert_eq!(file.trace(), None);
    }
}
