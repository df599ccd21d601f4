//! Known issues that no longer show: an entry's own case is run once where the entry says that it shows.
//!
//! A measurement applies only to the releases that it was made on (`-- manifests:`, `-- absent:` in the header of the
//! entry's case). That an issue does not show on a release where it was measured to be absent is not new; on a release
//! that was not measured, the hunt reports both facts.

use std::collections::BTreeMap;

use anchorite_judge::{Agreement, Measurements, level_of};
use anchorite_model::Run;
use anchorite_reduce::known::{KnownIssue, Presence, Status};
use anchorite_stage::FreshTables;

use super::{Campaign, Stop};
use crate::Examiner;
use crate::supervisor::lock;

/// An issue that did not show.
struct Gone {
    /// The earlier measurement, in words, if there is one.
    measured: Option<String>,
}

impl Campaign<'_> {
    /// The names of the known issues that should show on a target of this hunt, and do not at any of its levels; and
    /// what was measured of them before.
    pub(super) fn known_gone(&self, stop: &Stop) -> (Vec<String>, BTreeMap<String, String>) {
        let mut names = Vec::new();
        let mut because = BTreeMap::new();
        if !matches!(stop, Stop::Done) || lock(&self.tally).cases == 0 {
            return (names, because);
        }
        for issue in &self.options.known {
            let gone =
                (0..self.hunt_targets.len()).find_map(|hunt_target| self.gone(hunt_target, issue));
            if let Some(gone) = gone {
                names.push(issue.name.clone());
                because.extend(gone.measured.map(|told| (issue.name.clone(), told)));
            }
        }
        (names, because)
    }

    /// Whether an issue does not show on a target at any level of this hunt, although it should at one.
    fn gone(&self, hunt_target: usize, issue: &KnownIssue) -> Option<Gone> {
        let mut gone = None;
        for place in self.places.iter().filter(|place| place.hunt_target == hunt_target) {
            let hunt_target = &self.hunt_targets[hunt_target];
            let (target, _) = hunt_target.supervisor.current();
            if !issue.is_about(target.info(), place.level) {
                continue;
            }
            // What the vendor intends is a violation only in strict mode.
            let strict = issue.status == Status::Intended;
            let examiner =
                Examiner { claims: hunt_target.claims, oracles: &self.options.oracles, strict };
            let options = self.options.run.clone();
            let mut fresh = FreshTables { target: target.as_ref(), options };
            // A case that cannot be run proves nothing about the issue.
            let Ok(tried) = examiner.examine(&mut fresh, &issue.case, place.level) else {
                continue;
            };
            match issue.presence(target.info(), place.level, !tried.signatures.is_empty()) {
                Presence::SaysNothing => {}
                Presence::StillThere => return None,
                Presence::Gone => gone = gone.or_else(|| absence(&tried.run)),
            }
        }
        gone
    }
}

/// What it means that an issue's own case did not show it; `None` if that was measured before.
fn absence(run: &Run) -> Option<Gone> {
    let remark = level_of(run).and_then(|level| {
        // The headers of built-in cases are read by a test; what cannot be read says nothing.
        Measurements::of(&run.case).ok()?.about(&run.target, level, false)
    });
    match remark {
        Some(remark) if remark.agreement == Agreement::AsExpected => None,
        remark => Some(Gone { measured: remark.map(|remark| remark.sentence) }),
    }
}
