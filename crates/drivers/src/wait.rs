//! Waiting for answers with a limit: the one place where this crate waits.
//!
//! Every wait also ends when the command is interrupted. Code that runs cases sets the flag to heed ([`heed`]), once
//! for everything its thread does; code that cleans up heeds none. A statement that is interrupted is cancelled.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anchorite_model::{Answer, DbError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{Reply, Session};

/// How long one wait lasts at most before the session is polled again.
const SLICE: Duration = Duration::from_millis(50);

/// A session without a descriptor is polled again after this time.
const NEXT_LOOK: Duration = Duration::from_millis(1);

/// A statement that is cancelled because of an interrupt gets this long to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

thread_local! {
    /// The flag that ends the waits of this thread.
    static HEEDED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The waits of this thread end when the flag is set, until the guard is dropped. `None`: they end only by their
/// limits, for cleaning up after an interrupt.
#[must_use = "the flag is heeded until the guard is dropped"]
pub fn heed(interrupt: Option<&Arc<AtomicBool>>) -> Heeding {
    Heeding { before: HEEDED.replace(interrupt.cloned()), of_this_thread: PhantomData }
}

/// While it exists a flag is heeded; afterwards the previous one.
#[derive(Debug)]
pub struct Heeding {
    before: Option<Arc<AtomicBool>>,
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Heeding {
    fn drop(&mut self) {
        HEEDED.set(self.before.take());
    }
}

/// Whether the flag that this thread heeds is set.
pub(crate) fn is_interrupted() -> bool {
    HEEDED.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

/// The message of an interrupted wait.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// Waits until one of the descriptors is readable, the time is over, or the command is interrupted. A signal may end it
/// early: the caller polls and checks its own conditions anyway.
pub fn wait_readable(fds: &[BorrowedFd<'_>], limit: Duration) {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let mut left = limit;
    loop {
        let slice = left.min(SLICE);
        let is_over = poll(&mut polled, Some(&timespec(slice))) != Ok(0);
        left -= slice;
        if is_over || left.is_zero() || is_interrupted() {
            return;
        }
    }
}

/// Waits until the command is interrupted, or the time is over: between two attempts at something that does not say by
/// itself when it is ready.
pub fn wait_for_interrupt(limit: Duration) {
    wait_readable(&[], limit);
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
        if is_interrupted() {
            return last_words(session);
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
            None => wait_for_interrupt(NEXT_LOOK),
        }
    }
}

/// Cancels a statement that is no longer wanted, so that it does not hinder cleaning up.
fn last_words(session: &mut dyn Session) -> Reply {
    let _unheeded = heed(None);
    session.cancel();
    let begun = Instant::now();
    while begun.elapsed() < LAST_WORDS {
        if let Some(reply) = session.poll() {
            return reply;
        }
        match session.fd() {
            Some(fd) => wait_readable(&[fd], SLICE),
            None => wait_for_interrupt(NEXT_LOOK),
        }
    }
    let message = INTERRUPTED.to_owned();
    Err(DbError { code: "anchorite".to_owned(), message, ..DbError::default() })
}

/// Executes our own statements, in one round trip if the session can, and up to the first error. The answer has the
/// result sets of all of them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectionId;

    /// Answers nothing until it is cancelled.
    #[derive(Default)]
    struct Mute {
        is_cancelled: bool,
    }

    impl Session for Mute {
        fn id(&self) -> ConnectionId {
            1
        }

        fn submit(&mut self, _sql: &str) {}

        fn poll(&mut self) -> Option<Reply> {
            self.is_cancelled.then(|| Err(DbError::default()))
        }

        fn fd(&self) -> Option<BorrowedFd<'_>> {
            None
        }

        fn cancel(&mut self) {
            assert!(!is_interrupted(), "who cancels is not to be interrupted");
            self.is_cancelled = true;
        }
    }

    #[test]
    fn a_raised_flag_ends_the_waits_of_its_thread_until_it_is_not_heeded_any_more() {
        let flag = Arc::new(AtomicBool::new(true));
        let long = Duration::from_secs(3600);
        let begun = Instant::now();
        let heeding = heed(Some(&flag));
        let mut session = Mute::default();
        assert!(execute(&mut session, "SELECT 1", long).is_err() && session.is_cancelled);
        wait_readable(&[], long);
        assert!(begun.elapsed() < long);
        {
            let _unheeded = heed(None);
            assert!(!is_interrupted());
        }
        assert!(is_interrupted());
        assert!(std::thread::spawn(|| !is_interrupted()).join().expect("no panic"));
        drop(heeding);
        assert!(!is_interrupted());
    }
}
