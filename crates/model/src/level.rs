//! Isolation levels: the words of the SQL standard plus snapshot isolation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::did_you_mean;

/// The isolation level that a session is asked to run at.
///
/// What a level *promises* differs between products and is data (`claims/`), not code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Level {
    /// `READ UNCOMMITTED`
    ReadUncommitted,
    /// `READ COMMITTED`
    ReadCommitted,
    /// `REPEATABLE READ`
    RepeatableRead,
    /// Snapshot isolation, if a product has it in addition to or instead of repeatable read.
    Snapshot,
    /// `SERIALIZABLE`
    Serializable,
}

impl Level {
    /// Every level, weakest first.
    pub const ALL: [Self; 5] = [
        Self::ReadUncommitted,
        Self::ReadCommitted,
        Self::RepeatableRead,
        Self::Snapshot,
        Self::Serializable,
    ];

    /// The name in lower case with spaces, as it is shown and written in `.case` files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read uncommitted",
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Snapshot => "snapshot",
            Self::Serializable => "serializable",
        }
    }

    /// The abbreviation of the command line.
    pub const fn short(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "ru",
            Self::ReadCommitted => "rc",
            Self::RepeatableRead => "rr",
            Self::Snapshot => "si",
            Self::Serializable => "ser",
        }
    }

    /// The name in the SQL standard's spelling, as servers want it after `ISOLATION LEVEL`.
    pub fn sql(self) -> String {
        self.name().to_uppercase()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no isolation level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown isolation level '{0}': expected ru, rc, rr, si or ser, \
     or read uncommitted, read committed, repeatable read, snapshot, serializable{hint}",
    hint = hint(.0)
)]
pub struct UnknownLevel(pub String);

/// The words of the command line that name no single level are candidates too.
fn hint(text: &str) -> String {
    let names = Level::ALL.into_iter().flat_map(|level| [level.name(), level.short()]);
    did_you_mean(&spaced(text), names.chain(["default", "all"]))
}

/// A name with single spaces, however its words are joined.
fn spaced(text: &str) -> String {
    let words = text.to_lowercase().replace(['-', '_'], " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl FromStr for Level {
    type Err = UnknownLevel;

    /// Accepts the short forms, the standard's names and the spellings that servers answer with
    /// (`REPEATABLE-READ`, `repeatable_read`), in any case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words = spaced(text);
        Self::ALL
            .into_iter()
            .find(|level| words == level.name() || words == level.short())
            .or_else(|| (words == "snapshot isolation").then_some(Self::Snapshot))
            .ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_level_is_understood() {
        for level in Level::ALL {
            for text in [level.name().to_owned(), level.short().to_owned(), level.sql()] {
                assert_eq!(text.parse(), Ok(level));
                assert_eq!(text.replace(' ', "-").parse(), Ok(level));
                assert_eq!(text.replace(' ', "_").parse(), Ok(level));
            }
        }
        assert!("chaos".parse::<Level>().is_err());
    }

    #[test]
    fn a_slip_is_answered_with_the_level_that_was_meant() {
        for (text, meant) in [
            ("read-comitted", "; did you mean read committed?"),
            ("Serialisable", "; did you mean serializable?"),
            ("al", ""),
            ("alll", "; did you mean all?"),
        ] {
            let told = text.parse::<Level>().unwrap_err().to_string();
            assert!(told.ends_with(&format!("serializable{meant}")), "{told}");
        }
    }
}
