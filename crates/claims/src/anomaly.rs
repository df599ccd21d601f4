//! The ten anomalies of the classic table, in the names of Adya, Berenson and Bailis.

use std::fmt;
use std::str::FromStr;

/// One of the anomalies that an isolation level prevents or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// Write cycle, dirty write.
    G0,
    /// Aborted read.
    G1a,
    /// Intermediate read.
    G1b,
    /// Circular information flow.
    G1c,
    /// Observed transaction vanishes.
    Otv,
    /// Predicate many preceders.
    Pmp,
    /// Lost update.
    P4,
    /// Single anti-dependency cycle, read skew.
    GSingle,
    /// Item anti-dependency cycle, write skew.
    G2Item,
    /// Anti-dependency cycle, write skew on a predicate.
    G2,
}

impl Anomaly {
    /// Every anomaly in the order of the table.
    pub const ALL: [Self; 10] = [
        Self::G0,
        Self::G1a,
        Self::G1b,
        Self::G1c,
        Self::Otv,
        Self::Pmp,
        Self::P4,
        Self::GSingle,
        Self::G2Item,
        Self::G2,
    ];

    /// Its name in tables, claims files and `.case` headers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::G0 => "G0",
            Self::G1a => "G1a",
            Self::G1b => "G1b",
            Self::G1c => "G1c",
            Self::Otv => "OTV",
            Self::Pmp => "PMP",
            Self::P4 => "P4",
            Self::GSingle => "G-single",
            Self::G2Item => "G2-item",
            Self::G2 => "G2",
        }
    }

    /// What it is called when it is explained.
    pub const fn explained(self) -> &'static str {
        match self {
            Self::G0 => "dirty write",
            Self::G1a => "aborted read",
            Self::G1b => "intermediate read",
            Self::G1c => "circular information flow",
            Self::Otv => "observed transaction vanishes",
            Self::Pmp => "predicate many preceders (phantom)",
            Self::P4 => "lost update",
            Self::GSingle => "read skew",
            Self::G2Item => "write skew",
            Self::G2 => "write skew on a predicate",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no anomaly of the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown anomaly '{0}': expected G0, G1a, G1b, G1c, OTV, PMP, P4, G-single, G2-item or G2")]
pub struct UnknownAnomaly(pub String);

impl FromStr for Anomaly {
    type Err = UnknownAnomaly;

    fn from_str(text: &str) -> Result<Self, UnknownAnomaly> {
        let name = text.trim();
        let found = Self::ALL.into_iter().find(|anomaly| anomaly.name() == name);
        found.ok_or_else(|| UnknownAnomaly(text.to_owned()))
    }
}
