//! Two writers at a time, where there can be only one.
//!
//! Idea: where the claims say so (`one_writer`), a transaction with a write statement holds a lock on the whole
//! database, whether or not the statement found rows, and one that began as a writer (`BEGIN IMMEDIATE`) holds it from
//! then on. So another session's write that is answered before the first one has ended is wrong, whatever rows the two
//! are at.
//!
//! Source: <https://www.sqlite.org/lang_transaction.html>. Assumption: a write to a lasting table has begun a write
//! transaction. Blind spot: second writes that change nothing, and first ones that were taken back.

use anchorite_model::Run;
use anchorite_sql::write_shape;

use crate::evidence::transactions::{Performed, Transaction, locks_at_once};
use crate::evidence::words::abridged;

use super::patience::open_until;

/// Two writers of whom the second one should have waited, or failed.
pub(crate) struct TwoWriters<'a> {
    first: (&'a Transaction<'a>, Hold<'a>),
    second: (&'a Transaction<'a>, &'a Performed<'a>),
}

/// By what a transaction became the writer.
enum Hold<'a> {
    /// By its BEGIN.
    Begin(&'a str),
    /// By a write.
    Write(&'a Performed<'a>),
}

/// A write while another transaction was the writer.
pub(crate) fn two_writers<'a>(
    run: &Run,
    transactions: &'a [Transaction<'a>],
) -> Option<TwoWriters<'a>> {
    let open = transactions.iter().filter(|transaction| transaction.begin.is_some());
    for first in open {
        let Some((since, hold)) = hold(run, first) else { continue };
        let until = wants_to_end(run, first).min(open_until(run, first));
        let others = transactions.iter().filter(|other| other.session != first.session);
        for second in others {
            let is_meanwhile = |other: &&Performed<'_>| {
                let is_within = other.start > since && other.end < until;
                is_within && changes_rows(run, other)
            };
            if let Some(other) = second.statements.iter().find(is_meanwhile) {
                return Some(TwoWriters { first: (first, hold), second: (second, other) });
            }
        }
    }
    None
}

/// Since when a transaction is the writer, and by what.
fn hold<'a>(run: &Run, transaction: &'a Transaction<'a>) -> Option<(usize, Hold<'a>)> {
    let dialect = run.target.product.dialect();
    if let Some(begin) = transaction.begin.filter(|begin| locks_at_once(begin, dialect)) {
        let mut own = run.events.iter().filter(|event| event.session == transaction.session);
        let begun = own.find(|event| event.is_answer() && event.sent == Some(transaction.began))?;
        return Some((begun.answered?, Hold::Begin(begin)));
    }
    let mut own = transaction.statements.iter();
    let write = own.find(|write| !write.undone && write.reply.is_ok() && is_lasting(run, write))?;
    Some((write.end, Hold::Write(write)))
}

/// When a transaction was told to end: answers that come together say nothing about what came first.
pub(crate) fn wants_to_end(run: &Run, transaction: &Transaction<'_>) -> usize {
    let mut own = run.events.iter().filter(|event| event.session == transaction.session);
    let end = own.find(|event| event.is_answer() && event.answered == Some(transaction.ended));
    end.and_then(|event| event.sent).unwrap_or(transaction.ended)
}

/// Whether a statement has changed rows of a table that is there at the end.
fn changes_rows(run: &Run, statement: &Performed<'_>) -> bool {
    let has_changed =
        statement.reply.is_ok_and(|answer| answer.affected.is_some_and(|count| count > 0));
    has_changed && is_lasting(run, statement)
}

/// Whether a statement writes to a table that is there at the end.
fn is_lasting(run: &Run, statement: &Performed<'_>) -> bool {
    let dialect = run.target.product.dialect();
    let is_there =
        |table: &str| run.final_state.iter().any(|(there, _)| there.eq_ignore_ascii_case(table));
    statement.is_write()
        && write_shape(statement.sql, dialect).is_some_and(|shape| is_there(&shape.table))
}

impl TwoWriters<'_> {
    /// What happened, and what was promised.
    pub(super) fn sentences(&self, says: &str, url: &str) -> Vec<String> {
        let told = |transaction: &Transaction<'_>, write: &Performed<'_>| {
            format!("step {} ({}) of {}", write.n, abridged(write.sql), transaction.name)
        };
        let ((first, hold), (second, write)) = (&self.first, self.second);
        let writer = match hold {
            Hold::Begin(begin) => {
                format!("{} ({begin}) has begun to write, and was still open", first.name)
            }
            Hold::Write(write) => {
                let told = told(first, write);
                format!("{told} has begun to write, and its transaction was still open")
            }
        };
        vec![
            writer,
            format!("{} has written, too, and neither waited nor failed", told(second, write)),
            format!("promised: {says} ({url})"),
        ]
    }
}
