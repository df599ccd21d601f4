//! The state of one thread of a campaign: what it runs at the moment, and how to reach it. If an engine lives in this
//! process, what runs is also on disk, because a crash of the engine would take this state with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anchorite_model::{Case, Level, Run, RunError, Runner};
use anchorite_store::{RunningCase, RunningFile, Spot};

use crate::supervisor::lock;

/// One thread's state, seen from outside.
#[derive(Debug)]
pub(super) struct WorkerState {
    /// The thread's name in messages.
    pub name: String,
    /// Makes the stage abandon the current case.
    pub interrupt: Arc<AtomicBool>,
    running: Mutex<Option<Running>>,
    file: Option<RunningFile>,
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
    pub(super) fn new(name: String, file: Option<RunningFile>) -> Self {
        Self { name, interrupt: Arc::default(), running: Mutex::default(), file }
    }

    /// A case begins.
    pub(super) fn begin(&self, hunt_target: usize, spot: Spot, level: Option<Level>, case: &Case) {
        let case = RunningCase { spot, level, case: case.clone() };
        self.file.iter().for_each(|file| file.begin(&case));
        let running = Running { hunt_target, case, since: Instant::now(), told: false };
        *lock(&self.running) = Some(running);
    }

    /// A variant of the case begins, on behalf of it.
    fn vary(&self, level: Option<Level>, case: &Case) {
        if let (Some(file), Some(running)) = (&self.file, lock(&self.running).as_ref()) {
            file.begin(&RunningCase { spot: running.case.spot, level, case: case.clone() });
        }
    }

    /// Nothing runs.
    pub(super) fn rest(&self) {
        self.file.iter().for_each(RunningFile::rest);
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

/// Passes cases on, each of which is a variant of the one that its thread has begun.
pub(super) struct Noted<'a> {
    /// Who runs them.
    pub runner: &'a mut dyn Runner,
    /// For whom.
    pub worker_state: &'a WorkerState,
}

impl Runner for Noted<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.worker_state.vary(level, case);
        self.runner.run(case, level)
    }

    // What is rehearsed belongs to the run before.
    fn rehearse(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        self.runner.rehearse(case, level)
    }

    fn rehearse_all(&mut self, cases: &[Case], level: Option<Level>) -> Result<Vec<Run>, RunError> {
        self.runner.rehearse_all(cases, level)
    }

    fn has_elsewhere(&self) -> bool {
        self.runner.has_elsewhere()
    }

    fn run_elsewhere(
        &mut self,
        case: &Case,
        level: Option<Level>,
    ) -> Option<Result<Run, RunError>> {
        self.worker_state.vary(level, case);
        self.runner.run_elsewhere(case, level)
    }
}
