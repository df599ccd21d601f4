//! Which transactions keep the locks that they take, and which wait for those of others.

use anchorite_model::{Outcome, Run};

use crate::evidence::transactions::{Performed, Transaction, is_optimistic};

/// Whether its locks are taken immediately, and kept.
pub(crate) fn keeps_locks(reader: &Transaction<'_>) -> bool {
    let gives_up = |statement: &Performed<'_>| {
        statement.undone || statement.ignored || statement.reply.is_err()
    };
    reader.begin.is_some_and(|begin| !is_optimistic(begin))
        && !reader.statements.iter().any(gives_up)
}

/// Whether a transaction waits where another one has a lock.
pub(crate) fn waits_for(writer: &Transaction<'_>, reader: &Transaction<'_>, run: &Run) -> bool {
    let singles_wait = run.target.product.descriptor().transactions.single_statements_wait;
    writer.session != reader.session
        && !writer.begin.is_some_and(is_optimistic)
        && (singles_wait || writer.begin.is_some())
}

/// Until when a transaction was surely open. One that never ended was rolled back after the schedule, at a moment that
/// the run does not tell; but whoever had waited for it went on only then.
pub(crate) fn open_until(run: &Run, open: &Transaction<'_>) -> usize {
    if open.ended != usize::MAX {
        return open.ended;
    }
    // Also a BEGIN may have waited (SQLite's BEGIN IMMEDIATE), which is no statement of its transaction.
    let others = run.events.iter().filter(|event| event.session != open.session);
    let waited = others.filter(|event| matches!(event.outcome, Outcome::Blocked { .. }));
    let answers = waited.filter_map(|blocked| {
        let mut of_it = run.events.iter().filter(|event| event.n == blocked.n);
        of_it.find(|event| event.is_answer()).and_then(|event| event.answered)
    });
    answers.filter(|answered| *answered > open.began).min().unwrap_or(usize::MAX)
}
