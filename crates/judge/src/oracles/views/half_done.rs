//! What a write has done to rows while it still waits: where a read sees uncommitted versions, it may see some of it.
//!
//! Idea: an UPDATE or DELETE of one table comes to its rows one by one, so that each row that it changes may be changed
//! already or not. What it does to a row is asked of the database, on a table with just that row. Each row of an INSERT
//! may be there already or not.
//!
//! Blind spot: queries inside, several tables, what gives way to rows that are there, triggers.

use anchorite_model::RunError;
use anchorite_model::sql::StatementKind;
use anchorite_sql::WriteShape;

use super::course::Following;
use super::seen::{Course, HalfDone};
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::Writer;
use crate::laboratory::Laboratory;

impl<'r> Following<'_, 'r> {
    /// What writes that waited while a read ran may have done by then; `None` if that is not known.
    pub(super) fn half_done(
        &self,
        course: &Course,
        read: &Performed<'r>,
        tables: &[usize],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<HalfDone>, RunError> {
        let mut found = HalfDone::default();
        let under_way = self.known.writes_under_way(read, tables);
        if self.known.has_programs && !under_way.is_empty() {
            return Ok(None);
        }
        for n in under_way {
            let Some((writer, write)) = self.performed(n) else { return Ok(None) };
            let shape = evaluator.shape(write.sql);
            let session = self.transactions[writer].session;
            let is_simple_insert = |shape: &WriteShape| {
                let yields = shape.yields_to_keys || shape.updates_on_conflict;
                write.kind == StatementKind::Insert && !shape.has_subquery && !yields
            };
            if let Some(shape) = shape.as_ref().filter(|shape| is_simple_insert(shape)) {
                let mut view = course.world.state.view(writer, read.end);
                let is_it = |name: &String| *name == shape.table;
                let Some(table) = course.world.state.tables.iter().position(is_it) else {
                    return Ok(None);
                };
                view.remove(&table);
                let after = evaluator.on(session, write.sql, &view, laboratory)?;
                let Ok(after) = after else { return Ok(None) };
                let rows = after.tables[table].1.rows.iter();
                found.new.extend(rows.map(|values| (table, values.clone())));
                continue;
            }
            let is_change = matches!(write.kind, StatementKind::Update | StatementKind::Delete);
            let is_plain =
                |shape: &WriteShape| is_change && !shape.has_subquery && !shape.names_table_again;
            let Some(shape) = shape.filter(is_plain) else { return Ok(None) };
            for (at, row) in course.world.state.rows.iter().enumerate() {
                let is_of_table = course.world.state.tables[row.table] == shape.table;
                let base = row.visible(writer, read.end).filter(|_| is_of_table);
                let Some(base) = base else { continue };
                let none = Contents::new();
                let table = row.table;
                match evaluator.on_row(session, write.sql, table, base, &none, laboratory)? {
                    Ok(effect) if effect.values.as_ref() == Some(base) => {}
                    // Between two of its indexes a row may be found in neither place.
                    Ok(effect) => found.rows.entry(at).or_default().extend([effect.values, None]),
                    Err(_) => return Ok(None),
                }
            }
        }
        Ok(Some(found))
    }

    /// The statement with this number.
    fn performed(&self, n: usize) -> Option<(Writer, &Performed<'r>)> {
        self.transactions.iter().enumerate().find_map(|(writer, transaction)| {
            let mut statements = transaction.statements.iter();
            statements.find(|statement| statement.n == n).map(|statement| (writer, statement))
        })
    }
}
