//! What a run is asked for, what it gives, and why there may be nothing to tell.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anchorite_drivers::TargetError;
use anchorite_model::{DbError, Level};

use crate::faults::Fault;
use crate::judge::{Counts, Recipe};
use crate::series::Series;
use crate::workload::Workload;

/// What to do.
pub struct Options {
    /// The level; `None` = the target's default.
    pub level: Option<Level>,
    /// How many sessions.
    pub sessions: usize,
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// The seed.
    pub seed: u64,
    /// For how long.
    pub time: Duration,
    /// How many transactions at most.
    pub transactions: u64,
    /// Whether several statements may be sent as one text.
    pub at_once: bool,
    /// Whether what happens is recorded and judged; without, only the load is made.
    pub is_judged: bool,
    /// What is done to sessions and to the server meanwhile.
    pub faults: Vec<Fault>,
    /// How many transactions there are from one fault to the next, on average.
    pub fault_every: u64,
    /// Ends the run.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for Options {
    /// All workloads without faults, until they are interrupted.
    fn default() -> Self {
        Self {
            level: None,
            sessions: 8,
            workloads: Workload::ALL.to_vec(),
            seed: 1,
            time: Duration::MAX,
            transactions: u64::MAX,
            at_once: true,
            is_judged: true,
            faults: Vec::new(),
            fault_every: 500,
            interrupt: Arc::default(),
        }
    }
}

/// How a run went.
#[derive(Debug)]
pub struct Ran {
    /// The level, in the server's words.
    pub level_read_back: String,
    /// The level that the sessions had.
    pub level: Option<Level>,
    /// What was counted.
    pub counts: Counts,
    /// Transactions that committed, also where nothing was judged.
    pub committed: u64,
    /// From the first transaction to the end of the last.
    pub took: Duration,
    /// How its transactions are made again.
    pub recipe: Recipe,
    /// How it went over time; empty if nothing was recorded.
    pub series: Series,
    /// Why it ended early.
    pub lost: Option<DbError>,
}

/// Why there is nothing to tell.
#[derive(Debug, thiserror::Error)]
pub enum StressError {
    /// The target could not be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The table could not be made or read.
    #[error("{what}: {} ({})", .error.message, .error.code)]
    Statement {
        /// What was to be done.
        what: &'static str,
        /// The server's answer.
        error: DbError,
    },
    /// A fault that this target does not have.
    #[error("{0}")]
    Fault(String),
    /// The server did not come back after a fault.
    #[error("after {fault}: {reason}")]
    Gone {
        /// The fault.
        fault: Fault,
        /// What happened then.
        reason: String,
    },
    /// The history could not be written.
    #[error("cannot write the history: {0}")]
    History(#[from] std::io::Error),
}
