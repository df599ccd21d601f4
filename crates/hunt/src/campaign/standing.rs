//! Known issues that are known no longer: an entry's own case is run once where the entry says that it shows.

use anchorite_reduce::known::{Standing, Status};
use anchorite_stage::FreshTables;

use super::{Campaign, Stop};
use crate::Trial;
use crate::post::lock;

impl Campaign<'_> {
    /// The names of the known issues that should show at some place of this hunt, and do not.
    pub(super) fn known_gone(&self, stop: &Stop) -> Vec<String> {
        let mut gone = Vec::new();
        if !matches!(stop, Stop::Done) || lock(&self.tally).cases == 0 {
            return gone;
        }
        for place in &self.places {
            let quarry = &self.quarries[place.quarry];
            let (target, _) = quarry.post.current();
            for issue in &self.options.known {
                if !issue.is_about(target.info(), place.level) || gone.contains(&issue.name) {
                    continue;
                }
                // What the vendor means to be like that is a violation only in the strict sense.
                let strict = issue.status == Status::Intended;
                let trial = Trial { claims: quarry.claims, oracles: &self.options.oracles, strict };
                let options = self.options.run.clone();
                let mut fresh = FreshTables { target: target.as_ref(), options };
                // A case that cannot be run says nothing about the issue.
                let Ok(tried) = trial.hold(&mut fresh, &issue.case, place.level) else { continue };
                let shown = tried.signature.is_some();
                if issue.standing(target.info(), place.level, shown) == Standing::Gone {
                    gone.push(issue.name.clone());
                }
            }
        }
        gone
    }
}
