//! The state of one thread of a campaign: what it runs at the moment, and how to reach it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anchorite_model::{Case, Level};
use anchorite_store::{RunningCase, Spot};

use crate::supervisor::lock;

/// One thread's state, seen from outside.
#[derive(Debug)]
pub(super) struct WorkerState {
    /// The thread's name in messages.
    pub name: String,
    /// Makes the stage abandon the current case.
    pub interrupt: Arc<AtomicBool>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    hunt_target: usize,
    case: RunningCase,
    since: Instant,
    /// Whether it has been reported as taking long.
    told: bool,
}

impl WorkerState {
    pub(super) fn new(name: String) -> Self {
        Self { name, interrupt: Arc::default(), running: Mutex::default() }
    }

    /// A case begins.
    pub(super) fn begin(&self, hunt_target: usize, spot: Spot, level: Option<Level>, case: &Case) {
        let case = RunningCase { spot, level, case: case.clone() };
        let running = Running { hunt_target, case, since: Instant::now(), told: false };
        *lock(&self.running) = Some(running);
    }

    /// Nothing runs.
    pub(super) fn rest(&self) {
        *lock(&self.running) = None;
    }

    /// What runs on this target.
    pub(super) fn running_on(&self, hunt_target: usize) -> Option<RunningCase> {
        let running = lock(&self.running);
        running
            .as_ref()
            .filter(|running| running.hunt_target == hunt_target)
            .map(|r| r.case.clone())
    }

    /// The case that has run for longer than the limit, reported once.
    pub(super) fn stuck_for(&self, limit: Duration) -> Option<Spot> {
        let mut running = lock(&self.running);
        let running = running.as_mut().filter(|running| !running.told)?;
        (running.since.elapsed() > limit).then(|| {
            running.told = true;
            running.case.spot
        })
    }

    /// Abandons the current case.
    pub(super) fn interrupt(&self) {
        self.interrupt.store(true, Ordering::SeqCst);
    }

    /// Continues after an interruption.
    pub(super) fn carry_on(&self) {
        self.interrupt.store(false, Ordering::SeqCst);
    }
}
