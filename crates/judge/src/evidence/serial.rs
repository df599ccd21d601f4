//! Whether some serial order of the committed transactions gives what the run gave.
//!
//! Idea: the orders that are possible ([`orders`](super::orders)) are executed one by one, each statement by statement
//! and, if that does not give the run, as transactions ([`replay`](super::replay)). What the outcome means is up to
//! each oracle; the search itself is by far the most expensive part, so it is done once
//! ([`Evidence::serial`](super::Evidence::serial)).

use anchorite_claims::{ReadPlace, WriteClaims};
use anchorite_model::{Ending, Expected, Rows, Run, RunError};
use anchorite_sql::Definition;

use super::difference::{Difference, differences};
use super::orders::orders;
use super::replay::{Form, replay};
use super::transactions::Transaction;
use crate::laboratory::Laboratory;

pub use super::orders::MOST_ORDERS;

/// The number of serial orders shown with a violation.
const EXPECTED_SHOWN: usize = 3;

/// A serial order as it was executed, and how the run differs from it.
#[derive(Debug, Clone)]
pub struct PerformedOrder {
    /// The order, and how it was executed.
    pub title: String,
    /// How the run differs from it; empty: not at all.
    pub differences: Vec<Difference>,
    /// The tables that it ends with.
    pub final_state: Vec<(String, Rows)>,
}

impl PerformedOrder {
    /// Whether the run differs from it only in what was read.
    pub fn differs_in_reads_only(&self) -> bool {
        self.differences.iter().all(Difference::is_of_reads)
    }

    /// What should have happened, for a report.
    pub fn expected(&self) -> Expected {
        Expected {
            title: self.title.clone(),
            differences: self.differences.iter().map(ToString::to_string).collect(),
            final_state: self.final_state.clone(),
        }
    }
}

/// The first of several orders, for a report, and a sentence for each.
pub fn shown(orders: &[PerformedOrder]) -> (Vec<Expected>, Vec<String>) {
    let expected: Vec<Expected> =
        orders.iter().take(EXPECTED_SHOWN).map(PerformedOrder::expected).collect();
    let sentence =
        |order: &Expected| format!("not {}: {}", order.title, order.differences.join("; "));
    let sentences = expected.iter().map(sentence).collect();
    (expected, sentences)
}

/// The result of the serial orders.
#[derive(Debug, Clone)]
pub enum Serial {
    /// One of them gives the run.
    Explained,
    /// One gives it as transactions, but not as single statements, whose result is attached.
    OnlyAsTransactions(PerformedOrder),
    /// None does.
    Unexplained {
        /// Those that were tried.
        orders: Vec<PerformedOrder>,
        /// Whether these are all.
        all_tried: bool,
    },
    /// One could not be executed.
    Failed(String),
}

/// Transactions that need not keep all of the promise.
#[derive(Clone, Copy)]
pub struct Leniency<'f> {
    /// The reads of these are not compared.
    pub left_out: &'f dyn Fn(&Transaction<'_>) -> bool,
    /// Of two of which the first committed earlier, the second may come before it.
    pub free: &'f dyn Fn(&Transaction<'_>, &Transaction<'_>) -> bool,
}

/// All transactions must keep all of it.
pub const STRICT: Leniency<'static> = Leniency { left_out: &|_| false, free: &|_, _| false };

/// A search for an order that explains a run.
pub struct Search<'a, 'r> {
    /// The run.
    pub run: &'r Run,
    /// What is promised about its writes.
    pub claims: &'a WriteClaims,
    /// Its transactions; those that committed are executed.
    pub transactions: &'a [Transaction<'r>],
    /// Refused statements that must be refused again.
    pub refused: &'a [Transaction<'r>],
}

impl Search<'_, '_> {
    /// Tries the orders until one explains the run.
    pub fn perform(
        &self,
        leniency: Leniency<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Serial, RunError> {
        let reads = self.claims.reads != ReadPlace::Free;
        let relevant: Vec<&Transaction<'_>> = self
            .transactions
            .iter()
            .filter(|transaction| transaction.committed && !(leniency.left_out)(transaction))
            .filter(|transaction| transaction.is_writer() || (reads && transaction.is_reader()))
            .chain(self.refused)
            .collect();
        let (possible, all_tried) = orders(self.run, &relevant, self.claims, leniency.free);
        let mut tried = Vec::new();
        // An order that explains only the transactions. A later one may also explain the statements.
        let mut halfway = None;
        for order in possible {
            let order: Vec<&Transaction<'_>> = order.iter().map(|&at| relevant[at]).collect();
            match self.try_order(&order, reads, laboratory)? {
                Serial::Unexplained { orders, .. } => tried.extend(orders),
                Serial::Explained => return Ok(Serial::Explained),
                Serial::Failed(reason) => return Ok(Serial::Failed(reason)),
                only => drop(halfway.get_or_insert(only)),
            }
        }
        // An order that was not tried may also explain the statements.
        let halfway = halfway.filter(|_| all_tried);
        Ok(halfway.unwrap_or(Serial::Unexplained { orders: tried, all_tried }))
    }

    /// Executes one order: if the single statements explain the run, that is enough, whatever the transactions would
    /// give. Only a transaction can explain a read that saw what a ROLLBACK TO undid.
    fn try_order(
        &self,
        order: &[&Transaction<'_>],
        reads: bool,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Serial, RunError> {
        let is_undone = |t: &&Transaction<'_>| t.statements.iter().any(|s| s.undone);
        let mut alone = None;
        if !(reads && order.iter().any(is_undone)) {
            let performed = self.perform_order(order, Form::Statements, reads, laboratory)?;
            if performed.as_ref().is_ok_and(|order| order.differences.is_empty()) {
                return Ok(Serial::Explained);
            }
            // With reads compared it would say too much about the writes.
            alone = Some(performed).filter(|_| !reads);
        }
        let together = match self.perform_order(order, Form::Transactions, reads, laboratory)? {
            Ok(together) => together,
            Err(reason) => return Ok(Serial::Failed(reason)),
        };
        if !together.differences.is_empty() {
            return Ok(Serial::Unexplained { orders: vec![together], all_tried: true });
        }
        if self.checks_late() {
            return Ok(Serial::Explained);
        }
        let alone = match alone {
            Some(alone) => alone,
            None => self.perform_order(order, Form::Statements, false, laboratory)?,
        };
        Ok(match alone {
            Ok(alone) if alone.differences.is_empty() => Serial::Explained,
            Ok(alone) => Serial::OnlyAsTransactions(alone),
            Err(reason) => Serial::Failed(reason),
        })
    }

    /// Whether a constraint is checked when a transaction commits: then its statements may fail by themselves.
    fn checks_late(&self) -> bool {
        let dialect = self.run.target.product.dialect();
        let mut setup = self.run.case.setup.iter();
        setup.any(|statement| Definition::read(&statement.sql, dialect).late)
    }

    /// Executes one order in one form and compares.
    fn perform_order(
        &self,
        order: &[&Transaction<'_>],
        form: Form,
        reads: bool,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Result<PerformedOrder, String>, RunError> {
        let replay = replay(self.run, order, form, reads);
        let performed = laboratory.run(&replay.case)?;
        if let Ending::TargetLost(_) = &performed.ending {
            let reason = "a serial order could not be performed, because the server went away";
            return Ok(Err(reason.to_owned()));
        }
        let names: Vec<&str> = order.iter().map(|transaction| transaction.name.as_str()).collect();
        let how = match form {
            Form::Transactions => "one transaction after the other",
            Form::Statements => "statement by statement without transactions",
        };
        Ok(Ok(PerformedOrder {
            title: format!("{}, {how}", names.join(", then ")),
            differences: differences(self.run, &performed, replay.compared()),
            final_state: performed.final_state,
        }))
    }
}
