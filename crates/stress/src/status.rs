//! What is known while a run goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use anchorite_model::ErrorClass;

use crate::promise::Standing;

/// What is known while a run goes on.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Since the first transaction.
    pub elapsed: Duration,
    /// Transactions that committed.
    pub committed: u64,
    /// Statements of these.
    pub statements: u64,
    /// Transactions that failed, by why.
    pub aborts: BTreeMap<ErrorClass, u64>,
    /// Anomalies by what they are worth and by name.
    pub names: Vec<((Standing, &'static str), u64)>,
    /// Events that the judge has not read.
    pub lag: usize,
    /// Transactions that the judge keeps.
    pub kept: usize,
}
