//! Where an entry of a claims file holds: versions, and a setting that a session reads back with its level.

use std::ops::Range;

use toml::Spanned;

use crate::Version;
use crate::source::{ClaimsError, Source};

/// A setting whose default depends on the version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// What a session reads back with its level if it is on (`innodb_snapshot_isolation=ON`).
    pub read_back: String,
    /// Whether the claim is about sessions with it, or about those without.
    pub is_on: bool,
}

/// The versions and settings that an entry is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// From this version on; `None` = from the beginning.
    pub since: Option<Version>,
    /// Before this version; `None` = until today.
    pub before: Option<Version>,
    /// The setting that decides instead of the version, if a session's settings are known.
    pub setting: Option<Setting>,
}

impl Bounds {
    /// Whether they include this version and, where it is known, what a session has read back.
    pub fn hold(&self, version: &Version, read_back: Option<&str>) -> bool {
        if let (Some(setting), Some(words)) = (&self.setting, read_back) {
            return words.contains(&setting.read_back) == setting.is_on;
        }
        self.include(version)
    }

    /// Whether they include this version.
    pub fn include(&self, version: &Version) -> bool {
        self.since.as_ref().is_none_or(|since| version >= since)
            && self.before.as_ref().is_none_or(|before| version < before)
    }

    /// Whether some version belongs to both.
    pub(crate) fn meet(&self, other: &Self) -> bool {
        let ends_before = |a: &Self, b: &Self| match (&a.before, &b.since) {
            (Some(before), Some(since)) => before <= since,
            _ => false,
        };
        !ends_before(self, other) && !ends_before(other, self)
    }
}

/// The bounds as they are written.
pub(crate) struct BoundsText<'t> {
    pub(crate) since: Option<&'t Spanned<String>>,
    pub(crate) before: Option<&'t Spanned<String>>,
    pub(crate) with: Option<&'t String>,
    pub(crate) without: Option<&'t String>,
}

impl Source<'_> {
    /// The bounds of an entry; the span is that of the entry.
    pub(crate) fn bounds(
        self,
        text: &BoundsText<'_>,
        span: Range<usize>,
    ) -> Result<Bounds, ClaimsError> {
        let setting = match (text.with, text.without) {
            (None, None) => None,
            (Some(words), None) => Some(Setting { read_back: words.clone(), is_on: true }),
            (None, Some(words)) => Some(Setting { read_back: words.clone(), is_on: false }),
            (Some(_), Some(_)) => {
                let reason = "expected either with = \"...\" or without = \"...\"".to_owned();
                return Err(self.error(span, reason));
            }
        };
        let version = |text: Option<&Spanned<String>>| text.map(|text| self.read(text)).transpose();
        Ok(Bounds { since: version(text.since)?, before: version(text.before)?, setting })
    }
}
