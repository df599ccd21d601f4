//! From a history to a report: levels, anomalies, what they rule out.
//!
//! Idea: decide the levels exactly, then look for anomalies only if some level fails, and show those that the requested
//! level forbids. `not` names the weakest levels that are ruled out, as in Elle. With [`Options::elle`] the anomalies,
//! `valid` and `not` are what Elle's inference gives.

mod anomalies;
mod as_elle;
mod elle_options;
pub mod html;
pub mod json;
mod several;
pub mod text;

pub use as_elle::ElleOptions;
pub use elle_options::ElleOptionsError;

use crate::analysis::Analysis;
use crate::levels::{ADYA, AXIOMATIC, LevelVerdict, STRICT};
use crate::model::History;
use crate::names::{Asked, Family};
use crate::polygraph::Limits;
use crate::witness::Anomaly;
use std::collections::BTreeSet;

/// Histories up to this size get all levels even if only some were asked for.
pub const ALL_LEVELS_UP_TO: usize = 50_000;

/// What to judge.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The levels asked for; serializable if empty.
    pub levels: Vec<Asked>,
    /// Decide all levels whatever the size.
    pub all_levels: bool,
    /// Judge as Elle does.
    pub elle: Option<ElleOptions>,
    /// Position of every transaction in the commit order, if known.
    pub txn_order: Option<Vec<u64>>,
    /// When to give up.
    pub limits: Limits,
    /// How many threads may be used; the result does not depend on it.
    pub threads: usize,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many transactions were read.
    pub transactions: usize,
    /// How many operations.
    pub operations: usize,
    /// Whether the requested levels hold.
    pub valid: LevelVerdict,
    /// The levels asked for.
    pub asked: Vec<&'static str>,
    /// Adya's and Elle's levels.
    pub levels: Vec<(&'static str, LevelVerdict)>,
    /// The axiomatic levels; empty if they do not apply to the workload.
    pub axiomatic: Vec<(&'static str, LevelVerdict)>,
    /// Anomalies that an asked level forbids.
    pub anomalies: Vec<Anomaly>,
    /// Anomalies that it allows.
    pub others: Vec<Anomaly>,
    /// The weakest levels that are ruled out.
    pub not: Vec<&'static str>,
}

/// Judges a history.
pub fn judge(history: &History, options: &Options) -> Report {
    let threads = options.threads.max(1);
    let analysis = Analysis::threaded(history, options.txn_order.clone(), options.limits, threads);
    let default = [crate::names::level("serializable")].into_iter().flatten().collect();
    let asked = if options.levels.is_empty() { default } else { options.levels.clone() };
    let everything =
        options.all_levels || options.levels.is_empty() || history.ops.len() <= ALL_LEVELS_UP_TO;
    let (levels, axiomatic) = decide(&analysis, &asked, everything, options.threads);
    let valid = validity(&asked, &levels, &axiomatic);
    let mut report = Report {
        transactions: history.txns.len(),
        operations: history.ops.len(),
        valid,
        asked: asked.iter().map(|level| level.name).collect(),
        levels,
        axiomatic,
        anomalies: Vec::new(),
        others: Vec::new(),
        not: Vec::new(),
    };
    match &options.elle {
        Some(elle) => {
            let analysis = Analysis::as_elle(history, options.limits);
            as_elle::fill(&mut report, &analysis, elle);
        }
        None => fill(&mut report, &analysis, &asked),
    }
    list_ruled_out(&mut report);
    report
}

/// `not` may name further levels of Elle's lattice (update-atomic): they fail, and are listed too.
fn list_ruled_out(report: &mut Report) {
    for name in &report.not {
        let listed = |entry: &(&'static str, LevelVerdict)| {
            entry.0 == *name || crate::lattice::canonical(entry.0) == Some(name)
        };
        if !report.levels.iter().any(listed) {
            report.levels.push((name, LevelVerdict::Fails));
        }
    }
}

impl Report {
    /// The two families with their levels; one that was not decided is left out.
    pub fn families(&self) -> impl Iterator<Item = (Family, &[(&'static str, LevelVerdict)])> {
        let both = [(Family::Adya, &self.levels[..]), (Family::Axiomatic, &self.axiomatic[..])];
        both.into_iter().filter(|(_, levels)| !levels.is_empty())
    }

    /// The size of the history: `1 transaction, 2 operations`.
    pub fn size_told(&self) -> String {
        let counted = |count: usize, noun: &str| match count {
            1 => format!("1 {noun}"),
            _ => format!("{count} {noun}s"),
        };
        let transactions = counted(self.transactions, "transaction");
        format!("{transactions}, {}", counted(self.operations, "operation"))
    }

    /// The requested levels with their family: `serializable of Adya and Elle`.
    pub fn asked_told(&self) -> String {
        let told = |name: &&'static str| format!("{name} of {}", Family::of(name).authors());
        self.asked.iter().map(told).collect::<Vec<_>>().join(", ")
    }

    /// A sentence per requested level whose namesake in the other family is decided otherwise.
    pub fn differences(&self) -> Vec<String> {
        let verdict = |levels: &[(&'static str, LevelVerdict)], name: &str| {
            levels.iter().find(|entry| entry.0 == name).map(|entry| entry.1.clone())
        };
        let differs = |name: &&'static str| {
            let adya = verdict(&self.levels, name)?;
            let axiomatic = verdict(&self.axiomatic, name)?;
            let (word, same) = match axiomatic {
                LevelVerdict::Holds => ("satisfies", adya == LevelVerdict::Holds),
                LevelVerdict::Fails => ("does not satisfy", adya == LevelVerdict::Fails),
                LevelVerdict::Unknown(_) => return None,
            };
            let sentence = format!(
                "it {word} the {name} of Biswas and Enea, which is defined differently: session order counts there"
            );
            (!same).then_some(sentence)
        };
        self.asked.iter().filter_map(differs).collect()
    }
}

type Verdicts = Vec<(&'static str, LevelVerdict)>;

fn decide(
    analysis: &Analysis<'_>,
    asked: &[Asked],
    everything: bool,
    threads: usize,
) -> (Verdicts, Verdicts) {
    let wanted = |name: &str, family: fn(&Asked) -> bool| {
        everything || asked.iter().any(|level| level.name == name && family(level))
    };
    let adya: Vec<&'static str> =
        ADYA.into_iter().chain([STRICT]).filter(|name| wanted(name, |level| level.adya)).collect();
    let registers = analysis.history.workload == crate::model::Workload::Registers;
    let axiomatic: Vec<&'static str> = AXIOMATIC
        .into_iter()
        .filter(|name| registers && wanted(name, |level| level.axiomatic))
        .collect();
    several::decide(analysis, &adya, &axiomatic, threads)
}

fn validity(asked: &[Asked], levels: &Verdicts, axiomatic: &Verdicts) -> LevelVerdict {
    let mut valid = LevelVerdict::Holds;
    for level in asked {
        let table = if level.adya { levels } else { axiomatic };
        let found = table.iter().find(|entry| entry.0 == level.name).map(|entry| entry.1.clone());
        let found = found.unwrap_or_else(|| {
            LevelVerdict::Unknown("the axiomatic levels are for single reads and writes".to_owned())
        });
        match (&valid, &found) {
            (LevelVerdict::Fails, _) | (_, LevelVerdict::Holds) => {}
            _ => valid = found,
        }
    }
    valid
}

/// Looks for anomalies where a level fails.
fn fill(report: &mut Report, analysis: &Analysis<'_>, asked: &[Asked]) {
    let failing =
        report.levels.iter().chain(&report.axiomatic).any(|entry| entry.1 == LevelVerdict::Fails);
    let doubtful = analysis.resolved.ambiguous;
    if !failing && !doubtful {
        return;
    }
    let mut found = anomalies::find(analysis, asked, report);
    let prohibited: BTreeSet<&'static str> = asked
        .iter()
        .flat_map(|level| crate::lattice::prohibited_by(crate::names::model(level.name)))
        .collect();
    if report.valid == LevelVerdict::Fails
        && !found.iter().any(|anomaly| prohibited.contains(anomaly.name))
    {
        found.extend(anomalies::existence(analysis, asked, report));
    }
    let names: BTreeSet<&'static str> = found.iter().map(|anomaly| anomaly.name).collect();
    // The axiomatic names repeat the same facts in other words: they count where they were requested, or where nothing
    // else states them.
    let axiomatic = asked.iter().any(|level| !level.adya)
        || !found.iter().any(|anomaly| prohibited.contains(anomaly.name));
    let (shown, others): (Vec<Anomaly>, Vec<Anomaly>) = found.into_iter().partition(|anomaly| {
        prohibited.contains(anomaly.name)
            || report.valid == LevelVerdict::Fails
                && axiomatic
                && anomalies::OURS.contains(&anomaly.name)
    });
    if !shown.is_empty() {
        report.not = crate::lattice::boundary(&names);
    }
    report.anomalies = shown;
    report.others = others;
}
