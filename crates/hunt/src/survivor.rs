//! What is left of a hunt whose engine crashed with it: which case was it, and how does the hunt go on?
//!
//! Idea: an embedded engine lives in our process. When it crashes, the process starts over, finds on disk which cases
//! were running, and asks for each of them to be run alone in a process of its own ([`Trials`]). The first that crashes
//! again is the cause; it is repeated to see how often it does, and reduced by the same question. The crash is recorded
//! like that of a server, the case counts as done, and the hunt is resumed. If none crashes again, no case is blamed,
//! but all of them count as done: otherwise a case that crashes only on used tables would stall the hunt.
//!
//! Assumption: a crash of the process is a crash of the engine; everything else in it is safe Rust. Blind spot: a crash
//! that needs two cases at once, or the effects of earlier ones, is attributed to no case.

use std::convert::Infallible;
use std::time::{Duration, Instant, SystemTime};

use anchorite_model::{Case, Finding, Level};
use anchorite_reduce::{Budget, reduce};
use anchorite_report::finding::pages;
use anchorite_store::{
    Campaign, CampaignTarget, Past, Progress, RunningCase, RunsFor, Spot, Store, StoreError,
};

use crate::Audience;
use crate::Tally;
use crate::crash::{Noticed, fingerprint};
use crate::ending::{Clues, End};
use crate::retrial::{LIMIT, RUNS, Retrial};
use crate::supervisor::{Down, clock};

/// How long a case that crashes the engine is reduced: the hunt stands still meanwhile.
const REDUCING: Duration = Duration::from_secs(20);
/// The most questions of a reduction, each of which is a process.
const QUESTIONS: usize = 400;

/// Runs cases where a crash does no harm.
pub trait Trials {
    /// Whether a case ends its process like the hunt's, when it is run alone.
    fn crashes(&mut self, on: &str, case: &Case, level: Option<Level>) -> bool;

    /// Whether we have been asked to stop.
    fn is_interrupted(&self) -> bool;
}

/// How the process ended.
#[derive(Debug, Clone)]
pub struct Crashed {
    /// By which signal.
    pub end: End,
    /// When.
    pub at: SystemTime,
    /// The cases that were running.
    pub running: Vec<(RunsFor, RunningCase)>,
}

/// Records a crash, so that the campaign can be resumed; `false` if no case was running.
pub fn recover(
    (mut store, past): (Store, Past<Tally>),
    crashed: Crashed,
    trials: &mut dyn Trials,
    audience: &dyn Audience,
) -> Result<bool, StoreError> {
    let campaign = store.campaign().clone();
    let Crashed { end, at, mut running } = crashed;
    let embedded = |spot: Spot| place(&campaign, spot).filter(|target| is_embedded(target));
    running.retain(|(_, case)| embedded(case.spot).is_some());
    let retrial = accused(&campaign, &mut running, trials);
    let first = running.first().and_then(|(_, case)| Some((case, embedded(case.spot)?)));
    let Some((case, target)) = first else { return Ok(false) };
    let clues = Clues {
        end: Some(end),
        log: None,
        signs: &[],
        trace: None,
        announces: false,
        words: &target.target.product.descriptor().ending,
    };
    let cause = clues.cause();
    let name = fingerprint(&target.target, &cause.words);
    let is_known = store.findings().iter().any(|line| line.fingerprint == name);
    let is_reduced = matches!(retrial, Retrial::Again { .. }) && !is_known;
    let reduced = is_reduced.then(|| smaller(&target.on, case, target, trials)).flatten();
    let noticed = Noticed {
        target: target.target.clone(),
        on: target.on.clone(),
        is_ours: true,
        seed: campaign.seed,
        how: "the process of the hunt, in which the engine lives, crashed".to_owned(),
        runs: vec![None; running.len()],
        running: running.iter().map(|(_, case)| case.clone()).collect(),
        reduced,
    };
    let afterwards = "the hunt went on in a new process".to_owned();
    let down = Down { at, cause, signs: Vec::new(), log: None, afterwards, retrial };
    let (crash, finding) = noticed.record(&down);
    let (reason, tried) = (&crash.reason, &crash.tried);
    audience.say(&format!("{} crashed at {}: {reason}; {tried}", crash.target, clock(at)));
    let pages = |finding: &Finding| pages(finding, env!("CARGO_PKG_VERSION"));
    if store.crash(&crash, finding.as_ref(), &pages)? {
        let findings = store.findings();
        findings.iter().filter(|line| line.fingerprint == name).for_each(|f| audience.found(f));
    }
    let guilty = if matches!(retrial, Retrial::Again { .. }) { 1 } else { running.len() };
    skip(&mut store, &past, &running[..guilty])?;
    Ok(true)
}

fn is_embedded(target: &CampaignTarget) -> bool {
    target.target.product.descriptor().is_embedded()
}

/// The target of a place: places are all levels of all targets, in order.
fn place(campaign: &Campaign, spot: Spot) -> Option<&CampaignTarget> {
    campaign
        .targets
        .iter()
        .flat_map(|target| target.levels.iter().map(move |_| target))
        .nth(spot.place)
}

/// Tries one case after the other; the one that crashes again comes first from then on.
fn accused(
    campaign: &Campaign,
    running: &mut [(RunsFor, RunningCase)],
    trials: &mut dyn Trials,
) -> Retrial {
    let begun = Instant::now();
    let mut tried = 0;
    for n in 0..running.len() {
        if trials.is_interrupted() || begun.elapsed() > LIMIT {
            break;
        }
        tried += 1;
        let (_, RunningCase { spot, level, case }) = &running[n];
        let Some(target) = place(campaign, *spot) else { continue };
        let mut again = || trials.crashes(&target.on, case, *level);
        if again() {
            let shown = 1 + (1..RUNS).filter(|_| again()).count();
            running.swap(0, n);
            let shown = u32::try_from(shown).unwrap_or(RUNS);
            return Retrial::Again { n: 0, shown, runs: RUNS };
        }
    }
    Retrial::NoneAgain { tried }
}

/// A smaller case that also crashes, every time.
fn smaller(
    on: &str,
    running: &RunningCase,
    target: &CampaignTarget,
    trials: &mut dyn Trials,
) -> Option<Case> {
    let RunningCase { level, case, .. } = running;
    let deadline = Instant::now() + REDUCING;
    let time_left = &mut || Instant::now() < deadline;
    let budget = Budget { questions: QUESTIONS, time_left };
    let product = target.target.product;
    let Ok(reduced) = reduce(case, product, budget, &mut |case: &Case| {
        Ok::<bool, Infallible>(!trials.is_interrupted() && trials.crashes(on, case, *level))
    });
    let shows = (0..RUNS).all(|_| trials.crashes(on, &reduced.case, *level));
    shows.then_some(reduced.case)
}

/// Cases that are not run again count as done; a suspect whose examination crashes is kept with those that cannot be
/// confirmed.
fn skip(
    store: &mut Store,
    past: &Past<Tally>,
    cases: &[(RunsFor, RunningCase)],
) -> Result<(), StoreError> {
    for (runs_for, RunningCase { spot, .. }) in cases {
        match runs_for {
            RunsFor::Worker => {
                let (place, from, to) = (spot.place, spot.number, spot.number + 1);
                let (at_ms, session, counts) = (0, 0, Tally::default());
                store.progress(&Progress { place, from, to, at_ms, session, counts })?;
            }
            RunsFor::Investigator => {
                let suspects = past.suspects.iter().filter(|suspect| suspect.spot == *spot);
                suspects.into_iter().try_for_each(|suspect| store.flaky(suspect))?;
            }
        }
    }
    Ok(())
}
