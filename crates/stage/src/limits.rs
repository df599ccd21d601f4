//! The limits of all waits in the stage.

use std::time::Duration;

/// At the end of a case a session is sent this many statements at most to end what it has open; then its connection
/// is closed.
pub const ENDINGS_PER_SESSION: usize = 8;

/// How long things may take. The defaults suit a local server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Pause before the server is asked who waits: most statements answer within it, and then need no
    /// question.
    pub pause: Duration,
    /// A statement that neither answers nor waits for a lock is cancelled after this time.
    pub statement: Duration,
    /// Given to the server as its own limit on a wait for a lock; long, because blocked statements are ended by the
    /// case or by the rollback at its end, not by a clock.
    pub lock_wait: Duration,
    /// Sessions that wait for each other get this long for the server's deadlock error to arrive.
    pub deadlock: Duration,
    /// A server's deadlock timer may be this much later than the driver expects: a busy machine wakes it late.
    pub late_timer: Duration,
    /// A statement that waits for a connection outside the case counts as blocked after this time.
    pub outsider: Duration,
    /// A statement that was cancelled gets this long to end.
    pub cancel: Duration,
    /// Statements of our own: set-up, final state, teardown.
    pub housekeeping: Duration,
    /// Where the server cannot be asked, silence of this length counts as blocked.
    pub silence: Duration,
    /// Where the server does not show every wait, a statement that is neither answered nor shown as waiting counts
    /// as blocked after this time.
    pub unseen: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pause: Duration::from_micros(150),
            statement: Duration::from_secs(60),
            lock_wait: Duration::from_secs(3600),
            deadlock: Duration::from_secs(20),
            late_timer: Duration::from_millis(20),
            outsider: Duration::from_secs(5),
            cancel: Duration::from_secs(10),
            housekeeping: Duration::from_secs(60),
            silence: Duration::from_secs(2),
            unseen: Duration::from_secs(2),
        }
    }
}

impl Limits {
    /// For many cases, one after another. MariaDB follows only one blocker of each waiter, and finds some deadlocks
    /// only when a third session ends: a hunt does not wait for that. With several workers a statement takes longer,
    /// but no worker is idle meanwhile: asking early would cost more than it gains. What is found is confirmed with the
    /// usual limits, so a victim that was left to chance costs little.
    pub fn hurried() -> Self {
        let [pause, deadlock] = [Duration::from_micros(1500), Duration::from_millis(500)];
        let [unseen, late_timer] = [Duration::from_secs(1), Duration::ZERO];
        Self { pause, deadlock, late_timer, unseen, ..Self::default() }
    }

    /// However little a server answers or shows, the consequences of one submission end within this time: running
    /// statements and lasting deadlocks are cancelled, and connections that ignore this are abandoned, one after the
    /// other.
    pub fn longest_settling(&self, sessions: usize) -> Duration {
        let sessions = u32::try_from(sessions).unwrap_or(u32::MAX);
        let waits = [self.deadlock, self.outsider, self.silence, self.unseen];
        let longest = waits.into_iter().fold(self.statement, Duration::max);
        longest + self.cancel.saturating_mul(sessions)
    }

    /// From the first statement of a case to the end of its last transaction: each step, and each statement that ends a
    /// session, settles at most once. A server that hangs when it is asked who waits is asked once.
    pub fn longest_schedule(&self, steps: usize, sessions: usize) -> Duration {
        let submissions = steps + sessions * ENDINGS_PER_SESSION;
        let submissions = u32::try_from(submissions).unwrap_or(u32::MAX);
        self.longest_settling(sessions).saturating_mul(submissions) + 2 * self.housekeeping
    }
}
