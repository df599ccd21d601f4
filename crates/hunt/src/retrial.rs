//! Which of several cases was it that crashed a server?
//!
//! Idea: when a server of our own crashes, a case was running on every worker. Each of them is run again, alone, on the
//! server that was started in place of the old one, before anybody else uses it. The first that makes it crash again is
//! the one, and is repeated to see how often it does. Where none does, nobody is accused.
//!
//! Blind spot: a crash that needs two cases at once, or what many cases before have left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anchorite_drivers::Target;

use crate::ending::telling_line;
use crate::server_control::{DYING, ServerControl, Wait};

/// A case that crashed the server again is run this often in all.
const RUNS: u32 = 3;
/// No further case is tried after this time: the hunt stands still meanwhile.
const LIMIT: Duration = Duration::from_secs(60);

/// Cases that were running on a server when it ended.
pub trait Candidates {
    /// How many.
    fn count(&self) -> usize;

    /// Runs one of them, alone; whether the target was lost meanwhile.
    fn run(&mut self, n: usize, target: &dyn Target) -> bool;

    /// This one it was; told before anybody else goes on.
    fn convict(&mut self, n: usize);
}

/// What came of running them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retrial {
    /// They were not run: the server is not ours, or was stopped from outside.
    NotTried,
    /// None of those that were run did it again.
    NoneAgain {
        /// So many were run, once each.
        tried: usize,
    },
    /// This one did.
    Again {
        /// Which.
        n: usize,
        /// So many times it crashed the server.
        shown: u32,
        /// So many times it was run.
        runs: u32,
    },
}

impl Retrial {
    /// Runs them one by one on a server that nobody else uses; `target` is in the end the one to go on with.
    pub(crate) fn of(
        candidates: &mut dyn Candidates,
        server_control: &mut dyn ServerControl,
        target: &mut Arc<dyn Target>,
        wait: Wait<'_>,
    ) -> Self {
        let begun = Instant::now();
        let mut tried = 0;
        for n in 0..candidates.count() {
            if wait.is_interrupted() || begun.elapsed() > LIMIT {
                break;
            }
            tried += 1;
            let mut shown = u32::from(crashes(candidates, n, server_control, target));
            if shown == 0 {
                continue;
            }
            let mut runs = 1;
            while runs < RUNS && !wait.is_interrupted() {
                runs += 1;
                shown += u32::from(crashes(candidates, n, server_control, target));
            }
            candidates.convict(n);
            return Self::Again { n, shown, runs };
        }
        Self::NoneAgain { tried }
    }
}

/// Whether a case makes the server crash. Afterwards there is a fresh server again, as far as one can be started.
fn crashes(
    candidates: &mut dyn Candidates,
    n: usize,
    server_control: &mut dyn ServerControl,
    target: &mut Arc<dyn Target>,
) -> bool {
    if !candidates.run(n, target.as_ref()) {
        return false;
    }
    let says_so = |server_control: &dyn ServerControl| {
        server_control.log_tail().is_some_and(|log| telling_line(&log).is_some())
            || server_control.open().is_err()
    };
    if server_control.ended_within(DYING).is_none() && !says_so(server_control) {
        return false;
    }
    // A server that cannot be started is found out about by whoever uses it next.
    if let Ok(fresh) = server_control.restart() {
        *target = fresh;
    }
    true
}
