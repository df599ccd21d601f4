//! Writes with a query of the table that they write, or joined with it, where all queries see one snapshot.
//!
//! Idea: in `WITH t AS (…) UPDATE t …` the written table is the real one, and every other mention of its name is
//! that of the query in front. So the unchanged statement is tried on a single row, or on the latest keys, while its
//! queries find the rows of the snapshot.
//!
//! A row that was changed meanwhile is checked again. A query that runs by itself gives the same as before; one that
//! became a join is checked again with the partner that was found before, so that a row may be left that another
//! partner would let through; and what an anti-join did not find, it does not look for again.
//!
//! Source: <https://www.postgresql.org/docs/current/sql-select.html#SQL-WITH>, PostgreSQL's
//! src/backend/executor/README (EvalPlanQual), and for what becomes a join
//! src/backend/optimizer/prep/prepjointree.c. Blind spot: which plan was taken, so that either result passes.

use anchorite_claims::WriteView;
use anchorite_model::Value;
use anchorite_model::sql::{Dialect, StatementKind, literal};
use anchorite_sql::tokens::{is_any, significant};
use anchorite_sql::{WriteShape, joined_shape};

use super::simulate::Simulation;
use crate::evidence::evaluator::Contents;
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{State, Writer};

/// What becomes of a row that was changed meanwhile, and that its latest version still lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckedAgain {
    /// It is changed.
    Surely,
    /// It may be left: its partner does not fit any more.
    Perhaps,
    /// Not even its latest version tells.
    Unknown,
}

/// What a condition with queries inside, or a joined write, says of a row that is checked again.
pub(super) fn checked_again(sql: &str, dialect: Dialect) -> CheckedAgain {
    let tokens = significant(sql, dialect);
    if tokens.iter().any(|token| token.is_word("EXISTS")) {
        return CheckedAgain::Unknown;
    }
    let asks = |at: usize| {
        let behind = |offset: usize| tokens.get(at + offset);
        is_any(&tokens[at], &["IN", "ANY", "SOME"])
            && behind(1).is_some_and(|token| token.is_symbol("("))
            && behind(2).is_some_and(|token| token.is_word("SELECT"))
            && !(at > 0 && tokens[at - 1].is_word("NOT"))
    };
    let is_join = joined_shape(sql, dialect).is_some();
    match is_join || (0..tokens.len()).any(asks) {
        true => CheckedAgain::Perhaps,
        false => CheckedAgain::Surely,
    }
}

impl<'r> Simulation<'_, 'r> {
    /// The statement with what its queries find in the table that it writes; `None` where that is not one snapshot.
    pub(super) fn beside_its_snapshot(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'r>,
        shape: &WriteShape,
        table: usize,
    ) -> Option<String> {
        let (sees, begin) = self.view_of(writer, statement);
        let is_insert = statement.kind == StatementKind::Insert;
        let sees_one = match sees {
            WriteView::StatementSnapshot => true,
            // A row that was changed since cannot be written at all.
            WriteView::TransactionSnapshot => is_insert,
            _ => false,
        };
        let is_apart = !(is_insert && shape.yields_to_keys);
        if !sees_one || !is_apart || !shape.names_table_again || self.dialect != Dialect::Postgres {
            return None;
        }
        let found: Contents = state.view(writer, begin);
        let rows = found.get(&table).into_iter().flatten();
        let row = |row: &Vec<Value>| {
            let cells: Vec<String> = row.iter().map(|cell| literal(cell, self.dialect)).collect();
            format!(" UNION ALL SELECT {}", cells.join(", "))
        };
        let rows: String = rows.map(row).collect();
        let name = &state.tables[table];
        let query = format!("SELECT * FROM \"{name}\" WHERE FALSE{rows}");
        Some(format!("WITH \"{name}\" AS ({query}) {}", statement.sql))
    }

    /// The same as text and shape: what its queries find does not count as the written table any more.
    pub(super) fn apart(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'r>,
        shape: &WriteShape,
        table: usize,
    ) -> (String, WriteShape) {
        let beside = self.beside_its_snapshot(state, writer, statement, shape, table);
        let names_table_again = shape.names_table_again && beside.is_none();
        let sql = beside.unwrap_or_else(|| statement.sql.to_owned());
        (sql, WriteShape { names_table_again, ..shape.clone() })
    }
}
