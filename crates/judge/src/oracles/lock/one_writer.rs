//! Two writers at a time, where there can be only one.
//!
//! Idea: where the claims say so (`one_writer`), a transaction that has written holds a lock on the whole database. So
//! another session's write that is answered before the first one has ended is wrong, whatever rows the two are at.
//!
//! Assumption: a write that changed rows of a lasting table has begun a write transaction. Blind spot: writes that
//! change nothing, and those that were taken back.

use anchorite_model::Run;
use anchorite_sql::write_shape;

use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::words::abridged;

/// Two writes of which the second one should have waited, or failed.
pub(crate) struct TwoWriters<'a> {
    first: (&'a Transaction<'a>, &'a Performed<'a>),
    second: (&'a Transaction<'a>, &'a Performed<'a>),
}

/// A write while another transaction had written and was open.
pub(crate) fn two_writers<'a>(
    run: &Run,
    transactions: &'a [Transaction<'a>],
) -> Option<TwoWriters<'a>> {
    let open = transactions.iter().filter(|transaction| transaction.begin.is_some());
    for first in open {
        let mut own = first.statements.iter().filter(|write| changes_rows(run, write));
        let Some(write) = own.find(|write| !write.undone) else { continue };
        let until = wants_to_end(run, first);
        let others = transactions.iter().filter(|other| other.session != first.session);
        for second in others {
            let is_meanwhile = |other: &&Performed<'_>| {
                other.start > write.end && other.end < until && changes_rows(run, other)
            };
            if let Some(other) = second.statements.iter().find(is_meanwhile) {
                return Some(TwoWriters { first: (first, write), second: (second, other) });
            }
        }
    }
    None
}

/// When a transaction was told to end: answers that come together say nothing about what came first.
fn wants_to_end(run: &Run, transaction: &Transaction<'_>) -> usize {
    let mut own = run.events.iter().filter(|event| event.session == transaction.session);
    let end = own.find(|event| event.is_answer() && event.answered == Some(transaction.ended));
    end.and_then(|event| event.sent).unwrap_or(transaction.ended)
}

/// Whether a statement has changed rows of a table that is there at the end.
fn changes_rows(run: &Run, statement: &Performed<'_>) -> bool {
    let dialect = run.target.product.dialect();
    let has_changed =
        statement.reply.is_ok_and(|answer| answer.affected.is_some_and(|count| count > 0));
    let is_lasting = || {
        write_shape(statement.sql, dialect).is_some_and(|shape| {
            run.final_state.iter().any(|(table, _)| table.eq_ignore_ascii_case(&shape.table))
        })
    };
    statement.is_write() && has_changed && is_lasting()
}

impl TwoWriters<'_> {
    /// What happened, and what was promised.
    pub(super) fn sentences(&self, says: &str, url: &str) -> Vec<String> {
        let told = |(transaction, write): (&Transaction<'_>, &Performed<'_>), did: &str| {
            format!("step {} ({}) of {} {did}", write.n, abridged(write.sql), transaction.name)
        };
        vec![
            told(self.first, "has written, and its transaction was still open"),
            told(self.second, "has written, too, and neither waited nor failed"),
            format!("promised: {says} ({url})"),
        ]
    }
}
