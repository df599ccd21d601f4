//! A worker: runs the cases of a block one after another, counts, and keeps what is suspect.
//!
//! A case that a lost connection spoilt is run again; one that was running when its server crashed is
//! not, so that a case that always crashes the server cannot hold up the campaign.

use std::time::{Duration, Instant};

use anchorite_drivers::TargetError;
use anchorite_model::{Case, ErrorClass};
use anchorite_report::{RunResult, markdown};
use anchorite_stage::{RunOptions, StageError};
use anchorite_store::{Progress, Spot, Suspect};

use super::arenas::Arenas;
use super::loss::{Evidence, Next};
use super::worker_state::WorkerState;
use super::{Campaign, Place, Stop};
use crate::alert::lost_in;
use crate::naming::looks_like;
use crate::plan::Unit;
use crate::supervisor::lock;
use crate::tally::Tally;
use crate::{Examined, Examiner};

/// Progress is journalled at least this often.
const JOURNAL_EVERY: Duration = Duration::from_secs(1);
/// So many cases whose tables are refused, and none that ran: the target cannot be hunted on.
const REJECTED_MAX: u64 = 200;

/// What one attempt at a case came to.
pub(super) enum Attempt {
    /// It counts.
    Ran(Box<Examined>),
    /// The target refuses its tables.
    Rejected(String),
    /// Somebody wants us to stop.
    Interrupted,
    /// The target, or a connection to it, is gone.
    Lost(Evidence),
    /// The target cannot be used like this.
    Unusable(StageError),
}

/// What a worker has done since it last wrote a line of the journal.
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
        // Also what was done before a failure is done.
        let journalled = self.journal(&mut batch);
        outcome.and(journalled)
    }

    /// Runs cases until the end of the block, or until the target has to be taken anew.
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
        let interrupt = std::sync::Arc::clone(&worker_state.interrupt);
        let options = RunOptions { interrupt, terse: true, ..self.options.run.clone() };
        let mut arenas: Option<Arenas<'_>> = None;
        let examiner = Examiner {
            claims: hunt_target.claims,
            oracles: &self.options.oracles,
            strict: self.strict,
        };
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
                    self.keep_suspects(spot, place, &case, &tried)?;
                }
                Attempt::Rejected(reason) => self.reject(batch, reason)?,
                Attempt::Interrupted if self.is_over() => return Ok(()),
                Attempt::Interrupted => {
                    batch.tally.hung += 1;
                    batch.next += 1;
                    worker_state.carry_on();
                    return Ok(());
                }
                Attempt::Lost(evidence) => {
                    *failures += 1;
                    // A server that was asked to end may be waiting for its clients to go.
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

    /// Writes down what was done, and begins to count anew.
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

    /// Keeps a suspect for each oracle that says violation.
    fn keep_suspects(
        &self,
        spot: Spot,
        place: Place,
        case: &Case,
        tried: &Examined,
    ) -> Result<(), Stop> {
        for signature in &tried.signatures {
            let mut store = lock(&self.store);
            if store.knows(spot, &signature.oracle) {
                continue;
            }
            let looks_like = looks_like(&tried.run, signature, &self.options.known);
            if !self.queue.has_room(spot.place, signature, looks_like.as_deref()) {
                self.uninvestigated.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                continue;
            }
            let at = (spot, tried.run.target.to_string(), place.level);
            let (signature, case) = (signature.clone(), case.clone());
            let suspect = Suspect::new(at, self.seed, signature, case, seen(tried));
            store.suspect(&suspect).map_err(Stop::Store)?;
            self.queue.put(suspect, looks_like);
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

/// What an attempt means for the campaign.
pub(super) fn sort(attempt: Result<Examined, StageError>) -> Attempt {
    match attempt {
        Ok(tried) => {
            let mut signs = lost_in(&tried.run);
            if signs.is_empty() {
                return Attempt::Ran(Box::new(tried));
            }
            let evidence = Evidence::of_words(signs.remove(0));
            Attempt::Lost(Evidence { signs, run: Some(Box::new(tried.run)), ..evidence })
        }
        Err(StageError::Interrupted) => Attempt::Interrupted,
        Err(StageError::Setup { error, .. }) if error.class == ErrorClass::ConnectionLost => {
            Attempt::Lost(Evidence::of_words(error.message))
        }
        Err(error @ StageError::Setup { .. }) => Attempt::Rejected(error.to_string()),
        Err(StageError::Target(
            error @ (TargetError::Connect { .. } | TargetError::Prepare { .. }),
        )) => Attempt::Lost(Evidence::of_words(error.to_string())),
        Err(error) => Attempt::Unusable(error),
    }
}
