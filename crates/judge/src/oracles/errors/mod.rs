//! The errors oracle: failures that nobody else can have caused, errors that no serial order gives, and transactions
//! that are gone without a word.
//!
//! Idea: a deadlock, a serialization failure, a conflict or a lock time-out says that another transaction was in the
//! way. So there must have been one: open at the same time, and at what the failed transaction had reached by then
//! (`causeless`). Any other error says something about the rows, so some serial order must give an error of the same
//! class (`otherwise`). Two more things are wrong whatever the order is (`ended`): a circle of waits that the server
//! never ends, so that the stage had to, and a transaction that the server calls over after a statement that succeeded.
//!
//! Source: ours. No manual promises that failures have a cause, so what is seen here has the lower rank. Where a vendor
//! documents that they need none, an exception of the claims (`failed`) says so.
//! Assumption: every statement that reaches a table names it, or a table whose definition names it. Blind spots: two
//! transactions at different rows of one table, unless both name all their rows by the primary key; other errors of
//! statements that others may have disturbed; a transaction that is gone while the server says that it is open.

mod causeless;
mod ended;
mod otherwise;
mod reach;

use anchorite_claims::Deviation;
use anchorite_model::sql::StatementKind;
use anchorite_model::{Deed, Judgement, Verdict};

use super::{Needs, Oracle, Sees, Unjudged};
use crate::evidence::Evidence;
use crate::laboratory::Laboratory;
use causeless::{Causeless, Failure};
pub use ended::untold;
use otherwise::Otherwise;
use reach::Tables;

/// The name of the violation: a failure for which no other transaction is a cause.
pub const CAUSELESS: &str = "failure without a conflict";
/// The name of the violation: an error, where the statement fails with one of another class in some serial order.
pub const OTHERWISE: &str = "error of another class";
/// The name of the violation: an error, where the statement succeeds in every serial order.
pub const UNREASONED: &str = "failure without a reason";
/// The name of the violation: a circle of waits that only the stage has ended.
pub const ENDLESS: &str = "deadlock not ended";
/// The name of the violation: the server has ended a transaction without an error.
pub const UNTOLD: &str = "transaction gone without an error";

/// The oracle.
pub struct Errors;

impl Oracle for Errors {
    fn name(&self) -> &'static str {
        "errors"
    }

    fn about(&self) -> &'static str {
        "a failure needs a cause: another transaction, or rows that some serial order gives"
    }

    fn needs(&self) -> Needs {
        Needs::Writes
    }

    fn deed_of(&self, anomaly: &str) -> Option<Deed> {
        Some(match anomaly {
            UNTOLD => Deed::EndedUntold,
            ENDLESS => Deed::DeadlockNotEnded,
            OTHERWISE => Deed::FailedOtherwise,
            _ => Deed::FailedWithoutCause,
        })
    }

    fn sees(&self) -> &'static [Sees] {
        &[Sees { sabotages: &["failure-invented", "error-exchanged"], at: None }]
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        let verdict = verdict(evidence, laboratory)?;
        Ok(Judgement::new(self.name(), verdict))
    }
}

fn verdict(evidence: &Evidence<'_>, laboratory: &mut Laboratory<'_>) -> Result<Verdict, Unjudged> {
    let run = evidence.run;
    let transactions = evidence.transactions()?;
    let untold: Vec<String> = transactions.iter().filter_map(|one| untold(run, one)).collect();
    if !untold.is_empty() {
        return Ok(Verdict::undocumented(UNTOLD, untold));
    }
    let endless = ended::endless(run, transactions);
    if !endless.is_empty() {
        return Ok(Verdict::undocumented(ENDLESS, endless));
    }
    let failures: Vec<Failure<'_>> = run.events.iter().filter_map(Failure::of).collect();
    let is_ddl = |sql: &str| StatementKind::of(sql) == StatementKind::Ddl;
    if run.case.steps.iter().any(|step| is_ddl(&step.statement.sql)) {
        return match failures.as_slice() {
            [] => Ok(Verdict::Pass),
            _ => Err("a table was altered while others used it".to_owned().into()),
        };
    }
    let tables = Tables::of(run, evidence.writes()?.claims.sees);
    let causeless: Vec<Causeless> = failures
        .iter()
        .filter_map(|failure| failure.without_cause(&tables, transactions))
        .collect();
    if !causeless.is_empty() {
        return without_cause(evidence, causeless);
    }
    let search =
        Otherwise { evidence, claims: evidence.writes()?.claims, transactions, tables: &tables };
    let otherwise = search.because(laboratory)?;
    Ok(otherwise
        .map_or(Verdict::Pass, |(anomaly, because)| Verdict::undocumented(anomaly, because)))
}

/// Failures that nobody else can have caused, unless the vendor documents that they happen.
fn without_cause(evidence: &Evidence<'_>, causeless: Vec<Causeless>) -> Result<Verdict, Unjudged> {
    let is_embedded = evidence.run.target.product.descriptor().is_embedded();
    // On a server others than the sessions of the case are at work as well; in an engine of our own nobody is.
    let is_excusable = !(is_embedded && causeless.iter().any(|failure| failure.was_alone));
    let because: Vec<String> = causeless.into_iter().map(|failure| failure.told).collect();
    let mut exceptions = evidence.writes()?.exceptions.iter().copied();
    let excuse =
        exceptions.find(|exception| is_excusable && exception.rows.contains(&Deviation::Failed));
    Ok(match excuse {
        Some(exception) => Verdict::Allowed { exception: exception.name.clone(), because },
        None => Verdict::undocumented(CAUSELESS, because),
    })
}
