//! A target that may go away and come back while a campaign runs on it.
//!
//! Idea: workers hold a target together with its *generation*. A worker that loses it reports the generation and what
//! the server said last. The first to do so finds out what happened and brings the server back, or waits for it; all
//! others wait for that one, and continue with the next generation. So there is one wait with one limit and one
//! outcome, however many threads there are. One of our own servers that has ended is restarted; an external one is
//! waited for.
//!
//! What counts as down: the process has ended, the server refused connections, says that it recovers from a crash, or
//! has been running for a shorter time than we have known it. A broken connection alone does not. What kind of end it
//! was is judged in [`crate::ending`]. After a crash of our own server the cases that were running are run again, one
//! by one, on the fresh server, before anything else uses it.
//!
//! Blind spot: an external server that is back before it is asked again, and says neither what happened nor how long it
//! has been running, looks like a broken connection.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anchorite_drivers::{Target, Trace, wait_for_interrupt};

use crate::ending::{Cause, Clues, End, Sort, announces_shutdown, says_crash, tells_end};
use crate::log_alarm::LogAlarm;
use crate::retrial::{Candidates, Retrial};
use crate::server_control::DYING;
pub use crate::server_control::{PATIENCE, ServerControl, Wait};

/// How long to wait before a server is asked again.
const PAUSE: Duration = Duration::from_millis(100);
/// When a whole job is stopped, both the server and we get a signal; ours may be noticed this much later.
const OWN_SIGNAL: Duration = Duration::from_millis(300);
/// A server that has been running for less time than we have known it, by more than this, was restarted.
const UPTIME_SLACK: Duration = Duration::from_secs(3);
/// Servers count their uptime in whole seconds: one that has been running all the time may report this much too little.
const UPTIME_ROUNDING: Duration = Duration::from_secs(1);

/// The most different messages to clients that are kept.
const SIGNS_MAX: usize = 100;

/// What was seen when a target was lost.
#[derive(Debug, Clone)]
pub struct Loss {
    /// The generation that was lost.
    pub generation: u64,
    /// In words.
    pub noticed: String,
    /// Everything the server told its clients meanwhile.
    pub signs: Vec<String>,
    /// Whether this alone shows that the server was down: it refused connections, or said so.
    pub was_down: bool,
}

/// What became of a lost target.
#[derive(Debug, Clone)]
pub enum Aftermath {
    /// The server lives; only connections were lost.
    Alive,
    /// Another thread has already noticed and brought it back.
    BackAlready,
    /// Another thread has waited for it in vain.
    GoneAlready,
    /// We have been asked to stop, so it does not matter.
    Interrupted,
    /// It was down and is back.
    WasDown(Down),
}

/// A server that was down, as far as can be seen from outside.
#[derive(Debug, Clone)]
pub struct Down {
    /// When it was noticed.
    pub at: SystemTime,
    /// Why it ended.
    pub cause: Cause,
    /// What its clients were told, each once.
    pub signs: Vec<String>,
    /// The last lines of the server's log, taken before it was started again.
    pub log: Option<String>,
    /// What became of the server, in words.
    pub afterwards: String,
    /// Which of the cases it was, if that was tried.
    pub retrial: Retrial,
}

/// A target did not come back.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{target} went away at {} ({noticed}) and {}", clock(.down.at), .down.afterwards)]
pub struct Gone {
    /// Which one.
    pub target: String,
    /// How it was noticed.
    pub noticed: String,
    /// What is known about it.
    pub down: Box<Down>,
}

/// A target with its supervisor.
pub struct Supervisor {
    current: Mutex<Current>,
    server_control: Mutex<Box<dyn ServerControl>>,
    alarm: Mutex<LogAlarm>,
}

struct Current {
    target: Arc<dyn Target>,
    generation: u64,
    since: Instant,
    /// When this generation was first reported as lost, and all that was said about it since.
    lost: Option<SystemTime>,
    signs: Vec<String>,
    /// It refuses connections, and a thread is finding out why.
    in_doubt: bool,
    is_gone: bool,
}

impl Current {
    fn new(target: Arc<dyn Target>, generation: u64) -> Self {
        let (since, signs) = (Instant::now(), Vec::new());
        Self { target, generation, since, lost: None, signs, in_doubt: false, is_gone: false }
    }

    fn add_sign(&mut self, sign: &str) {
        if self.signs.len() < SIGNS_MAX && !self.signs.iter().any(|known| known == sign) {
            self.signs.push(sign.to_owned());
        }
    }
}

impl Supervisor {
    /// A target and its supervisor.
    pub fn new(target: Arc<dyn Target>, server_control: Box<dyn ServerControl>) -> Self {
        let words = &target.info().product.descriptor().ending;
        let alarm = LogAlarm::since(server_control.log_tail().as_deref(), words);
        Self {
            current: Mutex::new(Current::new(target, 0)),
            server_control: Mutex::new(server_control),
            alarm: Mutex::new(alarm),
        }
    }

    /// The lines of the log that say that something is wrong, and did not before; none while somebody finds out whether
    /// the server lives.
    pub(crate) fn alarming_lines(&self) -> Vec<String> {
        let Ok(server_control) = self.server_control.try_lock() else { return Vec::new() };
        let Some(log) = server_control.log_tail() else { return Vec::new() };
        let (target, _) = self.current();
        lock(&self.alarm).read(&log, &target.info().product.descriptor().ending)
    }

    /// The target as it is now, and its generation.
    pub fn current(&self) -> (Arc<dyn Target>, u64) {
        let current = lock(&self.current);
        (Arc::clone(&current.target), current.generation)
    }

    /// Whether a thread should release this generation: it is over, or accepts no connections. A PostgreSQL server that
    /// is asked to stop waits for its clients to disconnect.
    pub fn is_in_doubt(&self, generation: u64) -> bool {
        let current = lock(&self.current);
        current.in_doubt || current.generation != generation
    }

    /// Whether the server was started by us.
    pub fn is_ours(&self) -> bool {
        lock(&self.server_control).is_ours()
    }

    /// Whether it was waited for in vain.
    pub fn is_gone(&self) -> bool {
        lock(&self.current).is_gone
    }

    /// Waits until the thread that handles a lost target is done.
    pub fn settled(&self) {
        drop(lock(&self.server_control));
    }

    /// Finds out what happened to a lost target and brings it back.
    pub fn lost(
        &self,
        loss: &Loss,
        wait: Wait<'_>,
        candidates: &mut dyn Candidates,
    ) -> Result<Aftermath, Gone> {
        self.hear(loss);
        // One thread finds out; the others wait here until it knows.
        let mut server_control = lock(&self.server_control);
        let current = lock(&self.current);
        if current.is_gone {
            return Ok(Aftermath::GoneAlready);
        }
        if current.generation != loss.generation {
            return Ok(Aftermath::BackAlready);
        }
        // Read before the server can be restarted.
        let trace = current.target.trace();
        drop(current);
        let mut inquiry = Inquiry {
            supervisor: self,
            loss,
            wait,
            trace,
            server_control: server_control.as_mut(),
        };
        let outcome = inquiry.run(candidates);
        let mut current = lock(&self.current);
        current.in_doubt = false;
        current.is_gone |= outcome.is_err();
        outcome
    }

    /// Records what was said about a loss, whichever thread handles it.
    fn hear(&self, loss: &Loss) {
        let mut current = lock(&self.current);
        if current.generation == loss.generation {
            current.lost.get_or_insert_with(SystemTime::now);
            for sign in loss.signs.iter().chain([&loss.noticed]) {
                current.add_sign(sign);
            }
        }
    }

    fn replace(&self, target: Arc<dyn Target>) {
        let mut current = lock(&self.current);
        *current = Current::new(target, current.generation + 1);
    }
}

/// The handling of one lost target.
struct Inquiry<'a> {
    supervisor: &'a Supervisor,
    loss: &'a Loss,
    wait: Wait<'a>,
    trace: Option<Trace>,
    server_control: &'a mut dyn ServerControl,
}

impl Inquiry<'_> {
    fn run(&mut self, candidates: &mut dyn Candidates) -> Result<Aftermath, Gone> {
        let begun = Instant::now();
        let patience = self.wait.patience();
        let mut refusals = 0_u32;
        let mut first = DYING;
        loop {
            if self.server_control.is_ours()
                && let Some(end) = self.server_control.ended_within(std::mem::take(&mut first))
            {
                return self.start_again(Some(end), candidates);
            }
            if self.wait.is_interrupted() {
                return Ok(Aftermath::Interrupted);
            }
            match self.server_control.open() {
                Ok(target) => return self.back(target, refusals, begun, candidates),
                Err(_) if begun.elapsed() > patience && self.server_control.is_ours() => {
                    return self.start_again(None, candidates);
                }
                Err(error) if begun.elapsed() > patience => {
                    let seconds = begun.elapsed().as_secs();
                    return Err(self.gone(format!("was not back after {seconds} s: {error}")));
                }
                Err(error) => {
                    refusals += 1;
                    let mut current = lock(&self.supervisor.current);
                    current.in_doubt = true;
                    current.add_sign(&error);
                }
            }
            wait_for_interrupt(PAUSE);
        }
    }

    /// It takes connections.
    fn back(
        &mut self,
        target: Arc<dyn Target>,
        refusals: u32,
        begun: Instant,
        candidates: &mut dyn Candidates,
    ) -> Result<Aftermath, Gone> {
        let since = lock(&self.supervisor.current).since;
        let down = self.down(None, String::new());
        let words = &target.info().product.descriptor().ending;
        let is_logged = || down.log.as_deref().is_some_and(|log| tells_end(log, words));
        let is_told = says_crash(&lock(&self.supervisor.current).signs, words) || is_logged();
        let was_down = match was_restarted(target.as_ref(), since) {
            Some(was_restarted) => was_restarted || is_told,
            None => self.loss.was_down || refusals > 0 || is_told,
        };
        if !was_down {
            return Ok(Aftermath::Alive);
        }
        if self.server_control.is_ours() {
            drop(target);
            return self.start_again(None, candidates);
        }
        self.supervisor.replace(target);
        let seconds = begun.elapsed().as_secs_f64();
        let afterwards = format!("it came back by itself after {seconds:.1} s");
        Ok(Aftermath::WasDown(Down { afterwards, ..down }))
    }

    /// One of our servers. After a crash, the cases that were running have exclusive use of it first.
    fn start_again(
        &mut self,
        end: Option<End>,
        candidates: &mut dyn Candidates,
    ) -> Result<Aftermath, Gone> {
        if self.is_interrupted_within(OWN_SIGNAL) {
            return Ok(Aftermath::Interrupted);
        }
        let mut down = self.down(end, "it was started again".to_owned());
        let mut target = self.restart(&down)?;
        if down.cause.sort == Sort::Crash {
            down.retrial = Retrial::of(candidates, self.server_control, &mut target, self.wait);
        }
        self.supervisor.replace(target);
        Ok(Aftermath::WasDown(down))
    }

    fn restart(&mut self, down: &Down) -> Result<Arc<dyn Target>, Gone> {
        self.server_control.restart().map_err(|error| {
            let afterwards = format!("could not be started again: {error}");
            self.gone_with(Down { afterwards, ..down.clone() })
        })
    }

    /// Our own signal may arrive a moment after the server's.
    fn is_interrupted_within(&self, limit: Duration) -> bool {
        let begun = Instant::now();
        while !self.wait.is_interrupted() && begun.elapsed() < limit {
            wait_for_interrupt(PAUSE);
        }
        self.wait.is_interrupted()
    }

    fn down(&self, end: Option<End>, afterwards: String) -> Down {
        let current = lock(&self.supervisor.current);
        let (at, signs) = (current.lost.unwrap_or_else(SystemTime::now), current.signs.clone());
        let target = Arc::clone(&current.target);
        drop(current);
        let log = self.server_control.log_tail();
        let clues = Clues {
            end,
            log: log.as_deref(),
            signs: &signs,
            trace: self.trace,
            announces: announces_shutdown(target.info()),
            words: &target.info().product.descriptor().ending,
        };
        let cause = clues.cause();
        Down { at, cause, signs, log, afterwards, retrial: Retrial::NotTried }
    }

    fn gone(&self, afterwards: String) -> Gone {
        self.gone_with(self.down(None, afterwards))
    }

    fn gone_with(&self, down: Down) -> Gone {
        let target = lock(&self.supervisor.current).target.info().to_string();
        Gone { target, noticed: self.loss.noticed.clone(), down: Box::new(down) }
    }
}

/// Whether the server was started after we first saw it; `None` if unknown.
fn was_restarted(target: &dyn Target, since: Instant) -> Option<bool> {
    is_younger(target.uptime()?, since.elapsed())
}

fn is_younger(uptime: Duration, known_for: Duration) -> Option<bool> {
    let is_as_old = uptime + UPTIME_ROUNDING >= known_for && known_for > UPTIME_SLACK;
    let is_younger = uptime + UPTIME_SLACK < known_for;
    (is_as_old || is_younger).then_some(is_younger)
}

/// The time of day, for people who compare it with a server's log.
pub(crate) fn clock(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()) % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A panic elsewhere is reported by its own thread; the data behind the lock is consistent at every moment.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::is_younger;

    #[test]
    fn an_uptime_decides_only_where_it_is_clearly_longer_or_shorter() {
        let seconds = Duration::from_secs;
        assert_eq!(is_younger(seconds(60), seconds(9)), Some(false));
        assert_eq!(is_younger(seconds(9), Duration::from_millis(9_900)), Some(false));
        assert_eq!(is_younger(seconds(1), seconds(9)), Some(true));
        // Killed and back within the first seconds: what clients were told has to decide.
        assert_eq!(is_younger(seconds(1), Duration::from_millis(3_500)), None);
        assert_eq!(is_younger(seconds(1), seconds(2)), None);
    }
}
