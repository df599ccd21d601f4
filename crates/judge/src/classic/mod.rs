//! The classic anomalies of a run, by name, with what the vendor says about them.

use anchorite_claims::{Anomaly, Promise};

/// A classic anomaly that the rows of a run prove, with what the vendor says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Which.
    pub anomaly: Anomaly,
    /// What is promised about it at the level of the run.
    pub promise: Promise,
    /// The page that says so.
    pub url: Option<String>,
    /// Why, in sentences a stranger can check.
    pub because: Vec<String>,
}
