//! Which of several cases crashed a server?
//!
//! Idea: when one of our own servers crashes, a case was running on every worker. Each of them is run again, alone, on
//! the restarted server, before anything else uses it. The first that makes it crash again is the cause, and is
//! repeated to see how often it does. If none does, no case is blamed.
//!
//! Blind spot: a crash that needs two cases at once, or the effects of many earlier cases.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anchorite_drivers::Target;

use crate::ending::telling_line;
use crate::server_control::{DYING, ServerControl, Wait};

/// A case that crashed the server again is run this many times in total.
pub(crate) const RUNS: u32 = 3;
/// No further case is tried after this time: the hunt stands still meanwhile.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Cases that were running on a server when it ended.
pub trait Candidates {
    /// How many.
    fn count(&self) -> usize;

    /// Runs one of them, alone; whether the target was lost meanwhile.
    fn run(&mut self, n: usize, target: &dyn Target) -> bool;

    /// Called with the case that did it, before anything else continues.
    fn convict(&mut self, n: usize);
}

/// The result of running them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retrial {
    /// They were not run: the server is not ours, or was stopped from outside.
    NotTried,
    /// None of those that were run did it again.
    NoneAgain {
        /// The number of cases, run once each.
        tried: usize,
    },
    /// This one did.
    Again {
        /// Which.
        n: usize,
        /// The number of times it crashed the server.
        shown: u32,
        /// The number of runs.
        runs: u32,
    },
}

impl Retrial {
    /// Runs them one by one on a server that nothing else uses; afterwards `target` is the one to continue with.
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
    let words = &target.info().product.descriptor().ending;
    let says_so = |server_control: &dyn ServerControl| {
        server_control.log_tail().is_some_and(|log| telling_line(&log, words).is_some())
            || server_control.open().is_err()
    };
    if server_control.ended_within(DYING).is_none() && !says_so(server_control) {
        return false;
    }
    // A server that cannot be started is noticed by the next user.
    if let Ok(fresh) = server_control.restart() {
        *target = fresh;
    }
    true
}
