//! Where temporary data goes: memory if there is a tmpfs with room, else the folder for temporary files.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statfs};

/// The kernel's number for tmpfs.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// Room that must be left for one server: the largest initial data folder, and some to work with.
const ROOM: u64 = 1 << 30;

/// The folder for the data of a new server.
pub(crate) fn parent() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if is_roomy_tmpfs(memory) { memory.to_owned() } else { std::env::temp_dir() }
}

/// Every folder in which servers may have left something.
pub(crate) fn all_parents() -> Vec<PathBuf> {
    vec![PathBuf::from("/dev/shm"), std::env::temp_dir()]
}

fn is_roomy_tmpfs(path: &Path) -> bool {
    let Ok(data) = statfs(path) else { return false };
    let is_tmpfs = u64::try_from(data.f_type).is_ok_and(|kind| kind == TMPFS_MAGIC);
    let block = u64::try_from(data.f_bsize).unwrap_or(0);
    is_tmpfs
        && data.f_bavail.saturating_mul(block) >= ROOM
        && access(path, Access::WRITE_OK).is_ok()
}
