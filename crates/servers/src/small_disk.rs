//! A small disk of our own, which can be filled without hurting anybody.
//!
//! Idea: this process takes its mounts for itself and puts a small tmpfs where data folders are made. Whatever it
//! starts from then on finds its data there; nobody else sees it, and it is gone with the last of these processes,
//! however they end. A file that takes all the room that is left fills it.
//!
//! Source: mount_namespaces(7), user_namespaces(7), tmpfs(5). Who may not mount gets a user namespace of his own, in
//! which he may. Assumption: the caller has no other thread yet: mounts belong to threads, and those that are started
//! later share them. Blind spot: a system that permits neither; there the answer is an error that says so.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::ptr::null;

use rustix::fs::{FallocateFlags, fallocate, statfs};
use rustix::process::{getegid, geteuid};

/// Where data folders are made if it is a tmpfs with room.
const MEMORY: &str = "/dev/shm";

/// The file that takes all room.
const FILLER: &str = "anchorite-filler";

/// What the last pages are taken with.
const PAGE: [u8; 4096] = [0; 4096];

/// The small disk of this process.
#[derive(Debug, Clone)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it; an error says what the system does not permit.
    pub fn mount(bytes: u64) -> Result<Self, String> {
        let not_permitted = |what: &str, error: io::Error| {
            format!("this system does not let us have a small disk of our own: {what}: {error}")
        };
        if !Path::new(MEMORY).is_dir() {
            return Err(format!("there is no {MEMORY} in whose place a small disk could be"));
        }
        let own = geteuid().is_root().then(|| unshare(libc::CLONE_NEWNS));
        if !matches!(own, Some(Ok(()))) {
            let (user, group) = (geteuid().as_raw(), getegid().as_raw());
            unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)
                .map_err(|error| not_permitted("unshare", error))?;
            let maps = [
                ("setgroups", "deny".to_owned()),
                ("uid_map", format!("{user} {user} 1")),
                ("gid_map", format!("{group} {group} 1")),
            ];
            for (file, text) in maps {
                fs::write(format!("/proc/self/{file}"), text)
                    .map_err(|error| not_permitted(file, error))?;
            }
        }
        let private = libc::MS_REC | libc::MS_PRIVATE;
        mount("none", "/", "none", private, "").map_err(|error| not_permitted("mount", error))?;
        mount("tmpfs", MEMORY, "tmpfs", 0, &format!("size={bytes},mode=1777"))
            .map_err(|error| not_permitted("mount", error))?;
        Ok(Self(PathBuf::from(MEMORY)))
    }

    /// Takes all the room that is left, until the value is dropped.
    pub fn fill(&self) -> io::Result<Full> {
        let path = self.0.join(FILLER);
        let mut file = File::options().create(true).append(true).open(&path)?;
        let full = Full(path);
        let disk = statfs(&self.0)?;
        let room = disk.f_bavail.saturating_mul(u64::try_from(disk.f_bsize).unwrap_or(0));
        // Others may be taking some of it: what is too much is tried again by half.
        let (mut taken, mut part) = (0, room);
        while part >= PAGE.len() as u64 {
            match fallocate(&file, FallocateFlags::empty(), taken, part) {
                Ok(()) => taken += part,
                Err(_) => part /= 2,
            }
        }
        loop {
            match file.write(&PAGE) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(full),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A disk without room; there is some again when this is dropped.
#[derive(Debug)]
pub struct Full(PathBuf);

impl Drop for Full {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn unshare(what: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointers; the caller has one thread, so nothing is shared with others by mistake.
    match unsafe { libc::unshare(what) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn mount(source: &str, place: &str, kind: &str, flags: u64, data: &str) -> io::Result<()> {
    let [source, place, kind, data] = [source, place, kind, data].map(CString::new);
    let (source, place, kind, data) = (source?, place?, kind?, data?);
    let data = if data.is_empty() { null() } else { data.as_ptr().cast() };
    // SAFETY: all texts end with a zero and live until the call returns.
    match unsafe { libc::mount(source.as_ptr(), place.as_ptr(), kind.as_ptr(), flags, data) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
