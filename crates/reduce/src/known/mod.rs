//! Issues that are already on record: a hit on one of them is counted, not shown.
//!
//! Idea: a file per issue under `known/`, reviewed like code: where it is tracked, which versions and levels have
//! it, its cause, the edits that make it vanish, and a case that shows it. A finding is a known issue when target,
//! level and cause fit, and when it does not show any more after each of the edits ([`Edit`]), which is tried on every
//! hit. The case is for the other direction: an entry whose case no longer shows anything is out of date, and is
//! reported ([`KnownIssue::presence`]).
//!
//! An issue that we found and that no tracker has (`unreported`) is named, but never swallowed.
//!
//! Assumption: two causes differ in their names or in what makes them vanish. Blind spot: a new bug that has the cause
//! of a known one and vanishes with the same edits is taken for it.

mod file;

use std::sync::OnceLock;

use anchorite_claims::Version;
use anchorite_model::{Case, Level, Product, TargetInfo};

use crate::Edit;
pub use file::KnownError;

/// A range of versions of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected {
    /// The product.
    pub product: Product,
    /// From this version on: the first one that is known to have it.
    pub since: Version,
    /// Before this version; `None` = until today.
    pub before: Option<Version>,
}

/// What the vendor says about an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Not fixed in the versions that are listed.
    Open,
    /// Fixed in later versions.
    Fixed,
    /// The vendor documents it, or does not mean to change it.
    Intended,
    /// Found by Anchorite, and in no tracker: it is always shown.
    Unreported,
}

impl Status {
    /// The word of the files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Fixed => "fixed",
            Self::Intended => "intended",
            Self::Unreported => "unreported",
        }
    }
}

/// A recorded issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownIssue {
    /// Its name (`MDEV-27992`).
    pub name: String,
    /// One sentence.
    pub title: String,
    /// Where it is tracked; of one that is not, the page whose promise it breaks.
    pub url: String,
    /// Its number there; `None` if it is in no tracker.
    pub tracker: Option<String>,
    /// What the vendor says.
    pub status: Status,
    /// Who has it.
    pub affected: Vec<Affected>,
    /// At which levels; empty = all.
    pub levels: Vec<Level>,
    /// The names of causes that are it.
    pub causes: Vec<String>,
    /// The edits after each of which it does not show any more.
    pub vanishes: Vec<Edit>,
    /// A case that shows it.
    pub case: Case,
}

/// Whether an entry is still true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The entry does not cover this target or level.
    SaysNothing,
    /// Its case shows what it says.
    StillThere,
    /// Its case no longer shows it: the entry is out of date.
    Gone,
}

impl KnownIssue {
    /// Whether the entry covers this target at this level.
    pub fn is_about(&self, target: &TargetInfo, level: Option<Level>) -> bool {
        let version = Version::of(target);
        let product = self.affected.iter().any(|affected| {
            affected.product == target.product
                && version >= affected.since
                && affected.before.as_ref().is_none_or(|before| version < *before)
        });
        let level_fits =
            self.levels.is_empty() || level.is_some_and(|level| self.levels.contains(&level));
        product && level_fits
    }

    /// Whether something with this cause may be the issue: what is left to try are the edits.
    pub fn may_be(&self, target: &TargetInfo, level: Option<Level>, cause: &str) -> bool {
        self.is_about(target, level) && self.causes.iter().any(|own| own == cause)
    }

    /// The status of the entry, given whether its case showed a finding on a target.
    pub fn presence(&self, target: &TargetInfo, level: Option<Level>, shown: bool) -> Presence {
        match (self.is_about(target, level), shown) {
            (false, _) => Presence::SaysNothing,
            (true, true) => Presence::StillThere,
            (true, false) => Presence::Gone,
        }
    }
}

/// The known issues that are built into the program.
///
/// # Panics
///
/// Never in a program that passed its tests: they read every built-in file.
pub fn built_in() -> &'static [KnownIssue] {
    static KNOWN: OnceLock<Vec<KnownIssue>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let read = |entry: &file::BuiltIn| entry.read().expect("a built-in file is valid");
        file::BUILT_IN.iter().map(read).collect()
    })
}
