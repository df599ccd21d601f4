//! Which versions of the rows a read saw, and which it should have seen: for reports.
//!
//! Assumption: a single other view explains what it returned. Where none does, there is nothing to show.

use serde::{Deserialize, Serialize};

use crate::Value;

/// What a read saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionsSeen {
    /// The number of its step.
    pub n: usize,
    /// Whose it is.
    pub transaction: String,
    /// The rows of which it saw another version than it should have.
    pub rows: Vec<RowVersions>,
}

/// The versions of one row, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowVersions {
    /// Its table.
    pub table: String,
    /// What there was of it.
    pub versions: Vec<VersionSeen>,
}

/// One version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionSeen {
    /// Its values; `None`: there is no row.
    pub values: Option<Vec<Value>>,
    /// Who made it.
    pub made_by: String,
    /// What had become of it by then: committed, not committed, taken back.
    pub state: String,
    /// Whether this is what the read saw.
    pub saw: bool,
    /// Whether this is what it should have seen.
    pub should_see: bool,
}
