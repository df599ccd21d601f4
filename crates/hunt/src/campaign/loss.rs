//! A server, or a connection to it, is gone in the middle of a case.

use std::sync::Arc;

use anchorite_drivers::{Target, TargetError};
use anchorite_model::{Finding, Run};
use anchorite_report::finding::pages;
use anchorite_stage::{FreshTables, RunOptions, StageError};
use anchorite_store::RunningCase;

use super::attempt::{Attempt, LossSigns, sort};
use super::worker_state::WorkerState;
use super::{Campaign, HuntTarget, Place, Stop, VERSION};
use crate::Examiner;
use crate::crash::Noticed;
use crate::ending::Sort;
use crate::retrial::{Candidates, Retrial};
use crate::supervisor::{Aftermath, Down, Loss, Wait, clock, lock};

/// After this many losses in a row the target counts as unusable although it answers.
const LOSSES_MAX: u32 = 5;

/// How a worker continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// With the same case: only a connection was lost.
    SameAgain,
    /// With the same case on the server that was brought back, if the hunt continues at all.
    SameOnNewServer,
    /// With the next case: this one was running when the server crashed.
    AnotherCase,
}

impl Campaign<'_> {
    /// Finds out what happened, records a crash, and says how to continue.
    pub(super) fn after_loss(
        &self,
        worker_state: &WorkerState,
        place: Place,
        generation: u64,
        evidence: LossSigns,
        failures: u32,
    ) -> Result<Next, Stop> {
        let hunt_target = &self.hunt_targets[place.hunt_target];
        let own = worker_state.running_on(place.hunt_target);
        let spot = own.as_ref().map(|running| running.spot);
        let others = self
            .worker_states
            .iter()
            .filter(|other| !std::ptr::eq(*other, worker_state))
            .filter_map(|other| other.running_on(place.hunt_target));
        let running: Vec<RunningCase> = own.into_iter().chain(others).collect();
        let LossSigns { words, signs, was_down, run } = evidence;
        let loss = Loss { generation, noticed: words.clone(), signs, was_down };
        let mut runs = vec![None; running.len()];
        if let (Some(first), Some(run)) = (runs.first_mut(), run) {
            *first = Some(*run);
        }
        let mut rerun = Rerun { campaign: self, hunt_target, worker_state, running, runs };
        let until = self.options.time.map(|time| self.begun + time);
        let wait = Wait { interrupt: &self.options.run.interrupt, until };
        let aftermath = hunt_target.supervisor.lost(&loss, wait, &mut rerun);
        let Rerun { running, runs, .. } = rerun;
        let target = hunt_target.supervisor.current().0.info().clone();
        let (on, is_ours, seed) =
            (hunt_target.on.clone(), hunt_target.supervisor.is_ours(), self.seed);
        let reduced = None;
        let noticed = Noticed { target, on, is_ours, seed, how: words, running, runs, reduced };
        match aftermath {
            Ok(Aftermath::Alive) if failures > LOSSES_MAX => {
                let endpoint = hunt_target.on.clone();
                let reason = format!("{failures} times in a row: {}", loss.noticed);
                Err(Stop::Target(StageError::Target(TargetError::Connect { endpoint, reason })))
            }
            Ok(Aftermath::Alive) => Ok(Next::SameAgain),
            Ok(Aftermath::BackAlready)
                if spot.is_some_and(|spot| lock(&self.guilty).contains(&spot)) =>
            {
                Ok(Next::AnotherCase)
            }
            Ok(Aftermath::BackAlready | Aftermath::GoneAlready | Aftermath::Interrupted) => {
                Ok(Next::SameOnNewServer)
            }
            Ok(Aftermath::WasDown(down)) => self.record(noticed, &down),
            Err(gone) => {
                self.record(noticed, &gone.down)?;
                Err(Stop::Gone(gone))
            }
        }
    }

    /// Records what the log of a server that lives on says about something wrong.
    pub(super) fn heed_log(&self, worker_state: &WorkerState, place: Place) -> Result<(), Stop> {
        let hunt_target = &self.hunt_targets[place.hunt_target];
        let lines = hunt_target.supervisor.alarming_lines();
        if lines.is_empty() {
            return Ok(());
        }
        let target = hunt_target.supervisor.current().0.info().clone();
        let running: Vec<RunningCase> =
            worker_state.running_on(place.hunt_target).into_iter().collect();
        let spot = running.first().map(|running| running.spot);
        let how = "the server lives on, and says in its log that something is wrong".to_owned();
        let (on, is_ours) = (hunt_target.on.clone(), hunt_target.supervisor.is_ours());
        let (seed, runs, reduced) = (self.seed, Vec::new(), None);
        let noticed = Noticed { target, on, is_ours, seed, how, running, runs, reduced };
        let finding = noticed.alarm(&lines);
        let mut store = lock(&self.store);
        let place = spot.map_or(0, |spot| spot.place);
        let pages = |finding: &Finding| pages(finding, VERSION);
        if store.alarm(&finding, place, &pages).map_err(Stop::Store)? {
            self.tell_found(&store, &finding.fingerprint);
        }
        Ok(())
    }

    /// Records that a server was down, and says how the thread that noticed continues.
    fn record(&self, noticed: Noticed, down: &Down) -> Result<Next, Stop> {
        // Without a better suspect, the worker that noticed does not run its case again.
        let is_doubtful = match down.retrial {
            Retrial::Again { n, .. } => n == 0,
            Retrial::NoneAgain { .. } | Retrial::NotTried => down.cause.sort == Sort::Crash,
        };
        let (crash, finding) = noticed.record(down);
        let (target, at) = (&crash.target, clock(down.at));
        self.audience
            .say(&format!("{target} went away at {at}: {}; {}", crash.reason, crash.afterwards));
        let mut store = lock(&self.store);
        let pages = |finding: &Finding| pages(finding, VERSION);
        let is_new = store.crash(&crash, finding.as_ref(), &pages).map_err(Stop::Store)?;
        if let Some(finding) = finding.filter(|_| is_new) {
            self.tell_found(&store, &finding.fingerprint);
        }
        Ok(if is_doubtful { Next::AnotherCase } else { Next::SameOnNewServer })
    }
}

/// Runs the cases that were running once more, as workers do.
struct Rerun<'a> {
    campaign: &'a Campaign<'a>,
    hunt_target: &'a HuntTarget<'a>,
    worker_state: &'a WorkerState,
    running: Vec<RunningCase>,
    runs: Vec<Option<Run>>,
}

impl Candidates for Rerun<'_> {
    fn count(&self) -> usize {
        self.running.len()
    }

    fn run(&mut self, n: usize, target: &dyn Target) -> bool {
        let RunningCase { level, case, .. } = &self.running[n];
        let interrupt = Arc::clone(&self.worker_state.interrupt);
        let options = RunOptions { interrupt, ..self.campaign.options.run.clone() };
        let mut fresh = FreshTables { target, options };
        let oracles = &self.campaign.options.oracles;
        let (claims, strict) = (self.hunt_target.claims, self.campaign.strict);
        let (run, is_lost) =
            match sort(Examiner { claims, oracles, strict }.examine(&mut fresh, case, *level)) {
                Attempt::Ran(tried) => (Some(tried.run), false),
                Attempt::Lost(evidence) => (evidence.run.map(|run| *run), true),
                Attempt::Rejected(_) | Attempt::Interrupted | Attempt::Unusable(_) => (None, false),
            };
        if run.is_some() {
            self.runs[n] = run;
        }
        is_lost
    }

    fn convict(&mut self, n: usize) {
        lock(&self.campaign.guilty).insert(self.running[n].spot);
    }
}
