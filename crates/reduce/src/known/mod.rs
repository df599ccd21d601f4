//! Issues that are already on record: a hit on one of them is counted, not shown.
//!
//! Idea: a file per issue under `known/`, reviewed like code: where it is tracked, which servers and levels have
//! it, what it looks like, and a case that shows it. A finding is a known issue when target, level and signature
//! fit, and its fingerprint or its shape is listed. The case is for the other direction: an entry whose case no
//! longer shows anything is out of date, and is reported ([`KnownIssue::presence`]).
//!
//! Assumption: two causes differ in shape. Blind spot: a new bug that looks exactly like a known one is taken for
//! it; so entries should be narrow, and a hunt can do without them.

mod file;

use std::sync::OnceLock;

use anchorite_claims::Version;
use anchorite_model::{Case, Level, Product, Signature, TargetInfo};

use crate::Shape;
use crate::fingerprint::has_changed_hands;
pub use file::KnownError;

/// A range of versions of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected {
    /// The product.
    pub product: Product,
    /// From this version on; `None` = from the beginning.
    pub since: Option<Version>,
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
}

impl Status {
    /// The word of the files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Fixed => "fixed",
            Self::Intended => "intended",
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
    /// Where it is tracked.
    pub url: String,
    /// What the vendor says.
    pub status: Status,
    /// Who has it.
    pub affected: Vec<Affected>,
    /// At which levels; empty = all.
    pub levels: Vec<Level>,
    /// Which oracle finds it; `None` = any.
    pub oracle: Option<String>,
    /// As which anomalies or exceptions; empty = any.
    pub anomalies: Vec<String>,
    /// The fingerprints that are it.
    pub fingerprints: Vec<String>,
    /// Shapes that are it; `*` stands for any text.
    pub shapes: Vec<String>,
    /// A case that shows it.
    pub case: Case,
}

/// A finding, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub struct Sighting<'a> {
    /// Where it was seen.
    pub target: &'a TargetInfo,
    /// At which level; `None` = unknown.
    pub level: Option<Level>,
    /// What was found by whom.
    pub signature: &'a Signature,
    /// Its name.
    pub fingerprint: &'a str,
    /// Its shape.
    pub shape: &'a Shape,
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
                && affected.since.as_ref().is_none_or(|since| version >= *since)
                && affected.before.as_ref().is_none_or(|before| version < *before)
        });
        let level_fits =
            self.levels.is_empty() || level.is_some_and(|level| self.levels.contains(&level));
        product && level_fits
    }

    /// Whether this finding is the issue.
    pub fn matches(&self, seen: &Sighting<'_>) -> bool {
        let Signature { oracle, anomaly, exception, .. } = seen.signature;
        let is_named = |name: &String| name == anomaly || Some(name) == exception.as_ref();
        let oracle_fits = self.oracle.as_ref().is_none_or(|own| own == oracle)
            || has_changed_hands(seen.signature);
        let anomaly_fits = self.anomalies.is_empty() || self.anomalies.iter().any(is_named);
        let shape = seen.shape.to_string();
        self.is_about(seen.target, seen.level)
            && oracle_fits
            && anomaly_fits
            && (self.fingerprints.iter().any(|own| own == seen.fingerprint)
                || self.shapes.iter().any(|pattern| fits(pattern, &shape)))
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

/// The known issue that a finding is, if it is one.
pub fn matching<'k>(known: &'k [KnownIssue], seen: &Sighting<'_>) -> Option<&'k KnownIssue> {
    known.iter().find(|issue| issue.matches(seen))
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let table = [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("a*a", "a", false),
            ("*", "", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn an_issue_without_waits_and_errors_has_the_shape_of_its_own_case() {
        let needs_run = |issue: &KnownIssue| {
            let shapes = issue.shapes.concat();
            ["waits", "fails"].iter().any(|word| shapes.contains(word))
        };
        let issues = built_in().iter().filter(|issue| !needs_run(issue));
        for issue in issues {
            let product = issue.affected[0].product;
            let shape = Shape::of_case(&issue.case, product, true).to_string();
            assert!(issue.shapes.iter().any(|own| fits(own, &shape)), "{}: {shape}", issue.name);
        }
    }
}
