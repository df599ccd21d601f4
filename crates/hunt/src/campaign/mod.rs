//! A campaign: workers that run blocks of cases, and investigators that examine what they suspect.
//!
//! * `worker`: runs the cases of a block, counts, and keeps suspects.
//! * `investigator`: confirms and reduces one suspect at a time while the workers continue. When they have ended, there
//!   are as many investigators.
//! * `queue`: what waits for the investigator.
//! * `unrepeatable`: what is said about suspects that do not recur.
//! * `arenas`: where they run cases. `attempt`: what one attempt at a case came to. `loss`: what happens when a server
//!   goes away.
//! * `course`: the threads and the one that supervises them. `worker_state`: how to observe and reach a thread from
//!   outside.
//!
//! Assumption: a case is generated from its number alone, so it does not matter who runs it.

mod arenas;
mod attempt;
mod course;
mod investigator;
mod known_gone;
mod loss;
mod queue;
mod unrepeatable;
mod worker;
mod worker_state;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use anchorite_claims::Claims;
use anchorite_drivers::Target;
use anchorite_judge::Oracle;
use anchorite_model::{Case, FindingLine, HuntPlace, HuntSummary, Level, Signature};
use anchorite_reduce::known::KnownIssue;
use anchorite_stage::{RunOptions, StageError};
use anchorite_store::{
    Conclusion, Past, Progress, Ranges, RunningFile, RunsFor, Spot, Store, StoreError,
};

use self::queue::Queue;
use self::worker_state::WorkerState;
use crate::plan::Plan;
use crate::question::Effort;
use crate::supervisor::{Gone, Supervisor, lock};
use crate::tally::Tally;

/// The version of Anchorite in reports.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A target that is hunted on.
pub struct HuntTarget<'a> {
    /// As the command line named it, without its password.
    pub on: String,
    /// The target and its supervisor.
    pub supervisor: Supervisor,
    /// The second target that runs are compared with, if there is one.
    pub against: Option<SecondTarget>,
    /// The levels; `None` = the target's default.
    pub levels: Vec<Option<Level>>,
    /// What it promises.
    pub claims: &'a Claims,
    /// Makes the case of a number.
    pub cases: Box<dyn Fn(u64) -> Case + Send + Sync + 'a>,
}

/// A target that runs are compared with.
pub struct SecondTarget {
    /// As the command line named it, without its password.
    pub on: String,
    /// The target.
    pub target: Arc<dyn Target>,
}

impl HuntTarget<'_> {
    fn second(&self) -> Option<&dyn Target> {
        self.against.as_ref().map(|second| second.target.as_ref())
    }
}

/// How to hunt.
#[derive(Debug, Clone)]
pub struct HuntOptions {
    /// How many workers.
    pub jobs: usize,
    /// How many consecutive cases one worker runs, because they share their tables.
    pub block: u64,
    /// How long; `None` = until all cases are done.
    pub time: Option<Duration>,
    /// Who judges.
    pub oracles: Vec<&'static dyn Oracle>,
    /// How much to do for one suspect.
    pub effort: Effort,
    /// Issues that are already on record.
    pub known: Vec<KnownIssue>,
    /// How cases are run; its interrupt ends the hunt.
    pub run: RunOptions,
    /// Where each case is written before it runs, if an engine lives in this process.
    pub running: Option<PathBuf>,
}

/// Receives progress reports.
pub trait Audience: Sync {
    /// The counts so far; several times a second.
    fn live(&self, so_far: &HuntSummary);

    /// Something worth a message.
    fn say(&self, text: &str);

    /// A finding that appears for the first time.
    fn found(&self, finding: &FindingLine);
}

/// Why a hunt ended.
#[derive(Debug)]
pub enum Stop {
    /// The budget is used up.
    Done,
    /// Ctrl-C.
    Interrupted,
    /// A target did not come back.
    Gone(Gone),
    /// A target cannot be used.
    Target(StageError),
    /// The findings folder cannot be written.
    Store(StoreError),
    /// One of our threads panicked; its message is on standard error.
    Panicked,
}

/// The result of a hunt.
#[derive(Debug)]
pub struct Ended {
    /// Counts and findings.
    pub summary: HuntSummary,
    /// The same counts, and some more.
    pub tally: Tally,
    /// Why it ended.
    pub stop: Stop,
    /// Suspected violations that have not been examined yet.
    pub suspects: u64,
    /// Violations that were only counted, because many of their kind were already waiting.
    pub uninvestigated: u64,
    /// What a server said when it refused a case's tables.
    pub rejection: Option<String>,
}

/// A target at a level.
#[derive(Debug, Clone, Copy)]
struct Place {
    hunt_target: usize,
    level: Option<Level>,
}

/// What all threads share.
struct Campaign<'a> {
    hunt_targets: &'a [HuntTarget<'a>],
    places: Vec<Place>,
    options: &'a HuntOptions,
    audience: &'a dyn Audience,
    seed: u64,
    strict: bool,
    session: u32,
    begun: Instant,
    /// When the last worker had nothing more to do.
    worked: OnceLock<Duration>,
    /// From earlier sessions of the campaign.
    earlier: Duration,
    plan: Mutex<Plan>,
    store: Mutex<Store>,
    tally: Mutex<Tally>,
    queue: Queue,
    worker_states: Vec<WorkerState>,
    /// Set when no new case may begin.
    is_over: AtomicBool,
    stop: Mutex<Option<Stop>>,
    uninvestigated: AtomicU64,
    rejection: Mutex<Option<String>>,
    /// Cases that crash a server, which are not run again.
    guilty: Mutex<BTreeSet<Spot>>,
    /// The findings that need used tables, by place and what was seen.
    sequences: Mutex<BTreeMap<(usize, Signature), String>>,
}

/// Hunts until the budget is used up, or something ends it.
pub fn hunt(
    hunt_targets: &[HuntTarget<'_>],
    options: &HuntOptions,
    store: Store,
    past: Past<Tally>,
    audience: &dyn Audience,
) -> Ended {
    let places: Vec<Place> = hunt_targets
        .iter()
        .enumerate()
        .flat_map(|(hunt_target, q)| {
            q.levels.iter().map(move |level| Place { hunt_target, level: *level })
        })
        .collect();
    let campaign = Campaign::new(hunt_targets, places, options, store, &past.progress, audience);
    past.suspects.into_iter().for_each(|suspect| campaign.queue.put(suspect));
    campaign.run();
    campaign.end()
}

impl<'a> Campaign<'a> {
    fn new(
        hunt_targets: &'a [HuntTarget<'a>],
        places: Vec<Place>,
        options: &'a HuntOptions,
        store: Store,
        past: &[Progress<Tally>],
        audience: &'a dyn Audience,
    ) -> Self {
        let mut done = vec![Ranges::default(); places.len()];
        let mut tally = Tally::default();
        let mut sessions: BTreeMap<u32, u64> = BTreeMap::new();
        for entry in past {
            if let Some(done) = done.get_mut(entry.place) {
                done.add(entry.from..entry.to);
            }
            tally.add(&entry.counts);
            let longest = sessions.entry(entry.session).or_default();
            *longest = (*longest).max(entry.at_ms);
        }
        let worker_state = |runs_for: RunsFor, n: usize| {
            let folder = options.running.as_deref();
            // Without the file, a crash is attributed to no case of this thread.
            let file = folder.and_then(|folder| RunningFile::create(folder, runs_for, n).ok());
            WorkerState::new(format!("{runs_for} {n}"), file)
        };
        let workers = (1..=options.jobs).map(|n| worker_state(RunsFor::Worker, n));
        let investigators = (1..=options.jobs).map(|n| worker_state(RunsFor::Investigator, n));
        Self {
            hunt_targets,
            places,
            options,
            audience,
            seed: store.campaign().seed,
            strict: store.campaign().strict,
            session: sessions.keys().next_back().map_or(0, |last| last + 1),
            begun: Instant::now(),
            worked: OnceLock::new(),
            earlier: Duration::from_millis(sessions.values().sum()),
            plan: Mutex::new(Plan::new(options.block, store.campaign().cases, done)),
            store: Mutex::new(store),
            tally: Mutex::new(tally),
            queue: Queue::default(),
            worker_states: workers.chain(investigators).collect(),
            is_over: AtomicBool::new(false),
            stop: Mutex::default(),
            uninvestigated: AtomicU64::new(0),
            rejection: Mutex::default(),
            guilty: Mutex::default(),
            sequences: Mutex::default(),
        }
    }

    /// Ends the hunt; the first reason counts.
    fn stop(&self, stop: Stop) {
        self.is_over.store(true, Ordering::SeqCst);
        lock(&self.stop).get_or_insert(stop);
    }

    fn is_stopped(&self) -> bool {
        lock(&self.stop).is_some()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
            || self.options.time.is_some_and(|time| self.begun.elapsed() >= time)
    }

    fn summary(&self) -> HuntSummary {
        let store = lock(&self.store);
        // The last suspects are investigated afterwards, in time that is not for cases.
        let worked = self.worked.get().copied().unwrap_or_else(|| self.begun.elapsed());
        let elapsed = self.earlier + worked;
        let place = |hunt_target: &HuntTarget<'_>| HuntPlace {
            target: hunt_target.supervisor.current().0.info().clone(),
            levels: hunt_target.levels.clone(),
            on: hunt_target.on.clone(),
        };
        let mut summary = HuntSummary {
            seed: self.seed,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            places: self.hunt_targets.iter().map(place).collect(),
            flaky: store.count(|conclusion| *conclusion == Conclusion::Flaky),
            waiting: store.suspects(),
            confirmed: store.count(|conclusion| matches!(conclusion, Conclusion::Confirmed(_))),
            findings: self.with_places(store.findings()),
            servers_lost: store.crashes(),
            servers_stopped: store.stops(),
            barren_kinds: self.queue.barren_kinds(),
            folder: store.folder().map(|folder| folder.display().to_string()),
            ..HuntSummary::default()
        };
        drop(store);
        lock(&self.tally).fill(&mut summary);
        summary
    }

    /// Adds in words where each finding was seen.
    fn with_places(&self, mut findings: Vec<FindingLine>) -> Vec<FindingLine> {
        for line in &mut findings {
            let places = line.places.iter().filter_map(|place| self.places.get(*place));
            let (mut targets, mut levels) = (BTreeSet::new(), BTreeSet::new());
            for Place { hunt_target, level } in places.clone() {
                targets.insert(*hunt_target);
                levels.insert(*level);
            }
            let name = |level: Option<Level>| level.map_or("default", Level::name);
            line.levels = levels.into_iter().map(|level| name(level).to_owned()).collect();
            let told = places.filter(|_| targets.len() > 1).map(|place| {
                format!("{} {}", self.hunt_targets[place.hunt_target].on, name(place.level))
            });
            line.seen_at = told.collect();
        }
        findings
    }

    fn end(self) -> Ended {
        let mut summary = self.summary();
        let stop = lock(&self.stop).take().unwrap_or(Stop::Done);
        summary.findings.extend(self.unrepeatable(&summary));
        (summary.known_gone, summary.known_gone_because) = self.known_gone(&stop);
        summary.stopped = match &stop {
            Stop::Done => None,
            Stop::Interrupted => Some("it was interrupted".to_owned()),
            Stop::Gone(gone) => Some(gone.to_string()),
            Stop::Target(error) => Some(error.to_string()),
            Stop::Store(error) => Some(error.to_string()),
            Stop::Panicked => Some("of a mistake in Anchorite".to_owned()),
        };
        let store = lock(&self.store);
        let stop = match (store.summary(&summary), stop) {
            (Err(error), Stop::Done) => Stop::Store(error),
            (_, stop) => stop,
        };
        let suspects = store.suspects();
        drop(store);
        Ended {
            summary,
            tally: lock(&self.tally).clone(),
            stop,
            suspects,
            uninvestigated: self.uninvestigated.load(Ordering::SeqCst),
            rejection: lock(&self.rejection).take(),
        }
    }
}
