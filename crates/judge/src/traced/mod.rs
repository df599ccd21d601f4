//! Which version of which row each statement saw, told by the rows themselves.
//!
//! Idea: the case is run a second time on tables with one more column, in which every write leaves its label
//! ([`anchorite_sql::chained`]). So each row that a query returns says which version it is and which were before it;
//! the versions of all rows follow, with their order and their writers, and what every statement read. Nothing about
//! the mechanism of the level is assumed.
//!
//! * [`case`](mod@case): the case with chains. [`rows`]: the versions; [`removed`]: rows that were removed.
//! * [`looks`]: what each statement saw of them. `between`: whether something came between two statements.
//! * [`matching`]: whether a version matches a condition, decided on its values alone.
//! * [`edges`]: the dependencies that follow; [`cycles`]: the anomalies that they form.
//! * [`named`](mod@named): what happens in a case, by name. [`asked`]: the instrumented run of a case for oracles.
//! * [`recorded`]: what the run tells as a history that `anchorite check` reads.
//! * [`statements`]: the same between single statements, and the orders that fit.
//!
//! Source: Adya 1999; chapter 5 of the thesis on exact dependency graphs (unborn and dead versions, and "changes the
//! matches" on the values of a row instead of queries inside the transactions). Blind spot: what a query inside another
//! one reads, and which rows a join or a LIMIT left out, does not show; dependencies through these are only possible
//! ones.

pub mod asked;
mod between;
pub mod case;
pub mod cycles;
pub mod edges;
pub mod known;
pub mod looks;
pub mod matching;
pub mod named;
pub mod recorded;
pub mod removed;
pub mod rows;
#[cfg(test)]
mod second_opinion;
pub mod statements;

use anchorite_model::{Run, RunError};

use crate::evidence::transactions::Transaction;
use crate::evidence::{Evidence, Unjudged};
use crate::laboratory::Laboratory;
use case::ChainedCase;
use edges::Dependencies;
use known::Known;
use looks::Look;
use matching::Matches;
use rows::Versions;

/// What an instrumented run tells.
#[derive(Debug)]
pub struct Told {
    /// Its statements.
    pub case: ChainedCase,
    /// Every version of every row.
    pub versions: Versions,
    /// What the statements of committed transactions saw.
    pub looks: Vec<Look>,
    /// Which versions match the conditions of the looks.
    pub matches: Matches,
    /// What depends on what.
    pub dependencies: Dependencies,
}

/// The same, with the transactions of the run.
#[derive(Clone, Copy)]
pub struct Traced<'t> {
    /// Its statements.
    pub case: &'t ChainedCase,
    /// Its transactions.
    pub transactions: &'t [Transaction<'t>],
    /// Every version of every row.
    pub versions: &'t Versions,
    /// What the statements of committed transactions saw.
    pub looks: &'t [Look],
    /// Which versions match the conditions of the looks.
    pub matches: &'t Matches,
    /// What depends on what.
    pub dependencies: &'t Dependencies,
}

impl Told {
    /// With the transactions of the run that told it.
    pub fn by<'t>(&'t self, transactions: &'t [Transaction<'t>]) -> Traced<'t> {
        let Self { case, versions, looks, matches, dependencies } = self;
        Traced { case, transactions, versions, looks, matches, dependencies }
    }
}

/// Why a run tells nothing.
#[derive(Debug)]
pub enum Untold {
    /// For this reason.
    Reason(String),
    /// A row shows a version that no statement can have written.
    Unwritten(String),
    /// A further run could not be made.
    Failed(RunError),
}

impl From<String> for Untold {
    fn from(reason: String) -> Self {
        Self::Reason(reason)
    }
}

impl From<&str> for Untold {
    fn from(reason: &str) -> Self {
        Self::Reason(reason.to_owned())
    }
}

impl From<RunError> for Untold {
    fn from(error: RunError) -> Self {
        Self::Failed(error)
    }
}

impl From<Untold> for Unjudged {
    fn from(untold: Untold) -> Self {
        match untold {
            Untold::Reason(why) | Untold::Unwritten(why) => Self::Undecided(why),
            Untold::Failed(error) => Self::Failed(error),
        }
    }
}

impl std::fmt::Display for Untold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reason(why) | Self::Unwritten(why) => f.write_str(why),
            Self::Failed(error) => write!(f, "{error}"),
        }
    }
}

/// Reads the run of a chained case; `evidence` is about that run.
pub fn told(
    case: ChainedCase,
    evidence: &Evidence<'_>,
    laboratory: &mut Laboratory<'_>,
) -> Result<Told, Untold> {
    let run: &Run = evidence.run;
    let transactions = evidence.transactions()?;
    let initial = evidence.initial(laboratory)?;
    let mut evaluator = evidence.evaluator()?;
    let known = Known { run, case: &case, transactions, initial };
    let removed = removed::removed(known, &mut evaluator, laboratory)?;
    let mut versions = rows::versions(run, &case, transactions, initial, &removed)?;
    versions.passes_on = (0..run.final_state.len()).any(|table| evaluator.passes_on(table));
    matching::complete(&mut versions, known, &mut evaluator, laboratory)?;
    let looks = looks::looks(run, &case, transactions, &versions)?;
    let matches = matching::matches(known, &looks, &versions, &mut evaluator, laboratory)?;
    let committed: Vec<bool> = transactions.iter().map(|one| one.committed).collect();
    let dependencies = edges::dependencies(&versions, &looks, &matches, &committed);
    Ok(Told { case, versions, looks, matches, dependencies })
}
