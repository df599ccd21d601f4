//! Known issues that are known no longer: an entry's own case is run once where the entry says that it shows.

use anchorite_reduce::known::{KnownIssue, Standing, Status};
use anchorite_stage::FreshTables;

use super::{Campaign, Stop};
use crate::Trial;
use crate::post::lock;

impl Campaign<'_> {
    /// The names of the known issues that should show on a target of this hunt, and do not at any of its levels.
    pub(super) fn known_gone(&self, stop: &Stop) -> Vec<String> {
        if !matches!(stop, Stop::Done) || lock(&self.tally).cases == 0 {
            return Vec::new();
        }
        let is_gone = |issue: &&KnownIssue| {
            (0..self.quarries.len()).any(|quarry| self.standing(quarry, issue) == Standing::Gone)
        };
        self.options.known.iter().filter(is_gone).map(|issue| issue.name.clone()).collect()
    }

    /// Whether an issue is still there on a target, at one of the levels of this hunt at least.
    fn standing(&self, quarry: usize, issue: &KnownIssue) -> Standing {
        let mut standing = Standing::SaysNothing;
        for place in self.places.iter().filter(|place| place.quarry == quarry) {
            let quarry = &self.quarries[quarry];
            let (target, _) = quarry.post.current();
            if !issue.is_about(target.info(), place.level) {
                continue;
            }
            // What the vendor means to be like that is a violation only in the strict sense.
            let strict = issue.status == Status::Intended;
            let trial = Trial { claims: quarry.claims, oracles: &self.options.oracles, strict };
            let options = self.options.run.clone();
            let mut fresh = FreshTables { target: target.as_ref(), options };
            // A case that cannot be run says nothing about the issue.
            let Ok(tried) = trial.hold(&mut fresh, &issue.case, place.level) else { continue };
            standing = issue.standing(target.info(), place.level, tried.signature.is_some());
            if standing == Standing::StillThere {
                break;
            }
        }
        standing
    }
}
