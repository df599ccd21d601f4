//! A target that may go away and come back while a campaign runs on it.
//!
//! Idea: workers hold a target together with its *generation*. Whoever loses it reports the generation;
//! the first to do so finds out what happened and brings the server back, the others wait for that and
//! go on with the next generation. A server of our own that has ended is started again; one of somebody
//! else is waited for, with a limit.
//!
//! What is a crash: the process has ended, or the server refused new connections after it had broken the
//! old ones, or it says itself that it recovers from a crash. A broken connection alone is none.
//! Blind spot: a foreign server that is back before anybody asks again, and says nothing, looks like a
//! broken connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anchorite_target::{Target, wait_readable};

/// A process that was killed gets this long to be gone: its sockets close a moment before.
const DYING: Duration = Duration::from_millis(500);
/// A server that refuses connections is waited for this long.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait before a server is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// What is behind a target, and how to get it back.
pub trait Keeper: Send {
    /// Whether the server was started by us, so that we may start it again.
    fn is_ours(&self) -> bool;

    /// Waits until the server has ended; false if the limit came first or if we cannot know.
    fn ended_within(&self, limit: Duration) -> bool;

    /// The last lines of the server's log, if we can read it.
    fn log_tail(&self) -> Option<String>;

    /// Connects again.
    fn open(&self) -> Result<Arc<dyn Target>, String>;

    /// Starts the server again, with fresh data.
    fn restart(&mut self) -> Result<Arc<dyn Target>, String>;
}

/// What was seen when a target was lost.
#[derive(Debug, Clone)]
pub struct Loss {
    /// The generation that was lost.
    pub generation: u64,
    /// In words.
    pub noticed: String,
    /// Whether this alone shows that the server was down: it refused connections, or said so.
    pub was_down: bool,
}

/// What became of a lost target.
#[derive(Debug, Clone)]
pub enum Aftermath {
    /// The server lives; only connections were lost.
    Alive,
    /// Somebody else has noticed and brought it back already.
    BackAlready,
    /// It was down and is back.
    Crashed(Crashed),
}

/// A crash, as far as it can be known from outside.
#[derive(Debug, Clone)]
pub struct Crashed {
    /// The last lines of the server's log, taken before it was started again.
    pub log: Option<String>,
    /// What became of the server, in words.
    pub afterwards: String,
}

/// A target did not come back.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{target} went away ({noticed}) and {outcome}")]
pub struct Gone {
    /// Which one.
    pub target: String,
    /// How it was noticed.
    pub noticed: String,
    /// What was tried in vain.
    pub outcome: String,
    /// The last lines of its log.
    pub log: Option<String>,
}

/// A target with somebody who looks after it.
pub struct Post {
    current: Mutex<(Arc<dyn Target>, u64)>,
    keeper: Mutex<Box<dyn Keeper>>,
}

impl Post {
    /// A target and who looks after it.
    pub fn new(target: Arc<dyn Target>, keeper: Box<dyn Keeper>) -> Self {
        Self { current: Mutex::new((target, 0)), keeper: Mutex::new(keeper) }
    }

    /// The target as it is now, and its generation.
    pub fn current(&self) -> (Arc<dyn Target>, u64) {
        lock(&self.current).clone()
    }

    /// Finds out what happened to a lost target and brings it back.
    pub fn lost(&self, loss: &Loss, interrupt: &AtomicBool) -> Result<Aftermath, Gone> {
        let mut keeper = lock(&self.keeper);
        let (old, generation) = self.current();
        if generation != loss.generation {
            return Ok(Aftermath::BackAlready);
        }
        let target = old.info().to_string();
        let gone = |outcome: String, log: Option<String>| {
            let noticed = loss.noticed.clone();
            Gone { target: target.clone(), noticed, outcome, log }
        };
        let start_again = |keeper: &mut dyn Keeper, why: &str| {
            let log = keeper.log_tail();
            let target = keeper.restart().map_err(|error| {
                gone(format!("could not be started again: {error}"), log.clone())
            })?;
            self.replace(target);
            let afterwards = format!("{why}; it was started again");
            Ok(Aftermath::Crashed(Crashed { log, afterwards }))
        };
        if keeper.is_ours() && keeper.ended_within(DYING) {
            return start_again(keeper.as_mut(), "its process had ended");
        }
        let begun = Instant::now();
        let mut refusals = 0_u32;
        loop {
            match keeper.open() {
                Ok(_) if !loss.was_down && refusals == 0 => return Ok(Aftermath::Alive),
                Ok(target) => {
                    self.replace(target);
                    let log = keeper.log_tail();
                    let seconds = begun.elapsed().as_secs_f64();
                    let afterwards = format!("it answered again after {seconds:.1} s, by itself");
                    return Ok(Aftermath::Crashed(Crashed { log, afterwards }));
                }
                Err(error) if begun.elapsed() > PATIENCE || interrupt.load(Ordering::Relaxed) => {
                    if keeper.is_ours() && !interrupt.load(Ordering::Relaxed) {
                        return start_again(keeper.as_mut(), "it took no connections");
                    }
                    let seconds = begun.elapsed().as_secs();
                    let log = keeper.log_tail();
                    return Err(gone(format!("was not back after {seconds} s: {error}"), log));
                }
                Err(_) => refusals += 1,
            }
            wait_readable(&[], PAUSE);
        }
    }

    fn replace(&self, target: Arc<dyn Target>) {
        let mut current = lock(&self.current);
        *current = (target, current.1 + 1);
    }
}

/// A panic elsewhere is told by its own thread; the data behind the lock is whole at every moment.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
