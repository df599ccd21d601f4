//! INSERTs that found one key taken and kept no lock on another one that was free.
//!
//! Idea: the DBMS itself is asked, with a table of one row, whether an INSERT meets that row by a key: then there are
//! fewer rows afterwards than both together. An INSERT that may give way (REPLACE, IGNORE, ON DUPLICATE KEY) lost its
//! place among the commits to another transaction if it meets a row that this one wrote, and a different row, which can
//! stand beside it, so that it is another key.
//!
//! Assumption: what a transaction wrote shows when its statements are executed on the tables as they were before the
//! first or after the last statement, or, for an INSERT, on an empty table.

use std::collections::BTreeSet;

use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Rows, RunError, SessionIndex, Value};
use anchorite_sql::tokens::significant;
use anchorite_sql::write_shape;

use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::{Evidence, Unjudged};
use crate::laboratory::Laboratory;

type Row = Vec<Value>;

/// Pairs of transactions, by their numbers: the first wrote a key that the second had found free before.
pub(super) fn pairs(
    evidence: &Evidence<'_>,
    transactions: &[Transaction<'_>],
    laboratory: &mut Laboratory<'_>,
) -> Result<Vec<(usize, usize)>, Unjudged> {
    let dialect = evidence.run.target.product.dialect();
    let mut all = transactions.iter().flat_map(|transaction| &transaction.statements);
    if !all.any(|statement| gives_way(statement, dialect)) {
        return Ok(Vec::new());
    }
    let initial = evidence.initial(laboratory)?.to_vec();
    let mut evaluator = evidence.evaluator()?;
    let mut asked = Asked {
        evaluator: &mut evaluator,
        laboratory,
        tables: [contents(&initial), contents(&evidence.run.final_state)],
    };
    let mut found = Vec::new();
    for (second, own) in transactions.iter().enumerate().filter(|(_, one)| one.committed) {
        for insert in own.statements.iter().filter(|statement| gives_way(statement, dialect)) {
            let Some(shape) = write_shape(insert.sql, dialect) else { continue };
            let is_table = |(name, _): &(String, Rows)| *name == shape.table;
            let Some(table) = evidence.run.final_state.iter().position(is_table) else { continue };
            let before = transactions.iter().enumerate().take(second);
            for (first, other) in
                before.filter(|(_, one)| one.committed && one.ended > insert.start)
            {
                let wrote = asked.written(other, &shape.table, table, dialect)?;
                if asked.meets_two(own.session, insert.sql, table, &wrote)? {
                    found.push((first, second));
                }
            }
        }
    }
    Ok(found)
}

/// Whether it may go on after it has met a key that is taken.
fn gives_way(statement: &Performed<'_>, dialect: Dialect) -> bool {
    let words = significant(statement.sql, dialect);
    let says = |word: &str| words.iter().any(|token| token.is_word(word));
    statement.reply.is_ok()
        && (statement.kind == StatementKind::Replace
            || (statement.kind == StatementKind::Insert && (says("DUPLICATE") || says("IGNORE"))))
}

fn contents(tables: &[(String, Rows)]) -> Contents {
    tables.iter().enumerate().map(|(table, (_, rows))| (table, rows.rows.clone())).collect()
}

/// Who is asked, and the tables before and after the run.
struct Asked<'q, 'r, 'l> {
    evaluator: &'q mut Evaluator<'r>,
    laboratory: &'q mut Laboratory<'l>,
    tables: [Contents; 2],
}

impl Asked<'_, '_, '_> {
    /// The rows of a table that a transaction wrote.
    fn written(
        &mut self,
        transaction: &Transaction<'_>,
        name: &str,
        table: usize,
        dialect: Dialect,
    ) -> Result<BTreeSet<Row>, RunError> {
        let mut written = BTreeSet::new();
        for statement in &transaction.statements {
            let is_here = |shape: &anchorite_sql::WriteShape| shape.table == name;
            if !write_shape(statement.sql, dialect).as_ref().is_some_and(is_here) {
                continue;
            }
            let filled = self.tables.clone();
            let empty = filled.clone().map(|mut tables| {
                tables.remove(&table);
                tables
            });
            for tables in filled.into_iter().chain(empty) {
                let before = tables.get(&table).cloned().unwrap_or_default();
                let after = self.on(transaction.session, statement.sql, table, &tables)?;
                written.extend(after.into_iter().flatten().filter(|row| !before.contains(row)));
            }
        }
        Ok(written)
    }

    /// Whether an INSERT meets one of these rows, and a different one by another key.
    fn meets_two(
        &mut self,
        session: SessionIndex,
        insert: &str,
        table: usize,
        wrote: &BTreeSet<Row>,
    ) -> Result<bool, RunError> {
        let all: BTreeSet<Row> =
            self.tables.iter().filter_map(|tables| tables.get(&table)).flatten().cloned().collect();
        for free in wrote {
            if !self.meets(session, insert, table, std::slice::from_ref(free))? {
                continue;
            }
            for taken in all.iter().filter(|row| *row != free) {
                let both = [taken.clone(), free.clone()];
                if self.meets(session, insert, table, std::slice::from_ref(taken))?
                    && self.meets(session, insert, table, &both)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether an INSERT finds a key of these rows taken; not if they cannot stand beside each other.
    fn meets(
        &mut self,
        session: SessionIndex,
        insert: &str,
        table: usize,
        rows: &[Row],
    ) -> Result<bool, RunError> {
        let mut others = self.tables[0].clone();
        others.remove(&table);
        let alone = self.on(session, insert, table, &others)?;
        others.insert(table, rows.to_vec());
        let beside = self.on(session, insert, table, &others)?;
        Ok(alone.zip(beside).is_some_and(|(alone, beside)| beside.len() < alone.len() + rows.len()))
    }

    /// What a statement leaves in a table that has these contents; `None` if it fails there.
    fn on(
        &mut self,
        session: SessionIndex,
        sql: &str,
        table: usize,
        tables: &Contents,
    ) -> Result<Option<Vec<Row>>, RunError> {
        let after = self.evaluator.on(session, sql, tables, self.laboratory)?;
        Ok(after.ok().map(|after| after.tables[table].1.rows.clone()))
    }
}
