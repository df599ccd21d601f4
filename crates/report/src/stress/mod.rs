//! A run of many sessions at full speed as one HTML page that needs no other file, no network and no script.
//!
//! [`page`] puts it together, `chart` draws the rate and the latencies, `lanes` the transactions of a witness.
//!
//! Idea: the numbers first, then the run over time, then every kind of anomaly with its witnesses. Assumption: all text
//! is untrusted; it is made visible first and then escaped by the template.

mod chart;
mod lanes;
mod page;

pub use page::page;

/// One interval of a run.
#[derive(Debug, Clone, Default)]
pub struct Moment {
    /// Transactions that committed, per second.
    pub rate: f64,
    /// Transactions that failed, per second.
    pub failures: f64,
    /// The latency that half of the transactions do not exceed, in microseconds.
    pub median: Option<u64>,
    /// The same for 99 of 100.
    pub high: Option<u64>,
}

/// A transaction of a witness.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Its session, for people; empty if it is not known.
    pub session: String,
    /// When it began and ended, in the order of all begins and ends; `None` if it is not known.
    pub times: Option<(u64, u64)>,
    /// Its statements.
    pub sql: Vec<String>,
}

/// One anomaly with its proof.
#[derive(Debug, Clone)]
pub struct Witness {
    /// A sentence per step.
    pub because: Vec<String>,
    /// Who takes part.
    pub lanes: Vec<Lane>,
    /// What became of it when it was repeated statement by statement; empty if that was not tried.
    pub repeated: String,
}

/// A kind of anomaly.
#[derive(Debug, Clone)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// What it is.
    pub explained: String,
    /// The verdict about it.
    pub verdict: &'static str,
    /// How often it was seen.
    pub count: u64,
    /// The page that speaks of it.
    pub page: Option<String>,
    /// The first witnesses.
    pub witnesses: Vec<Witness>,
}

/// A run.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// The target, with its version.
    pub target: String,
    /// The level, in the server's words.
    pub level: String,
    /// Names and values, in the order in which they are shown.
    pub facts: Vec<(String, String)>,
    /// How many seconds a moment has.
    pub seconds: u64,
    /// The run over time.
    pub moments: Vec<Moment>,
    /// What was seen, the worst first.
    pub kinds: Vec<Kind>,
}
