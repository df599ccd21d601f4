//! Keys that a point query has locked although there is no row.
//!
//! Idea: where the claims say so (`absent_keys`), an UPDATE, DELETE or SELECT … FOR UPDATE whose condition is exactly a
//! primary or unique key locks that key even if nothing has it. So another session's INSERT of that very key, answered
//! without waiting while the transaction is open, is wrong.
//!
//! Assumption: a condition of nothing but constants for the columns of one key is executed as a point query. Blind
//! spot: readers that have written before, several keys at once, keys that are not integers.

use anchorite_model::Run;
use anchorite_model::sql::StatementKind;
use anchorite_sql::locked_table;
use anchorite_sql::point::{Key, inserts_key, point_key};
use anchorite_sql::schema::{Table, tables};
use anchorite_sql::tokens::significant;
use anchorite_sql::{ParsedStatement, write_shape};

use super::patience::{keeps_locks, waits_for};
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::words::abridged;

/// Two statements of which the second one should have waited.
pub(super) struct Overlooked<'a> {
    reader: &'a Transaction<'a>,
    read: &'a Performed<'a>,
    writer: &'a Transaction<'a>,
    write: &'a Performed<'a>,
}

/// An INSERT of a key that a point query of another transaction had locked.
pub(super) fn overlooked<'a>(
    run: &'a Run,
    transactions: &'a [Transaction<'a>],
) -> Option<Overlooked<'a>> {
    let dialect = run.target.product.dialect();
    let setup = run.case.setup.iter().map(|it| ParsedStatement::read(&it.sql, dialect));
    let known = tables(&setup.collect::<Vec<_>>());
    let is_divided = run.case.setup.iter().any(|statement| {
        significant(&statement.sql, dialect).iter().any(|token| token.is_word("PARTITION"))
    });
    let readers = transactions.iter().filter(|reader| !is_divided && keeps_locks(reader));
    for reader in readers {
        let reads = reader.statements.iter().take_while(|read| finds_nothing(read));
        for read in reads {
            let Some((table, key)) = locked_key(run, read, &known) else { continue };
            let meets = |write: &&'a Performed<'a>| {
                let is_meanwhile =
                    write.start > read.end && !write.waited && write.end < reader.ended;
                is_meanwhile
                    && write.kind == StatementKind::Insert
                    && write.reply.is_ok()
                    && inserts_key(write.sql, dialect, table, &key)
            };
            let writers = transactions.iter().filter(|it| waits_for(it, reader, run));
            for writer in writers {
                if let Some(write) = writer.statements.iter().find(meets) {
                    return Some(Overlooked { reader, read, writer, write });
                }
            }
        }
    }
    None
}

/// Whether a statement has neither changed nor, if it locks, returned anything.
fn finds_nothing(statement: &Performed<'_>) -> bool {
    let is_locking = statement.kind == StatementKind::Select { locking: true };
    statement.reply.is_ok_and(|answer| match statement.is_write() {
        true => answer.affected == Some(0),
        false => !is_locking || answer.results.iter().all(|rows| rows.rows.is_empty()),
    })
}

/// The key that a statement locks, and its table.
fn locked_key<'t>(run: &Run, read: &Performed<'_>, known: &'t [Table]) -> Option<(&'t Table, Key)> {
    let dialect = run.target.product.dialect();
    let shares = run.target.product.descriptor().transactions.shared_locks;
    let name = match read.kind {
        StatementKind::Update | StatementKind::Delete => write_shape(read.sql, dialect)?.table,
        StatementKind::Select { locking: true } => locked_table(read.sql, dialect, shares)?,
        _ => return None,
    };
    let table = known.iter().find(|table| table.name.eq_ignore_ascii_case(&name))?;
    Some((table, point_key(read.sql, dialect, table)?))
}

impl Overlooked<'_> {
    /// What happened, and what was promised.
    pub(super) fn sentences(&self, says: &str, url: &str) -> Vec<String> {
        let (reader, writer) = (&self.reader.name, &self.writer.name);
        vec![
            format!(
                "step {} ({}) of {reader} found nothing and locked that key",
                self.read.n,
                abridged(self.read.sql)
            ),
            format!(
                "step {} ({}) of {writer} inserts that key, and did not wait until {reader} had ended",
                self.write.n,
                abridged(self.write.sql)
            ),
            format!("promised: {says} ({url})"),
        ]
    }
}
