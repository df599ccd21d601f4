//! Every wait of the stage has a limit, and every limit has a name.

use std::time::Duration;

/// How long things may take. The defaults suit a local server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Pause before the server is asked who waits: most statements answer within it, and then need no
    /// question.
    pub pause: Duration,
    /// A statement that neither answers nor waits for a lock is cancelled after this time.
    pub statement: Duration,
    /// Given to the server as its own limit on a wait for a lock; long, because blocked statements are
    /// ended by the case or by the roll-back at its end, not by a clock.
    pub lock_wait: Duration,
    /// Sessions that wait for each other get this long for the server's deadlock error to arrive.
    pub deadlock: Duration,
    /// A statement that waits for a connection outside the case counts as blocked after this time.
    pub outsider: Duration,
    /// A statement that was cancelled gets this long to end.
    pub cancel: Duration,
    /// Statements of our own: set-up, final state, teardown.
    pub housekeeping: Duration,
    /// Where the server cannot be asked, silence of this length counts as blocked.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pause: Duration::from_micros(150),
            statement: Duration::from_secs(60),
            lock_wait: Duration::from_secs(3600),
            deadlock: Duration::from_secs(20),
            outsider: Duration::from_secs(5),
            cancel: Duration::from_secs(10),
            housekeeping: Duration::from_secs(60),
            silence: Duration::from_secs(2),
        }
    }
}

impl Limits {
    /// For many cases, one after another. MariaDB follows one blocker of each waiter only, and finds some
    /// deadlocks when a third session ends, not before: a hunt does not wait for that. With several workers a
    /// statement takes longer, but nobody is idle meanwhile: asking early would cost more than it gains.
    pub fn hurried() -> Self {
        let [pause, deadlock] = [Duration::from_micros(1500), Duration::from_millis(500)];
        Self { pause, deadlock, ..Self::default() }
    }
}
