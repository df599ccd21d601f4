//! Transactions that are gone without a word, and circles of waits that only the stage has ended.

use anchorite_model::sql::StatementKind;
use anchorite_model::{Blocker, Outcome, Run, SessionIndex};

use crate::evidence::transactions::Transaction;
use crate::evidence::words::abridged;

/// What the names of settings end in that switch off the search for deadlocks.
const DETECTION: &str = "deadlock_detect";

/// A statement that was answered with success, after which the server says that there is no transaction any more.
pub fn untold(run: &Run, transaction: &Transaction<'_>) -> Option<String> {
    transaction.begin?;
    let is_told = transaction.statements.iter().any(|statement| statement.reply.is_err());
    // With autocommit off MariaDB and MySQL do not count one that has only set savepoints yet.
    let mut statements = transaction.statements.iter().skip_while(|statement| {
        let kind = &statement.kind;
        matches!(kind, StatementKind::Savepoint(_) | StatementKind::RollbackTo(_))
    });
    let gone = statements
        .find(|statement| statement.reply.is_ok_and(|answer| answer.in_transaction == Some(false)));
    let gone = gone.filter(|_| !is_told)?;
    let (n, sql, session) = (gone.n, abridged(gone.sql), &run.sessions[transaction.session].name);
    Some(format!(
        "step {n} ({sql}) succeeded, and afterwards {session} is in no transaction, as the server says"
    ))
}

/// Statements in a circle of waits that had to be cancelled.
pub(super) fn endless(run: &Run, transactions: &[Transaction<'_>]) -> Vec<String> {
    let is_off = |value: &str| value.eq_ignore_ascii_case("off") || value == "0";
    if run.settings.iter().any(|(name, value)| name.ends_with(DETECTION) && is_off(value)) {
        return Vec::new();
    }
    let statements = transactions
        .iter()
        .flat_map(|one| one.statements.iter().map(move |statement| (one.session, statement)));
    let cancelled = statements.filter(|(_, statement)| statement.cancelled);
    let told = cancelled.filter(|(session, statement)| {
        let waits = waits_at(run, statement.end);
        reaches(&waits, *session, *session, run.sessions.len())
    });
    told.map(|(session, statement)| {
        let (n, sql, name) = (statement.n, abridged(statement.sql), &run.sessions[session].name);
        format!("step {n} ({sql}) of {name} was part of a circle of waits until it was cancelled")
    })
    .collect()
}

/// Who waited for whom just before a moment.
fn waits_at(run: &Run, moment: usize) -> Vec<(SessionIndex, SessionIndex)> {
    let answered = |n: usize| run.events.iter().find(|event| event.n == n && event.is_answer());
    let mut waits = Vec::new();
    for event in &run.events {
        let Outcome::Blocked { by, .. } = &event.outcome else { continue };
        let is_sent = event.sent.is_some_and(|sent| sent < moment);
        let is_over = answered(event.n).is_some_and(|answer| answer.answered < Some(moment));
        if is_sent && !is_over {
            waits.extend(by.iter().filter_map(|blocker| match blocker {
                Blocker::Session(other) => Some((event.session, *other)),
                Blocker::Outside(_) | Blocker::Prepared(_) => None,
            }));
        }
    }
    waits
}

/// Whether a chain of waits leads from one session to another, in so many steps.
fn reaches(
    waits: &[(SessionIndex, SessionIndex)],
    from: SessionIndex,
    to: SessionIndex,
    steps: usize,
) -> bool {
    steps > 0
        && waits.iter().any(|(waiter, blocker)| {
            *waiter == from && (*blocker == to || reaches(waits, *blocker, to, steps - 1))
        })
}
