//! Which process made something, and whether it still runs.
//!
//! Idea: what a command leaves behind when it is killed (a folder, a database on a server) has its owner in its name. A
//! later command can tell with certainty whether that owner is gone, and only then removes it. A process number alone
//! is not enough: numbers are reused, containers have their own numbers, and a server has clients on many machines. So
//! an owner is a *place* (machine, boot, PID namespace), a number, and a start time.
//!
//! Assumption: Linux (`/proc`). Blind spot: after a reboot the place is different, so what was left before it counts as
//! made elsewhere.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// A uniquely identified process: its number and when it started (clock ticks since boot).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The number.
    pub pid: u32,
    /// The start time.
    pub started: u64,
}

impl Identity {
    /// This process; `None` if `/proc` does not say.
    pub fn us() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// The identity of a running process; `None` if there is none, or only a zombie.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        if rest.trim_start().starts_with(['Z', 'X']) {
            return None;
        }
        Some(Self { pid, started: stat_field(&stat, 22)? })
    }

    /// Whether this very process still runs.
    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Whether this process has certainly ended. `/proc` may hide the processes of other users; the kernel still says
    /// whether there is one.
    pub fn is_gone(self) -> bool {
        if fs::exists(format!("/proc/{}/stat", self.pid)).unwrap_or(false) {
            return !self.is_alive();
        }
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH))
    }
}

/// Numeric field `n` (1-based, as in the manual) of `/proc/PID/stat`; the name in field 2 may contain anything.
pub fn stat_field(stat: &str, n: usize) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(n.checked_sub(3)?)?.parse().ok()
}

/// The number of our PID namespace; 0 where the kernel does not say.
pub fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |data| data.ino())
}

/// Where process numbers mean the same as here: this machine since its last boot, in this PID namespace. `None` if the
/// kernel does not say which boot this is: then nothing is known about other processes.
pub fn place() -> Option<u32> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Some(digest(&format!("{} {} {host} {}", boot.trim(), machine.trim(), pid_namespace())))
}

/// A short digest that is the same in every release (FNV-1a).
pub fn digest(text: &str) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    text.as_bytes().iter().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn stat_fields_survive_strange_names() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 9";
        assert_eq!(stat_field(stat, 4), Some(1));
        assert_eq!(stat_field(stat, 5), Some(42));
        assert_eq!(stat_field(stat, 22), Some(987_654));
    }

    #[test]
    fn we_are_alive_and_an_older_namesake_is_not() {
        let us = Identity::us().unwrap();
        assert!(us.is_alive() && !us.is_gone());
        let namesake = Identity { started: us.started + 1, ..us };
        assert!(!namesake.is_alive() && namesake.is_gone());
    }

    #[test]
    fn a_process_is_gone_when_it_has_ended() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let identity = Identity::of(child.id()).unwrap();
        assert!(!identity.is_gone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(identity.is_gone());
    }

    #[test]
    fn a_digest_never_changes() {
        assert_eq!((digest(""), digest("anchorite")), (0x811c_9dc5, digest("anchorite")));
        assert_eq!(digest("a"), 0xe40c_292c);
        assert_eq!(place(), place());
    }
}
