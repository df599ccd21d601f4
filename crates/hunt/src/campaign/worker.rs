//! A worker: runs the cases of a block one after another, counts, and keeps what is suspect.
//!
//! A case that was spoilt by a lost connection is run again; one that was running when its server crashed is not, so
//! that a case that always crashes the server cannot stall the campaign.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anchorite_drivers::TargetError;
use anchorite_model::Case;
use anchorite_report::{RunResult, markdown};
use anchorite_stage::RunOptions;
use anchorite_store::{Progress, Spot, Suspect};

use super::arenas::Arenas;
use super::attempt::{Attempt, sort};
use super::loss::Next;
use super::worker_state::WorkerState;
use super::{Campaign, HuntTarget, Place, Stop};
use crate::plan::Unit;
use crate::supervisor::lock;
use crate::tally::Tally;
use crate::{Examined, Examiner};

/// Progress is journalled at least this often.
const JOURNAL_EVERY: Duration = Duration::from_secs(1);
/// After this many cases whose tables were refused, with none that ran, the target counts as unusable.
const REJECTED_MAX: u64 = 200;

/// What a worker has done since its last line in the journal.
struct Batch {
    place: usize,
    from: u64,
    next: u64,
    tally: Tally,
    since: Instant,
}

impl Campaign<'_> {
    /// Works until there is nothing left to do.
    pub(super) fn work(&self, worker_state: &WorkerState) {
        while !self.is_over() {
            let Some(unit) = lock(&self.plan).take() else { return };
            if let Err(stop) = self.work_on(worker_state, &unit) {
                self.stop(stop);
            }
            worker_state.rest();
        }
    }

    fn work_on(&self, worker_state: &WorkerState, unit: &Unit) -> Result<(), Stop> {
        let place = self.places[unit.place];
        let mut batch = Batch {
            place: unit.place,
            from: unit.numbers.start,
            next: unit.numbers.start,
            tally: Tally::default(),
            since: Instant::now(),
        };
        let mut outcome = Ok(());
        let mut failures = 0;
        while batch.next < unit.numbers.end && !self.is_over() && outcome.is_ok() {
            outcome = self.work_with_target(
                worker_state,
                place,
                unit.numbers.end,
                &mut batch,
                &mut failures,
            );
        }
        // What was done before a failure also counts.
        let journalled = self.journal(&mut batch);
        let heeded = self.heed_log(worker_state, place);
        outcome.and(journalled).and(heeded)
    }

    /// Runs cases until the end of the block, or until the target has to be reopened.
    fn work_with_target(
        &self,
        worker_state: &WorkerState,
        place: Place,
        end: u64,
        batch: &mut Batch,
        failures: &mut u32,
    ) -> Result<(), Stop> {
        let hunt_target = &self.hunt_targets[place.hunt_target];
        let (target, generation) = hunt_target.supervisor.current();
        let options = self.run_options(worker_state);
        let mut arenas: Option<Arenas<'_>> = None;
        let since = batch.next;
        let examiner = self.examiner(hunt_target);
        while batch.next < end && !self.is_over() {
            if hunt_target.supervisor.is_in_doubt(generation) {
                worker_state.rest();
                drop(arenas);
                hunt_target.supervisor.settled();
                return Ok(());
            }
            let spot = Spot { place: batch.place, number: batch.next };
            let case = (hunt_target.cases)(spot.number);
            worker_state.begin(place.hunt_target, spot, place.level, &case);
            let second = hunt_target.second();
            let tried = match &mut arenas {
                Some(arenas) => examiner.examine(&mut arenas.pair(), &case, place.level),
                None => Arenas::new(target.as_ref(), second, &options).and_then(|new| {
                    examiner.examine(&mut arenas.insert(new).pair(), &case, place.level)
                }),
            };
            match sort(tried) {
                Attempt::Ran(tried) => {
                    *failures = 0;
                    batch.tally.count(&tried, self.strict);
                    self.keep_suspects((spot, since), place, &case, &tried)?;
                }
                Attempt::Rejected(reason) => self.reject(batch, reason)?,
                Attempt::Interrupted if self.is_over() => return Ok(()),
                Attempt::Interrupted => return self.give_up(worker_state, batch),
                Attempt::Lost(evidence) => {
                    *failures += 1;
                    // A server that was asked to stop may be waiting for its clients to disconnect.
                    drop(arenas);
                    let next =
                        self.after_loss(worker_state, place, generation, evidence, *failures)?;
                    batch.tally.lost_connections += u64::from(next == Next::SameAgain);
                    batch.next += u64::from(next == Next::AnotherCase);
                    return Ok(());
                }
                Attempt::Unusable(error) => return Err(Stop::Target(error)),
            }
            batch.next += 1;
            if batch.since.elapsed() > JOURNAL_EVERY {
                self.journal(batch)?;
            }
        }
        Ok(())
    }

    /// A case that hangs counts as such, and the next one has its turn.
    fn give_up(&self, worker_state: &WorkerState, batch: &mut Batch) -> Result<(), Stop> {
        batch.tally.hung += 1;
        batch.next += 1;
        worker_state.carry_on();
        Ok(())
    }

    fn run_options(&self, worker_state: &WorkerState) -> RunOptions {
        let interrupt = Arc::clone(&worker_state.interrupt);
        let (terse, shares_rehearsal_sessions) = (true, true);
        RunOptions { interrupt, terse, shares_rehearsal_sessions, ..self.options.run.clone() }
    }

    pub(super) fn examiner<'e>(&'e self, hunt_target: &'e HuntTarget) -> Examiner<'e> {
        let (claims, strict) = (hunt_target.claims, self.strict);
        Examiner { claims, oracles: &self.options.oracles, strict }
    }

    /// Records what was done, and resets the counts.
    fn journal(&self, batch: &mut Batch) -> Result<(), Stop> {
        let mut counts = std::mem::take(&mut batch.tally);
        lock(&self.tally).take_in(&mut counts);
        let (from, to) = (std::mem::replace(&mut batch.from, batch.next), batch.next);
        batch.since = Instant::now();
        if from == to {
            return Ok(());
        }
        let at_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let progress =
            Progress { place: batch.place, from, to, at_ms, session: self.session, counts };
        lock(&self.store).progress(&progress).map_err(Stop::Store)
    }

    /// Keeps a suspect for each oracle that says violation, with the first case on the same tables.
    fn keep_suspects(
        &self,
        (spot, since): (Spot, u64),
        place: Place,
        case: &Case,
        tried: &Examined,
    ) -> Result<(), Stop> {
        for signature in &tried.signatures {
            let mut store = lock(&self.store);
            if store.knows(spot, &signature.oracle) {
                continue;
            }
            if !self.queue.has_room(spot.place, signature) {
                self.uninvestigated.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                continue;
            }
            let at = (spot, tried.run.target.to_string(), place.level);
            let (signature, case) = (signature.clone(), case.clone());
            let suspect = Suspect::new(at, self.seed, signature, case, seen(tried));
            let suspect = Suspect { since: Some(since), ..suspect };
            store.suspect(&suspect).map_err(Stop::Store)?;
            self.queue.put(suspect);
        }
        Ok(())
    }

    fn reject(&self, batch: &mut Batch, reason: String) -> Result<(), Stop> {
        batch.tally.rejected += 1;
        lock(&self.rejection).get_or_insert_with(|| reason.clone());
        let mut tally = lock(&self.tally);
        let rejected = tally.rejected + batch.tally.rejected;
        if rejected < REJECTED_MAX || tally.cases + batch.tally.cases > 0 {
            return Ok(());
        }
        tally.rejected = rejected;
        batch.tally.rejected = 0;
        let target = self.hunt_targets[self.places[batch.place].hunt_target].on.clone();
        let reason = format!("it refuses the tables of every case; for instance: {reason}");
        Err(Stop::Target(TargetError::Prepare { target, reason }.into()))
    }
}

/// The run as Markdown.
fn seen(tried: &Examined) -> String {
    let verdicts = tried.judgements.iter().map(|said| (said.oracle.clone(), said.verdict.clone()));
    let (verdicts, covers) = (verdicts.collect(), tried.covers.clone());
    let result = RunResult { verdicts, covers, ..tried.run.clone().into() };
    markdown(&[result], &Case::to_text)
}
