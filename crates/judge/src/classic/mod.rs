//! The classic anomalies of a run, by name, with what the vendor says about them.
//!
//! Idea: an oracle that judges writes passes a lost update at a level that permits it, and the reader is left with just
//! the rows. So what the rows themselves prove is named: reads of what was never committed (G1a, G1b), and the cycles
//! of dependencies that Adya's names stand for (`cycles`), with the sentences that prove each, next to the promise.
//! This is not a verdict: it says what happened, not whether it may.
//!
//! * [`anchorite_sql::followed`]: as much SQL as can be followed row by row.
//! * `history`: which version of which row each statement wrote; `observing`: which it saw.
//! * `cycles`: the names; `serial`: whether another order gives the same rows, so that there is nothing to name.
//! * `repeated`: the same query twice, where the rest cannot be followed.
//!
//! Assumption: see `history`. Blind spot: joins, subqueries, aggregates, functions, cascades, triggers, savepoints that
//! were rolled back to: a run with such a write is not followed, and a read with it is ignored. G2 is looked for in
//! cycles of up to four transactions. OTV is called G-single, which it is a case of.

mod cycles;
mod history;
mod observation;
mod observing;
mod repeated;
mod serial;

use anchorite_claims::{Anomaly, Claims, Promise};
use anchorite_model::{Ending, Run};

use crate::evidence::level_of;
use crate::evidence::transactions::transactions;
use crate::probe;
use cycles::{Graph, SeenAnomaly};
use history::History;

/// A classic anomaly that the rows of a run prove, with what the vendor says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Which.
    pub anomaly: Anomaly,
    /// What is promised about it at the level of the run.
    pub promise: Promise,
    /// The page that says so.
    pub url: Option<String>,
    /// Why, in sentences that anyone can check.
    pub because: Vec<String>,
}

/// The anomalies that a run proves. For a probe case, its own conditions are checked first.
pub fn observed(run: &Run, claims: &Claims) -> Vec<Observed> {
    let mut found = Vec::new();
    if let Ok(observation) = probe::observe(&run.case, run)
        && observation.possible
    {
        let (anomaly, because) = (observation.anomaly, vec![observation.because]);
        found.push(documented(run, claims, anomaly, &run.case.name, because));
    }
    for SeenAnomaly { anomaly, by_write, because } in sightings(run) {
        if found.iter().all(|known: &Observed| known.anomaly != anomaly) {
            let suffix = if by_write { "-write" } else { "" };
            let case = format!("{anomaly}{suffix}");
            found.push(documented(run, claims, anomaly, &case, because));
        }
    }
    found
}

/// What the rows prove, whatever is promised.
fn sightings(run: &Run) -> Vec<SeenAnomaly> {
    let Ok(transactions) = transactions(run) else { return Vec::new() };
    if run.ending != Ending::Complete {
        return Vec::new();
    }
    match History::of(run, &transactions) {
        Some(history) => {
            let graph = Graph::of(&history, &transactions);
            let mut found = graph.dirty_reads();
            let cycles = graph.cycles();
            let is_explained =
                || serial::is_explained(run, &history.tables, &history.initial, &transactions);
            if !cycles.is_empty() && !is_explained() {
                found.extend(cycles);
            }
            found
        }
        None => {
            let dialect = run.target.product.dialect();
            repeated::repeated(&run.case, dialect, &transactions)
        }
    }
}

/// The anomaly with what is promised about it, as the case of this name provokes it.
fn documented(
    run: &Run,
    claims: &Claims,
    anomaly: Anomaly,
    case: &str,
    because: Vec<String>,
) -> Observed {
    let said = level_of(run).map(|level| {
        let words: Vec<&str> =
            run.sessions.iter().map(|session| session.level_read_back.as_str()).collect();
        claims.about_session(&run.target, level, &words.join(" / "), anomaly, case)
    });
    let promise = said.map_or(Promise::Unspecified, |said| said.promise);
    let url = said.and_then(|said| said.claim).map(|claim| claim.url.clone());
    Observed { anomaly, promise, url, because }
}
