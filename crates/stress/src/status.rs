//! What is known while a run goes on.

use std::time::Duration;

/// What is known while a run goes on.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Since the first transaction.
    pub elapsed: Duration,
    /// Transactions that committed.
    pub committed: u64,
    /// Statements of these.
    pub statements: u64,
    /// Transactions that failed.
    pub aborted: u64,
    /// Anomalies by verdict: allowed, undecided, violation.
    pub anomalies: [u64; 3],
    /// Events that the judge has not read.
    pub lag: usize,
    /// Transactions that the judge keeps.
    pub kept: usize,
}
