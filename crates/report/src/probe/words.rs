//! The words that all forms of the table share.

use anchorite_claims::{Anomaly, Promise};
use anchorite_model::BlockingKnowledge;

use super::{CaseProbe, LevelProbe, Probe};
use crate::escape::visible;
use crate::result::counted;

/// The result of a case, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// The anomaly did not happen.
    Prevented,
    /// It happened, and nothing else is claimed.
    Possible,
    /// It happened although it is claimed as prevented.
    Contradiction,
    /// The case could not run.
    NotRun,
}

impl Tone {
    pub fn of(case: &CaseProbe) -> Self {
        match &case.outcome {
            Err(_) => Self::NotRun,
            Ok(_) if case.contradicts() => Self::Contradiction,
            Ok(seen) if seen.possible => Self::Possible,
            Ok(_) => Self::Prevented,
        }
    }
}

/// How it was prevented, or `possible`, or `not run`.
pub(crate) fn observed(case: &CaseProbe) -> &'static str {
    match &case.outcome {
        Err(_) => "not run",
        Ok(seen) if seen.possible => "possible",
        Ok(seen) => seen.how.name(),
    }
}

/// What is claimed, in words for people.
pub(crate) const fn claimed(promise: Promise) -> &'static str {
    match promise {
        Promise::Prevented => "prevented",
        Promise::Possible => "possible",
        Promise::Unspecified => "not said",
    }
}

/// The anomalies with their names in words: `G0 dirty write, …`.
pub(crate) fn anomalies() -> String {
    let named = Anomaly::ALL.map(|anomaly| format!("{anomaly} {}", anomaly.explained()));
    named.join(", ")
}

/// The server's words for a level, and whether it is the default.
pub(crate) fn level_told(level: &LevelProbe) -> String {
    let words = level.read_back.as_deref().unwrap_or("not read back, as no case could run");
    format!("{words}{}", if level.is_default { ", the default" } else { "" })
}

/// How blocking was detected at the levels, each way once.
pub(crate) fn blocking(probe: &Probe) -> Vec<&BlockingKnowledge> {
    let mut known = Vec::new();
    for blocking in probe.levels.iter().filter_map(|level| level.blocking.as_ref()) {
        if !known.contains(&blocking) {
            known.push(blocking);
        }
    }
    known
}

/// How many cases had which result, and whether something is wrong.
pub(crate) fn summary(probe: &Probe) -> String {
    let count =
        |tones: &[Tone]| probe.cases().filter(|(_, case)| tones.contains(&Tone::of(case))).count();
    let not_run = match count(&[Tone::NotRun]) {
        0 => String::new(),
        n => format!(", {n} not run"),
    };
    let wrong = match count(&[Tone::Contradiction]) {
        0 => "nothing that is claimed as prevented was observed".to_owned(),
        n => {
            let counted = counted(n, "contradiction", "contradictions");
            format!("{counted}: claimed as prevented, and observed")
        }
    };
    let incomplete = match &probe.incomplete {
        None => String::new(),
        Some(reason) => format!("INCOMPLETE ({}): ", visible(reason)),
    };
    format!(
        "{incomplete}{} at {}: {} prevented, {} possible{not_run}; {wrong}",
        counted(probe.cases().count(), "run", "runs"),
        counted(probe.levels.len(), "level", "levels"),
        count(&[Tone::Prevented]),
        count(&[Tone::Possible, Tone::Contradiction]),
    )
}
