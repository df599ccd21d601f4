//! A server, or a connection to it, is gone in the middle of a case.

use anchorite_model::Run;
use anchorite_report::finding::pages;
use anchorite_stage::StageError;
use anchorite_target::TargetError;

use super::bench::Bench;
use super::{Campaign, Place, Stop, VERSION};
use crate::crash::Noticed;
use crate::post::{Aftermath, Crashed, Loss, lock};

/// So many losses in a row, and the target is called unusable although it answers.
const LOSSES_MAX: u32 = 5;

/// Words of servers and of the system that are said by, or about, a server that is down: it has crashed, ends, or
/// is just coming up again.
const DOWN: [&str; 6] =
    ["refused", "57p02", "recovery mode", "starting up", "shutting down", "not yet accepting"];

/// What was seen.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    /// In words.
    pub words: String,
    /// Whether this alone shows that the server was down.
    pub was_down: bool,
    /// The run as far as it came.
    pub run: Option<Box<Run>>,
}

impl Evidence {
    /// Judges by what was said.
    pub(super) fn of_words(words: String) -> Self {
        let lower = words.to_lowercase();
        let was_down = DOWN.iter().any(|down| lower.contains(down));
        Self { words, was_down, run: None }
    }
}

/// How a worker goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// With the same case: only a connection was lost.
    SameAgain,
    /// With the same case on the server that somebody else has brought back.
    SameOnNewServer,
    /// With the next case: this one was running when the server crashed.
    AnotherCase,
}

impl Campaign<'_> {
    /// Finds out what happened, records a crash, and says how to go on.
    pub(super) fn after_loss(
        &self,
        bench: &Bench,
        place: Place,
        generation: u64,
        evidence: Evidence,
        failures: u32,
    ) -> Result<Next, Stop> {
        let quarry = &self.quarries[place.quarry];
        let own = bench.running_on(place.quarry);
        let others = self
            .benches
            .iter()
            .filter(|other| !std::ptr::eq(*other, bench))
            .filter_map(|other| other.running_on(place.quarry));
        let running = own.into_iter().chain(others).collect();
        let target = quarry.post.current().0.info().clone();
        let Evidence { words, was_down, run } = evidence;
        let noticed = Noticed {
            target,
            seed: self.seed,
            how: words.clone(),
            run: run.map(|run| *run),
            running,
        };
        let loss = Loss { generation, noticed: words, was_down };
        match quarry.post.lost(&loss, &self.options.run.interrupt) {
            Ok(Aftermath::Alive) if failures > LOSSES_MAX => {
                let endpoint = quarry.on.clone();
                let reason = format!("{failures} times in a row: {}", loss.noticed);
                Err(Stop::Target(StageError::Target(TargetError::Connect { endpoint, reason })))
            }
            Ok(Aftermath::Alive) => Ok(Next::SameAgain),
            Ok(Aftermath::BackAlready) => Ok(Next::SameOnNewServer),
            Ok(Aftermath::Crashed(crashed)) => {
                self.record_crash(noticed, &crashed)?;
                Ok(Next::AnotherCase)
            }
            Err(_) if self.is_stopped() => Ok(Next::SameAgain),
            Err(gone) => {
                let afterwards = gone.outcome.clone();
                self.record_crash(noticed, &Crashed { log: gone.log.clone(), afterwards })?;
                Err(Stop::Gone(gone))
            }
        }
    }

    fn record_crash(&self, noticed: Noticed, crashed: &Crashed) -> Result<(), Stop> {
        let (crash, finding) = noticed.record(crashed);
        self.audience
            .say(&format!("{} went away: {}; {}", crash.target, crash.reason, crash.afterwards));
        let mut store = lock(&self.store);
        let is_new =
            store.crash(&crash, &finding, &pages(&finding, VERSION)).map_err(Stop::Store)?;
        if is_new {
            self.tell_found(&store, &finding.fingerprint);
        }
        Ok(())
    }
}
