//! Tables that were emptied while others had a snapshot of them.
//!
//! Idea: where the vendor documents that TRUNCATE counts for every snapshot, whoever reaches the table after it with an
//! older snapshot finds it empty, which no serial order gives. What else such a statement must have done is not
//! followed, so that the run is neither wrong nor excused.

use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_sql::tokens::{name, significant};

use crate::evidence::transactions::{Performed, Transaction};

/// Whether one of these tables was emptied by a transaction while a statement of another one, which reaches the table,
/// had begun and was not answered, or its transaction had begun and its statement came later.
pub(super) fn meets_emptied(
    transactions: &[Transaction<'_>],
    tables: &[&str],
    dialect: Dialect,
) -> bool {
    let named = |statement: &Performed<'_>| {
        let words = significant(statement.sql, dialect);
        let is_named = |table: &&&str| {
            words.iter().filter_map(name).any(|word| word.eq_ignore_ascii_case(table))
        };
        tables.iter().filter(is_named).copied().collect::<Vec<&str>>()
    };
    let is_emptying = |statement: &&Performed<'_>| {
        let words = significant(statement.sql, dialect);
        statement.kind == StatementKind::Ddl
            && statement.reply.is_ok()
            && words.first().is_some_and(|word| word.is_word("TRUNCATE"))
    };
    transactions.iter().filter(|one| one.committed).any(|one| {
        let emptied: Vec<&str> =
            one.statements.iter().filter(is_emptying).flat_map(named).collect();
        let reaches_late = |other: &Transaction<'_>| {
            let reaches = |statement: &Performed<'_>| {
                statement.end > one.ended
                    && named(statement).iter().any(|table| emptied.contains(table))
            };
            other.session != one.session
                && other.began < one.ended
                && other.statements.iter().any(reaches)
        };
        transactions.iter().any(reaches_late)
    })
}
