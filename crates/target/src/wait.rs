//! Waiting for answers with a limit: the one place where this crate waits.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use anchorite_model::{Answer, DbError};
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
    await_answer(session, sql, limit)
}

/// Waits for the answer of the statement that was submitted; after `limit` it is cancelled.
pub fn await_answer(session: &mut dyn Session, sql: &str, limit: Duration) -> Reply {
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

/// Executes statements of our own, in one round trip where the session can, and up to the first error.
/// The answer has the result sets of all of them.
pub fn execute_all(session: &mut dyn Session, statements: &[&str], limit: Duration) -> Reply {
    if session.takes_several() {
        // A statement may end with a comment to the end of the line.
        return execute(session, &statements.join("\n;\n"), limit);
    }
    let mut all = Answer::default();
    for sql in statements {
        let answer = execute(session, sql, limit)?;
        let results = std::mem::take(&mut all.results).into_iter().chain(answer.results).collect();
        all = Answer { results, ..answer };
    }
    Ok(all)
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
