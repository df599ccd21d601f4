//! Waiting for answers with a limit: the one place where this crate waits.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use anchorite_model::DbError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{Reply, Session};

/// How long one wait lasts at most before the session is polled again.
const SLICE: Duration = Duration::from_millis(50);

/// Waits until one of the descriptors is readable, the time is over, or a signal arrives.
pub fn wait_readable(fds: &[BorrowedFd<'_>], limit: Duration) {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    // An interrupted wait is a short wait: the caller polls and looks at its own conditions anyway.
    let _ = poll(&mut polled, Some(&timespec(limit)));
}

/// Submits a statement and waits for its answer; after `limit` it is cancelled.
pub fn execute(session: &mut dyn Session, sql: &str, limit: Duration) -> Reply {
    session.submit(sql);
    let start = Instant::now();
    let mut cancelled = false;
    loop {
        if let Some(reply) = session.poll() {
            return reply;
        }
        let elapsed = start.elapsed();
        if elapsed >= limit && !cancelled {
            session.cancel();
            cancelled = true;
        }
        if elapsed >= limit + limit {
            let message = format!("no answer within {} ms: {sql}", elapsed.as_millis());
            return Err(DbError { code: "anchorite".to_owned(), message, ..DbError::default() });
        }
        match session.fd() {
            Some(fd) => wait_readable(&[fd], SLICE),
            None => wait_readable(&[], Duration::from_millis(1)),
        }
    }
}

/// Waits until the descriptor takes more output or the time is over.
pub fn wait_writable(fd: BorrowedFd<'_>, limit: Duration) {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    let _ = poll(&mut polled, Some(&timespec(limit)));
}

fn timespec(limit: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    }
}
