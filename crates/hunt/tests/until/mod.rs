//! Waiting in tests for what other processes do: a file that changes, a process that ends.
//!
//! The kernel tells: inotify for files, a descriptor of the process for its end. So a test goes on at once, and no
//! clock decides; the limit is for what never happens.

#![allow(dead_code, reason = "not every test waits for all of it")]

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A descriptor that becomes readable when the process ends; `None` if there is none of this number any more.
fn process(number: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw).expect("a process number");
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

fn is_readable_within(fds: &[BorrowedFd<'_>], limit: Duration) -> bool {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let limit = Timespec {
        tv_sec: i64::try_from(limit.as_secs()).expect("a limit"),
        tv_nsec: limit.subsec_nanos().into(),
    };
    poll(&mut polled, Some(&limit)).is_ok_and(|ready| ready > 0)
}

/// Whether a process has ended, or ends within this time.
pub fn has_ended(number: u32, limit: Duration) -> bool {
    process(number).is_none_or(|process| is_readable_within(&[process.as_fd()], limit))
}

/// Waits until something in a folder (or in a folder below it) makes the condition true; `false` if the process that
/// writes there ended before.
pub fn is_written(
    what: &str,
    folder: &Path,
    writer: u32,
    limit: Duration,
    mut condition: impl FnMut() -> bool,
) -> bool {
    let begun = Instant::now();
    let changes = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("inotify");
    loop {
        // Before the condition is looked at, so that no change is missed.
        watch(&changes, folder);
        let process = process(writer);
        let has_ended = process
            .as_ref()
            .is_none_or(|process| is_readable_within(&[process.as_fd()], Duration::ZERO));
        if condition() {
            return true;
        }
        let Some(process) = process.filter(|_| !has_ended) else { return false };
        assert!(begun.elapsed() < limit, "waited too long until {what}");
        is_readable_within(&[changes.as_fd(), process.as_fd()], limit - begun.elapsed());
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&changes, &mut buffer);
        while reader.next().is_ok() {}
    }
}

/// Watches a folder and all folders below it; what is watched already stays so.
fn watch(changes: &OwnedFd, folder: &Path) {
    let flags = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO;
    // A folder that has just vanished need not be watched.
    let _ = inotify::add_watch(changes, folder, flags);
    let inner = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let inner = inner.map(|entry| entry.path()).filter(|path| path.is_dir());
    inner.for_each(|path| watch(changes, &path));
}
