//! A run compared with what is known about its place: as measured, different, or on a version that was not measured.
//!
//! Idea: three values. What was measured on this release must recur: if it does not, the server, the measurement or
//! this program is wrong. What was measured on other releases proves nothing about this one: the difference is worth a
//! sentence and fails nothing. What is documented for a range holds for all of it.

use anchorite_claims::Version;
use anchorite_model::TargetInfo;

use super::product_levels::Versions;

/// Whether a run agrees with what is known about its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agreement {
    /// As measured on this release, or as documented for it.
    AsExpected,
    /// Not as measured on this release, or not as documented for it.
    Differs,
    /// Only other releases were measured, so nothing can be decided.
    OtherVersion,
}

impl Agreement {
    /// The words of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsExpected => "as expected",
            Self::Differs => "differs",
            Self::OtherVersion => "other version",
        }
    }
}

/// A comparison of a run with something that is known about its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Whether they agree.
    pub agreement: Agreement,
    /// In words: `measured on 15.18: shows; here on 15.20: does not`.
    pub sentence: String,
}

/// Something that was found at some places, in words (`shows`), and whether it holds in this run.
pub(crate) struct Found<'a> {
    /// On which versions.
    pub versions: Vec<&'a Versions>,
    /// What.
    pub what: String,
    /// Whether it is so here.
    pub here: bool,
}

/// What is known about a release.
pub(crate) enum Known<'f, 'a> {
    /// It was measured.
    Measured(&'f Found<'a>),
    /// It is documented.
    Documented(&'f Found<'a>),
    /// Others were measured, in words (`measured on 15.18: shows; on 15.20: does not show`).
    Elsewhere(String),
}

/// What is known about this version; `None` if the product has not been examined.
pub(crate) fn known<'f, 'a>(found: &'f [Found<'a>], version: &Version) -> Option<Known<'f, 'a>> {
    let said = |measured: bool| {
        found.iter().find(|found| {
            found.versions.iter().any(|versions| {
                matches!(versions, Versions::Measured(_)) == measured && versions.include(version)
            })
        })
    };
    said(true)
        .map(Known::Measured)
        .or_else(|| said(false).map(Known::Documented))
        .or_else(|| elsewhere(found).map(Known::Elsewhere))
}

/// Compares what was found with a run on this target; `now` is the run's result in words.
pub(super) fn remark(found: &[Found<'_>], target: &TargetInfo, now: &str) -> Option<Remark> {
    let version = Version::of(target);
    let here = |known: &str| format!("{known}; here on {version}: {now}");
    let (agreement, sentence) = match known(found, &version)? {
        Known::Measured(found) if found.here => {
            (Agreement::AsExpected, format!("{}, as measured on {version}", found.what))
        }
        Known::Measured(found) => {
            (Agreement::Differs, here(&format!("measured on {version}: {}", found.what)))
        }
        Known::Documented(found) if found.here => {
            (Agreement::AsExpected, format!("{}, as documented", found.what))
        }
        Known::Documented(found) => {
            (Agreement::Differs, here(&format!("documented: {}", found.what)))
        }
        Known::Elsewhere(others) => (Agreement::OtherVersion, here(&others)),
    };
    Some(Remark { agreement, sentence })
}

fn elsewhere(found: &[Found<'_>]) -> Option<String> {
    let told = found.iter().filter_map(|found| {
        let releases = found.releases();
        (!releases.is_empty()).then(|| format!("on {}: {}", releases.join(", "), found.what))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("measured {}", told.join("; ")))
}

impl Found<'_> {
    fn releases(&self) -> Vec<String> {
        let measured = |versions: &&'_ Versions| match versions {
            Versions::Measured(releases) => releases.clone(),
            Versions::Documented { .. } => Vec::new(),
        };
        let mut releases: Vec<Version> = self.versions.iter().flat_map(measured).collect();
        releases.sort();
        releases.dedup();
        releases.iter().map(ToString::to_string).collect()
    }
}
