//! Where one thread of a campaign works: what it runs at the moment, and how to reach it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anchorite_model::{Case, Level};
use anchorite_store::{RunningCase, Spot};

use crate::supervisor::lock;

/// One thread's place of work, seen from outside.
#[derive(Debug)]
pub(super) struct WorkerState {
    /// What the thread is called in messages.
    pub name: String,
    /// Makes the stage give up the case at hand.
    pub interrupt: Arc<AtomicBool>,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    hunt_target: usize,
    case: RunningCase,
    since: Instant,
    /// Whether somebody was told that it takes long.
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

    /// The case that has run for longer than the limit, told once.
    pub(super) fn stuck_for(&self, limit: Duration) -> Option<Spot> {
        let mut running = lock(&self.running);
        let running = running.as_mut().filter(|running| !running.told)?;
        (running.since.elapsed() > limit).then(|| {
            running.told = true;
            running.case.spot
        })
    }

    /// Gives up the case at hand.
    pub(super) fn interrupt(&self) {
        self.interrupt.store(true, Ordering::SeqCst);
    }

    /// Goes on after an interruption.
    pub(super) fn carry_on(&self) {
        self.interrupt.store(false, Ordering::SeqCst);
    }
}
