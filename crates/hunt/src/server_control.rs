//! The server behind a target: how its end is noticed, how it is brought back, and how long to wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anchorite_drivers::Target;

use crate::ending::End;

/// A killed process gets this long to disappear: its sockets close a moment before.
pub(crate) const DYING: Duration = Duration::from_millis(500);
/// A server that refuses connections is waited for this long, and not longer than the hunt lasts.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// But at least this long: a hunt whose time is just over must not call a server lost while it is being restarted.
const PATIENCE_MIN: Duration = Duration::from_secs(10);

/// The server behind a target, and how to get it back.
pub trait ServerControl: Send {
    /// Whether we started the server, so that we may restart it.
    fn is_ours(&self) -> bool;

    /// Waits until the server has ended, and says how; `None` if the limit came first or if we cannot know.
    fn ended_within(&self, limit: Duration) -> Option<End>;

    /// The last lines of the server's log, if we can read it.
    fn log_tail(&self) -> Option<String>;

    /// Connects again.
    fn open(&self) -> Result<Arc<dyn Target>, String>;

    /// Starts the server again, with fresh data.
    fn restart(&mut self) -> Result<Arc<dyn Target>, String>;
}

/// How long a lost target may be waited for.
#[derive(Debug, Clone, Copy)]
pub struct Wait<'a> {
    /// Ends every wait.
    pub interrupt: &'a AtomicBool,
    /// When the hunt's time is over, if it has an end.
    pub until: Option<Instant>,
}

impl Wait<'_> {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::SeqCst)
    }

    /// The longest wait from now on.
    pub(crate) fn patience(&self) -> Duration {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        left.map_or(PATIENCE, |left| left.clamp(PATIENCE_MIN, PATIENCE))
    }
}
