//! What happened to the rows of a run, in the order in which it was answered: statements, ends of transactions, and
//! what was taken back.
//!
//! Assumption: an error that ends a transaction takes back at once what it did, also where the session says ROLLBACK
//! only later; if there is a savepoint, what it did since then
//! (<https://www.postgresql.org/docs/current/subxacts.html>).

use anchorite_model::sql::StatementKind;

use super::savepoints::Savepoints;
use super::transactions::{Performed, Transaction};
use super::versions::Writer;

/// What happens next in a run.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    /// A statement of a transaction, by their numbers.
    Perform {
        /// Whose it is.
        writer: Writer,
        /// The statement.
        statement: usize,
    },
    /// What a transaction has written is taken back.
    TakeBack {
        /// Whose it is.
        writer: Writer,
        /// What was written after this moment.
        since: usize,
        /// When it happens.
        moment: usize,
    },
    /// A transaction commits.
    Commit {
        /// Which one.
        writer: Writer,
    },
}

/// The actions of these transactions, with the statements that `counts` chooses.
pub fn actions(
    transactions: &[&Transaction<'_>],
    counts: impl Fn(&Performed<'_>) -> bool,
) -> Vec<Action> {
    let mut actions = Vec::new();
    for (writer, transaction) in transactions.iter().enumerate() {
        let mut savepoints = Savepoints::default();
        for (statement, performed) in transaction.statements.iter().enumerate() {
            let (moment, is_ok) = (performed.end, performed.reply.is_ok());
            let action = match &performed.kind {
                _ if performed.was_refused() => continue,
                StatementKind::Savepoint(name) if is_ok => {
                    savepoints.set(name, moment);
                    continue;
                }
                StatementKind::Release(name) if is_ok => {
                    savepoints.release(name);
                    continue;
                }
                StatementKind::RollbackTo(name) if is_ok => {
                    let since = savepoints.back_to(name).unwrap_or(0);
                    Action::TakeBack { writer, since, moment }
                }
                _ if counts(performed) => Action::Perform { writer, statement },
                _ => continue,
            };
            actions.push((moment, 0, action));
        }
        actions.extend(partly_lost(writer, transaction));
        let (moment, end) = match transaction.committed {
            true => (transaction.ended, Action::Commit { writer }),
            false => {
                let moment = lost_at(transaction).unwrap_or(transaction.ended);
                (moment, Action::TakeBack { writer, since: 0, moment })
            }
        };
        actions.push((moment, 1, end));
    }
    actions.sort_by_key(|(moment, rank, _)| (*moment, *rank));
    actions.into_iter().map(|(_, _, action)| action).collect()
}

/// What errors took back that ended a transaction as far back as its latest savepoint.
fn partly_lost(writer: Writer, transaction: &Transaction<'_>) -> Vec<(usize, usize, Action)> {
    let mut savepoints = Savepoints::default();
    let mut lost = Vec::new();
    for statement in &transaction.statements {
        let moment = statement.end;
        match &statement.kind {
            StatementKind::Savepoint(name) if statement.reply.is_ok() => {
                savepoints.set(name, moment);
            }
            StatementKind::Release(name) if statement.reply.is_ok() => savepoints.release(name),
            StatementKind::RollbackTo(name) if statement.reply.is_ok() => {
                savepoints.back_to(name);
            }
            _ if ends_it(statement) => {
                let taken = savepoints.latest();
                lost.extend(
                    taken.map(|since| (moment, 1, Action::TakeBack { writer, since, moment })),
                );
            }
            _ => {}
        }
    }
    lost
}

/// Whether a statement ended its transaction by an error, as far back as the latest savepoint.
fn ends_it(statement: &Performed<'_>) -> bool {
    matches!(statement.reply, Err(error) if error.transaction_gone)
}

/// The moment at which an error ended a transaction, unless it went on from a savepoint.
fn lost_at(transaction: &Transaction<'_>) -> Option<usize> {
    let mut lost = None;
    for statement in &transaction.statements {
        match (&statement.kind, statement.reply) {
            (StatementKind::RollbackTo(_), Ok(_)) => lost = None,
            _ if ends_it(statement) => lost = lost.or(Some(statement.end)),
            _ => {}
        }
    }
    lost
}
