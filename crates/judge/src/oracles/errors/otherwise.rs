//! Errors that no serial order gives: a constraint, a type or anything else that a statement fails by on its own
//! account.
//!
//! Idea: the statement is executed after every sequence of committed transactions that may have come before it. If it
//! succeeds after all of them, or fails with an error of another class, the rows were no reason for the error.
//!
//! It must be sure what the statement could see. Either nobody else was at its tables from the beginning of its
//! transaction to the failure: then all statements before it are executed too. Or it is the first that looks at rows,
//! did not wait, and all others at its tables committed: then it counts alone, and must have seen what was committed at
//! one moment. At read uncommitted, and where somebody committed between the beginning of a transaction with one
//! snapshot and the statement, nothing is said.
//!
//! Blind spots: whether an UPDATE meets its own keys depends on where rows lie, so duplicate keys of UPDATEs count only
//! if nobody else had been at the table; errors of one class are not told apart.

use std::collections::BTreeSet;

use anchorite_claims::{WriteClaims, WriteView};
use anchorite_model::sql::StatementKind;
use anchorite_model::{DbError, Ending, ErrorClass, Level, Outcome, RunError};

use super::reach::Tables;
use super::{OTHERWISE, UNREASONED};
use crate::evidence::orders::orders;
use crate::evidence::refusals::refused_inserts;
use crate::evidence::replay::{Form, replay};
use crate::evidence::serial::Serial;
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::words::abridged;
use crate::evidence::{Evidence, level_of};
use crate::laboratory::Laboratory;
use crate::oracles::Unjudged;

/// The most sequences before a statement that are executed.
const SEQUENCES_MAX: usize = 16;

/// How it is told that a statement succeeds.
const SUCCEEDS: &str = "succeeds";

/// A search for errors that no serial order gives.
pub(super) struct Otherwise<'a, 'r> {
    pub evidence: &'a Evidence<'r>,
    pub claims: &'a WriteClaims,
    pub transactions: &'a [Transaction<'r>],
    pub tables: &'a Tables<'r>,
}

impl<'r> Otherwise<'_, 'r> {
    /// Which violation an error is that no serial order gives, and why; `None` if there is no evidence of that.
    pub(super) fn because(
        &self,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<(&'static str, Vec<String>)>, Unjudged> {
        let product = self.evidence.run.target.product;
        let refused = refused_inserts(self.transactions, product, self.claims.sees);
        let is_refused = |n: usize| refused.iter().any(|one| one.statements[0].n == n);
        let damaged = &product.descriptor().damage.codes;
        for transaction in self.transactions {
            let failed = transaction.statements.iter().enumerate().find_map(|(at, statement)| {
                let error = statement.reply.err().filter(|_| speaks_of_rows(statement))?;
                Some((at, statement, error))
            });
            // These are the business of other oracles.
            let failed = failed.filter(|(_, statement, error)| {
                !is_refused(statement.n) && !damaged.contains(&error.code)
            });
            let Some((at, statement, error)) = failed else { continue };
            let Some(alone) = self.certain(transaction, at) else { continue };
            // An order that explains the committed transactions gives their errors, too.
            let is_explained = transaction.committed
                && matches!(self.evidence.serial(laboratory)?, Serial::Explained);
            if is_explained {
                continue;
            }
            if let Some(seen) = self.in_serial_orders(&alone, error.class, laboratory)? {
                let succeeds = seen.iter().all(|outcome| outcome == SUCCEEDS);
                let anomaly = if succeeds { UNREASONED } else { OTHERWISE };
                return Ok(Some((anomaly, vec![told(statement, error, &seen)])));
            }
        }
        Ok(None)
    }

    /// What to execute so that the statement sees what it saw; `None` if that is not certain.
    fn certain(&self, transaction: &Transaction<'r>, at: usize) -> Option<Transaction<'r>> {
        let failed = &transaction.statements[at];
        let until_then = &transaction.statements[..=at];
        let reached = self.tables.reached(until_then.iter().map(|statement| statement.sql));
        let touches = |other: &&Transaction<'r>| {
            let statements = other.statements.iter();
            let sent = statements.filter(|statement| statement.start < failed.end);
            other.session != transaction.session
                && self.tables.reached(sent.map(|statement| statement.sql)).meets(&reached)
        };
        let others: Vec<&Transaction<'r>> = self.transactions.iter().filter(touches).collect();
        let taken = &self.evidence.run.target.product.descriptor().duplicate_key;
        let depends_on_places = failed.kind == StatementKind::Update
            && matches!(failed.reply, Err(error) if taken.contains(&error.code));
        if depends_on_places && !others.is_empty() {
            return None;
        }
        let overlaps = |other: &&&Transaction<'r>| other.ended > transaction.began;
        let meanwhile: Vec<&&Transaction<'r>> = others.iter().filter(overlaps).collect();
        if meanwhile.is_empty() {
            let statements = until_then.to_vec();
            return Some(Transaction { statements, ended: failed.end, ..transaction.clone() });
        }
        let is_first =
            transaction.first_look().is_some_and(|first| first.n == failed.n) && !failed.waited;
        let has_snapshot =
            matches!(self.claims.sees, WriteView::TransactionSnapshot | WriteView::LateSnapshot);
        let is_settled = |other: &&&Transaction<'r>| {
            let came_between = (transaction.began..failed.start).contains(&other.ended);
            other.committed && !(has_snapshot && came_between)
        };
        let is_dirty = level_of(self.evidence.run) == Some(Level::ReadUncommitted);
        let is_certain = is_first && !is_dirty && meanwhile.iter().all(is_settled);
        is_certain.then(|| Transaction {
            begin: None,
            statements: vec![failed.clone()],
            began: failed.start,
            ended: failed.end,
            ..transaction.clone()
        })
    }

    /// What the last statement gives after every sequence that may have come before it; `None` if one gives an error of
    /// this class, or it is not certain.
    fn in_serial_orders(
        &self,
        alone: &Transaction<'r>,
        class: ErrorClass,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<BTreeSet<String>>, RunError> {
        let mut seen = BTreeSet::new();
        let Some(sequences) = self.sequences(alone) else { return Ok(None) };
        for before in sequences {
            let order: Vec<&Transaction<'_>> = before.into_iter().chain([alone]).collect();
            let replay = replay(self.evidence.run, &order, Form::Transactions, true);
            let failed = alone.statements.last().map(|statement| statement.n);
            let performed = laboratory.run(&replay.case)?;
            if let Ending::TargetLost(_) = performed.ending {
                return Ok(None);
            }
            match failed.and_then(|n| replay.answer(&performed, n)) {
                Some(Outcome::Ok(_)) => drop(seen.insert(SUCCEEDS.to_owned())),
                Some(Outcome::Error(error))
                    if error.class != class && !error.class.is_of_others() =>
                {
                    let DbError { code, class, .. } = error;
                    seen.insert(format!("fails with {code} ({})", class.name()));
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(seen))
    }

    /// The sequences of committed writers at the same tables that may have come before; `None` if there are too many.
    fn sequences<'s>(
        &'s self,
        alone: &'s Transaction<'r>,
    ) -> Option<Vec<Vec<&'s Transaction<'r>>>> {
        let texts = |transaction: &Transaction<'r>| {
            self.tables.reached(transaction.statements.iter().map(|statement| statement.sql))
        };
        let reached = texts(alone);
        let counts = |other: &&Transaction<'r>| {
            let is_later = other.session == alone.session && other.ended >= alone.ended;
            other.committed && !is_later && other.is_writer() && texts(other).meets(&reached)
        };
        let all: Vec<&Transaction<'r>> =
            self.transactions.iter().filter(counts).chain([alone]).collect();
        let (possible, are_all) = orders(self.evidence.run, &all, self.claims, &|_, _| true);
        let last = all.len() - 1;
        let before = |order: &Vec<usize>| {
            order.iter().copied().take_while(|at| *at != last).collect::<Vec<usize>>()
        };
        let different: BTreeSet<Vec<usize>> = possible.iter().map(before).collect();
        let are_few = are_all && different.len() <= SEQUENCES_MAX;
        let named = |order: Vec<usize>| order.into_iter().map(|at| all[at]).collect();
        are_few.then(|| different.into_iter().map(named).collect())
    }
}

/// Whether a statement failed on its own account, by what it found in the tables.
fn speaks_of_rows(statement: &Performed<'_>) -> bool {
    let looks = statement.kind.writes() || matches!(statement.kind, StatementKind::Select { .. });
    let is_own = matches!(statement.reply, Err(error) if !error.class.is_of_others());
    looks && is_own && !statement.was_refused() && !statement.undone
}

fn told(statement: &Performed<'_>, error: &DbError, seen: &BTreeSet<String>) -> String {
    let (n, sql) = (statement.n, abridged(statement.sql));
    let DbError { code, message, class, .. } = error;
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    let (class, seen) = (class.name(), seen.join(", or "));
    format!(
        "step {n} ({sql}) failed with {code} ({class}: {message}), but {seen} in every serial order"
    )
}
