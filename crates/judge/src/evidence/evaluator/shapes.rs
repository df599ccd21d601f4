//! Which table a write really changes.
//!
//! Idea: a view that shows the rows of one table is written like that table; which rows it shows, the database says
//! when the unchanged statement is tried. Blind spot: queries inside, which may read the view or the table.

use anchorite_model::Statement;
use anchorite_sql::tokens::{name, significant};
use anchorite_sql::{Definition, WriteShape, write_shape};

use super::Evaluator;

impl Evaluator<'_> {
    /// The shape of a write; one that names a view, and nothing else, writes the table of the view.
    pub fn shape(&self, sql: &str) -> Option<WriteShape> {
        let mut shape = write_shape(sql, self.run.target.product.dialect())?;
        if let Some(table) = self.table_of_view(&shape.table) {
            if shape.has_subquery || shape.names_table_again {
                return None;
            }
            shape.table = table.to_owned();
        }
        Some(shape)
    }

    /// The only table that a view is about.
    fn table_of_view(&self, view: &str) -> Option<&str> {
        let dialect = self.run.target.product.dialect();
        let is_it = |statement: &&Statement| {
            let made = Definition::read(&statement.sql, dialect).view;
            made.is_some_and(|made| made.eq_ignore_ascii_case(view))
        };
        let tokens = significant(&self.ddl.iter().find(is_it)?.sql, dialect);
        let is_named = |table: &str| {
            tokens.iter().filter_map(name).any(|name| name.eq_ignore_ascii_case(table))
        };
        let tables = self.run.final_state.iter().map(|(table, _)| table.as_str());
        let named: Vec<&str> = tables.filter(|table| is_named(table)).collect();
        match named.as_slice() {
            [table] => Some(table),
            _ => None,
        }
    }
}
