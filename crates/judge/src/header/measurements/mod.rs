//! Where a case is known to show its phenomenon, as data in its header.
//!
//! ```text
//! -- manifests: mariadb 10.11.18 ru rc; mysql 9.7.4 ru rc       the shows-lines hold there
//! -- absent: mariadb 11.8.6 all; postgres 15.18 17.11 rc rr ser they do not hold there
//! -- seen: postgres 15.18 rr ser: step 4 fails serialization    this condition holds there
//! -- manifests: mariadb rr si ser; tidb since 6.6.0 all         true by documentation, whatever the release
//! ```
//!
//! A place is a product, versions ([`Versions`]) and levels (`all`: every level that the target has). A place that no
//! line names has not been examined: any outcome is fine. [`remarks`] compares a run with these lines.

mod product_levels;
mod remark;

use anchorite_model::{Case, Level, Run, TargetInfo};

use crate::header::condition::Condition;
use crate::header::lines::{ConditionError, fitting, misfit, shows, values};
pub use product_levels::{ProductLevels, Versions};
pub use remark::{Agreement, Remark};
pub(crate) use remark::{Found, Known, known};

/// A condition that was seen to hold at some places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Where.
    pub places: Vec<ProductLevels>,
    /// What.
    pub condition: Condition,
}

/// Everything that a case's header says about where it was run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measurements {
    /// Where all `-- shows:` lines hold.
    pub manifests: Vec<ProductLevels>,
    /// Where they do not all hold.
    pub absent: Vec<ProductLevels>,
    /// What else holds where.
    pub seen: Vec<Seen>,
}

impl Measurements {
    /// Reads the header.
    pub fn of(case: &Case) -> Result<Self, ConditionError> {
        Ok(Self {
            manifests: places(case, "manifests")?,
            absent: places(case, "absent")?,
            seen: values(case, "seen").map(|text| seen(case, text)).collect::<Result<_, _>>()?,
        })
    }

    /// What to say if the phenomenon shows or not; `None` if the place has not been examined.
    pub fn about(&self, target: &TargetInfo, level: Level, shows: bool) -> Option<Remark> {
        let found = [
            found(&self.manifests, target, level, "shows", shows),
            found(&self.absent, target, level, "does not show", !shows),
        ];
        remark::remark(&found, target, if shows { "shows" } else { "does not" })
    }

    /// Whether the phenomenon was seen on this product at this level, on any release.
    pub fn shows_on(&self, target: &TargetInfo, level: Level) -> bool {
        self.manifests.iter().any(|place| place.concerns(target, level))
    }

    /// Whether any line covers this product at this level.
    pub fn concerns(&self, target: &TargetInfo, level: Level) -> bool {
        let seen = self.seen.iter().flat_map(|seen| &seen.places);
        self.manifests.iter().chain(&self.absent).chain(seen).any(|p| p.concerns(target, level))
    }
}

impl Seen {
    fn about(&self, run: &Run, level: Level) -> Option<Remark> {
        let holds = self.condition.is_true_of(run);
        let what = self.condition.to_string();
        let found = found(&self.places, &run.target, level, &what, holds);
        remark::remark(&[found], &run.target, if holds { "too" } else { "not" })
    }
}

fn found<'a>(
    places: &'a [ProductLevels],
    target: &TargetInfo,
    level: Level,
    what: &str,
    here: bool,
) -> Found<'a> {
    let places = places.iter().filter(|place| place.concerns(target, level));
    Found { versions: places.map(|place| &place.versions).collect(), what: what.to_owned(), here }
}

/// The run compared with what the header says about this target and level, starting with whether the phenomenon shows.
pub fn remarks(case: &Case, run: &Run, level: Level) -> Result<Vec<Remark>, ConditionError> {
    let measured = Measurements::of(case)?;
    let failing = shows(case)?.into_iter().find(|condition| !condition.is_true_of(run));
    let mut remarks: Vec<Remark> =
        measured.about(&run.target, level, failing.is_none()).into_iter().collect();
    if let (Some(Remark { agreement: Agreement::Differs, sentence }), Some(condition)) =
        (remarks.first_mut(), failing)
    {
        sentence.push_str(&format!(" (this does not hold: {condition})"));
    }
    // A release that was measured itself need not be compared with others.
    let is_measured = remarks.iter().any(|remark| remark.agreement != Agreement::OtherVersion);
    let seen = measured.seen.iter().filter_map(|seen| seen.about(run, level));
    remarks.extend(seen.filter(|seen| !is_measured || seen.agreement != Agreement::OtherVersion));
    Ok(remarks)
}

fn places(case: &Case, key: &str) -> Result<Vec<ProductLevels>, ConditionError> {
    let mut places = Vec::new();
    for text in values(case, key) {
        places.extend(
            ProductLevels::parse_list(text).map_err(|reason| misfit(case, key, text, reason))?,
        );
    }
    Ok(places)
}

fn seen(case: &Case, text: &str) -> Result<Seen, ConditionError> {
    let (places, condition) = text.split_once(':').ok_or_else(|| {
        misfit(case, "seen", text, "expected PLACES: CONDITION, and found no colon".to_owned())
    })?;
    let places =
        ProductLevels::parse_list(places).map_err(|reason| misfit(case, "seen", text, reason))?;
    Ok(Seen { places, condition: fitting(case, "seen", condition.trim())? })
}
