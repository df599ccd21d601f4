//! Violations that do not recur: too many of them are a finding of their own.
//!
//! Idea: now and then a timer of the server, or background work, makes a run that never comes again. But a server that
//! violates in every third case is broken, whether or not a single case shows it again. So beyond a share of the cases
//! ([`anchorite_model::HuntSummary::unrepeatable`]) there is a finding that says just that, with the folder in which
//! the runs are. Blind spot: it names the place and the oracle of most of them, and may have several causes.

use anchorite_model::{FindingLine, HuntSummary, Rank, Signature};
use anchorite_report::hunt_summary::grouped;

use super::Campaign;
use crate::sequence::SUFFIX;
use crate::supervisor::lock;

/// The anomaly, and the finding's name.
const NAME: &str = "not-repeatable";

impl Campaign<'_> {
    /// The finding, if there are too many.
    pub(super) fn unrepeatable(&self, summary: &HuntSummary) -> Option<FindingLine> {
        let violated = summary.unrepeatable()?;
        // What needs used tables comes again only after some of the cases before it, so this is the same.
        if summary.findings.iter().any(|line| line.fingerprint.ends_with(SUFFIX)) {
            return None;
        }
        let store = lock(&self.store);
        let (place, oracle) = store.flakiest()?;
        let place = self.places.get(place)?;
        let oracle = oracle.unwrap_or_default().to_owned();
        let (violated_told, cases) = (grouped(violated), grouped(summary.cases));
        Some(FindingLine {
            fingerprint: NAME.to_owned(),
            title: format!("{violated_told} of {cases} cases violated, none repeatable"),
            witnesses: vec![oracle.clone()],
            signature: Signature {
                oracle,
                anomaly: NAME.to_owned(),
                exception: None,
                rank: Rank::Broken,
            },
            target: self.hunt_targets[place.hunt_target].supervisor.current().0.info().clone(),
            level: place.level,
            statements: 0,
            hits: violated,
            known: None,
            unreported: false,
            cause: None,
            places: Vec::new(),
            levels: Vec::new(),
            seen_at: Vec::new(),
            file: store.flaky_folder().display().to_string(),
        })
    }
}
