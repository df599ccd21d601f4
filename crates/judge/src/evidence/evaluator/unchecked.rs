//! Statements on rows that break foreign keys.
//!
//! Idea: what a read sees of several moments may be children without their parents, and a row that is tried alone may
//! have its parent in its own table. Foreign keys decide nothing about a read, and, where they change no rows, nothing
//! about what a write makes of a row. So the tables are filled, and the statement is run, in a session that does not
//! check them (`foreign_keys_unchecked` of the descriptor).
//!
//! Assumption: a write that is tried has succeeded in the run. Blind spot: unique keys are checked; writes where
//! foreign keys act.

use anchorite_model::sql::StatementKind;
use anchorite_model::{RunError, SessionIndex};

use super::{After, Contents, Evaluator, Tried, Untried, after, read};
use crate::laboratory::Laboratory;

impl Evaluator<'_> {
    /// What a read answers on contents that the tables refuse; `None` if that cannot be found out either.
    pub(super) fn unchecked(
        &self,
        session: SessionIndex,
        sql: &str,
        contents: &Contents,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Tried, RunError> {
        let is_read = matches!(StatementKind::of(sql), StatementKind::Select { .. });
        let refers = self.definitions.iter().any(|definition| definition.refers);
        match is_read && refers {
            true => self.tried_unchecked(session, sql, contents, laboratory),
            false => Ok(None),
        }
    }

    /// Whether foreign keys of a table stand in the way of a lone row because they are about the table itself, and
    /// none changes anything.
    pub(super) fn refers_to_itself(&self, table: usize) -> bool {
        let name = &self.run.final_state[table].0;
        let is_it = |other: &String| other.eq_ignore_ascii_case(name);
        let mut own = self.definitions.iter().filter(|one| one.table.as_ref().is_some_and(is_it));
        own.any(|one| one.refers_to_itself()) && !self.definitions.iter().any(|one| one.acts)
    }

    /// What a statement does to these contents if no foreign key is checked.
    pub(super) fn without_keys(
        &mut self,
        session: SessionIndex,
        sql: &str,
        contents: &Contents,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Result<After, Untried>, RunError> {
        let key = format!("without keys: {}", self.key(sql, contents));
        let tried = match self.known.get(&key) {
            Some(known) => known.clone(),
            None => self.tried_unchecked(session, sql, contents, laboratory)?,
        };
        self.known.insert(key, tried.clone());
        Ok(after(tried))
    }

    fn tried_unchecked(
        &self,
        session: SessionIndex,
        sql: &str,
        contents: &Contents,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Tried, RunError> {
        let transactions = &self.run.target.product.descriptor().transactions;
        let Some(off) = &transactions.foreign_keys_unchecked else { return Ok(None) };
        let mut statements = vec![off.clone()];
        statements.extend(self.filling(contents));
        statements.push(sql.to_owned());
        Ok(read(laboratory.run(&self.case(session, statements))?))
    }
}
