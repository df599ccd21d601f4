//! The investigator: examines one suspect at a time while the workers continue.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anchorite_drivers::{Target, TargetError};
use anchorite_model::{Case, Origin, Pair};
use anchorite_report::finding::pages;
use anchorite_stage::{FreshTables, RunOptions, StageError};
use anchorite_store::{Filed, Spot, Store, Suspect};

use super::arenas::Arenas;
use super::attempt::LossSigns;
use super::queue::Taken;
use super::worker_state::{Noted, WorkerState};
use super::{Campaign, Stop, VERSION};
use crate::Examiner;
use crate::alert::Alert;
use crate::finding::{Investigation, Recorded, investigate};
use crate::sequence::{BEFORE_MAX, Retrace, WithKeptTables, Work};
use crate::supervisor::lock;

/// How long one wait for a suspect lasts.
const WAIT: Duration = Duration::from_millis(200);
/// A suspect whose investigation loses the server this often is kept for later.
const LOSSES_MAX: u32 = 2;

/// What came of looking at a suspect.
enum Looked {
    /// It was investigated.
    Settled(Box<Investigation>),
    /// It is a hit of the finding with this fingerprint.
    Hit(String),
}

impl From<Investigation> for Looked {
    fn from(investigation: Investigation) -> Self {
        match investigation {
            Investigation::Again(fingerprint) => Self::Hit(fingerprint),
            other => Self::Settled(Box::new(other)),
        }
    }
}

impl Looked {
    /// The reduced case of a sequence that needs no case before it: it shows on fresh tables, too, if it is small.
    fn alone(&self) -> Option<Case> {
        let Self::Settled(investigation) = self else { return None };
        match investigation.as_ref() {
            Investigation::Confirmed { finding, .. } if finding.before.is_empty() => {
                Some(finding.run.case.clone())
            }
            _ => None,
        }
    }
}

impl Campaign<'_> {
    /// Works until the queue is closed and empty, or the time is up; what is left stays on disk.
    pub(super) fn investigate_all(&self, worker_state: &WorkerState) {
        while !worker_state.interrupt.load(Ordering::SeqCst) {
            let (kind, suspect) = match self.queue.take(WAIT) {
                Taken::Suspect(kind, suspect) => (kind, suspect),
                Taken::Nothing => continue,
                Taken::Closed => return,
            };
            let looked = self.look_closer(worker_state, &suspect);
            let counted = looked.and_then(|is_new| match is_new {
                Some(is_new) => self.only_count(&self.queue.settled(&kind, is_new)),
                None => Ok(()),
            });
            if let Err(stop) = counted {
                self.stop(stop);
                return;
            }
            worker_state.rest();
        }
    }

    /// Settles suspects that need not be examined.
    fn only_count(&self, suspects: &[Suspect]) -> Result<(), Stop> {
        let mut store = lock(&self.store);
        for suspect in suspects {
            store.counted(suspect).map_err(Stop::Store)?;
            self.uninvestigated.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Whether it gave a new fingerprint; `None` if it could not be examined.
    fn look_closer(
        &self,
        worker_state: &WorkerState,
        suspect: &Suspect,
    ) -> Result<Option<bool>, Stop> {
        // A folder of another plan cannot be resumed, so the place is always one of ours.
        let place = self.places[suspect.spot.place];
        for losses in 1..=LOSSES_MAX {
            let (target, generation) = self.hunt_targets[place.hunt_target].supervisor.current();
            worker_state.begin(place.hunt_target, suspect.spot, place.level, &suspect.case);
            match self.look_once(worker_state, suspect, target.as_ref(), generation) {
                Ok(Looked::Settled(investigation)) => {
                    return self.settle(suspect, *investigation).map(Some);
                }
                Ok(Looked::Hit(fingerprint)) => {
                    let filed = lock(&self.store).hit(suspect, &fingerprint);
                    return filed.map(|()| Some(false)).map_err(Stop::Store);
                }
                Err(StageError::Interrupted) => return Ok(None),
                Err(StageError::Target(
                    error @ (TargetError::Connect { .. } | TargetError::Prepare { .. }),
                )) => {
                    let evidence = LossSigns::of_words(error.to_string());
                    self.after_loss(worker_state, place, generation, evidence, losses)?;
                }
                Err(error) => {
                    let number = suspect.spot.number;
                    self.audience.say(&format!("case {number} could not be looked at: {error}"));
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    /// Investigates a suspect on fresh tables and, if it does not show there, on used ones.
    fn look_once(
        &self,
        worker_state: &WorkerState,
        suspect: &Suspect,
        target: &dyn Target,
        generation: u64,
    ) -> Result<Looked, StageError> {
        let place = self.places[suspect.spot.place];
        let hunt_target = &self.hunt_targets[place.hunt_target];
        let interrupt = Arc::clone(&worker_state.interrupt);
        let options = RunOptions { interrupt, ..self.options.run.clone() };
        let mut fresh = FreshTables { target, options: options.clone() };
        let second = hunt_target.second();
        let mut there = second.map(|target| FreshTables { target, options: options.clone() });
        let mut fresh = Pair::new(&mut fresh, there.as_mut());
        let examiner = self.examiner(hunt_target);
        let suspected = crate::Suspicion {
            case: &suspect.case,
            level: place.level,
            signature: Some(suspect.signature.clone()),
            origin: Origin::Generated { seed: suspect.seed, number: suspect.spot.number },
            on: &hunt_target.on,
            against: hunt_target.against.as_ref().map(|second| second.on.as_str()),
        };
        let name = hunt_target.on.as_str();
        let in_doubt = &|| hunt_target.supervisor.is_in_doubt(generation);
        let mut fresh = Alert { runner: &mut fresh, target: name, in_doubt };
        let mut fresh = Noted { runner: &mut fresh, worker_state };
        let kept = &mut |work: Work<'_>| {
            let mut kept = Arenas::new(target, second, &options)?;
            let mut kept = kept.pair();
            let mut kept = Alert { runner: &mut kept, target: name, in_doubt };
            work(&mut Noted { runner: &mut kept, worker_state })
        };
        let effort = &self.options.effort;
        let found = lock(&self.store).fingerprints();
        let recorded = Recorded { known: &self.options.known, found: &found };
        let mut fast = Arenas::new(target, second, &options)?;
        let mut fast = fast.pair();
        let mut fast = Alert { runner: &mut fast, target: name, in_doubt };
        let mut fast = Noted { runner: &mut fast, worker_state };
        let investigation =
            investigate(&examiner, &mut fast, &mut fresh, &suspected, effort, recorded)?;
        if !matches!(investigation, Investigation::NotShownAgain { .. }) {
            return Ok(Looked::from(investigation));
        }
        let retraced = self.retrace(&examiner, suspect, &suspected, &found, kept)?;
        let Some(case) = retraced.as_ref().and_then(Looked::alone) else {
            return Ok(retraced.unwrap_or_else(|| Looked::from(investigation)));
        };
        let alone = crate::Suspicion { case: &case, ..suspected };
        let investigation =
            investigate(&examiner, &mut fast, &mut fresh, &alone, effort, recorded)?;
        Ok(match investigation {
            Investigation::NotShownAgain { .. } => {
                retraced.unwrap_or_else(|| Looked::from(investigation))
            }
            shown => Looked::from(shown),
        })
    }

    /// What does not show on fresh tables may show after the cases that ran before it; `None` if it does not. Where a
    /// finding of this kind needs used tables, one more is not reduced again.
    fn retrace(
        &self,
        examiner: &Examiner<'_>,
        suspect: &Suspect,
        suspected: &crate::Suspicion<'_>,
        found: &[String],
        kept: WithKeptTables<'_>,
    ) -> Result<Option<Looked>, StageError> {
        let (Spot { place, number }, Some(since)) = (suspect.spot, suspect.since) else {
            return Ok(None);
        };
        let Some(retrace) = Retrace::new(examiner, suspected, &self.options.effort) else {
            return Ok(None);
        };
        let cases = &self.hunt_targets[self.places[place].hunt_target].cases;
        let first = since.max(number.saturating_sub(BEFORE_MAX));
        let before: Vec<Case> = (first..number).map(cases).collect();
        let kind = (place, suspect.signature.clone());
        let earlier = lock(&self.sequences).get(&kind).cloned();
        if let Some(fingerprint) = earlier {
            let shows = retrace.shows_after(&before, kept)?;
            return Ok(shows.then_some(Looked::Hit(fingerprint)));
        }
        let Some(finding) = retrace.finding(before, found, kept)? else { return Ok(None) };
        lock(&self.sequences).insert(kind, finding.fingerprint.clone());
        let finding = Box::new(finding);
        let confirmed = Investigation::Confirmed { finding, questions: 0, complete: true };
        Ok(Some(Looked::Settled(Box::new(confirmed))))
    }

    /// Records the result of a suspect; returns whether it is a new finding.
    fn settle(&self, suspect: &Suspect, investigation: Investigation) -> Result<bool, Stop> {
        let mut store = lock(&self.store);
        let settled = match investigation {
            Investigation::Confirmed { finding, .. } => {
                let filed = store.confirmed(suspect, &finding, &|finding| pages(finding, VERSION));
                match &filed {
                    Ok(Filed { fingerprint, is_new: true, .. }) => {
                        self.tell_found(&store, fingerprint);
                    }
                    Ok(Filed { fingerprint, new_witnesses, .. }) if !new_witnesses.is_empty() => {
                        let oracles = new_witnesses.join(" and ");
                        self.audience.say(&format!("{fingerprint} is also seen by {oracles}"));
                    }
                    _ => {}
                }
                filed.map(|filed| filed.is_new)
            }
            Investigation::Again(fingerprint) => store.hit(suspect, &fingerprint).map(|()| false),
            Investigation::Flaky(_) | Investigation::NotShownAgain { .. } => {
                store.flaky(suspect).map(|()| false)
            }
        };
        settled.map_err(Stop::Store)
    }

    pub(super) fn tell_found(&self, store: &Store, fingerprint: &str) {
        let findings = store.findings();
        if let Some(line) = findings.iter().find(|line| line.fingerprint == fingerprint) {
            self.audience.found(line);
        }
    }
}
