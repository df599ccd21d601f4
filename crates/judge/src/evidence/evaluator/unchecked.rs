//! Reads of rows that break foreign keys.
//!
//! Idea: what a read sees of several moments may be children without their parents. Foreign keys decide nothing about
//! a read, so its tables are filled in a session that does not check them (`foreign_keys_unchecked` of the descriptor).
//!
//! Blind spot: unique keys are checked; writes, which may change other rows through foreign keys.

use anchorite_model::sql::StatementKind;
use anchorite_model::{RunError, SessionIndex};

use super::{Contents, Evaluator, Tried, read};
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
        let transactions = &self.run.target.product.descriptor().transactions;
        let is_read = matches!(StatementKind::of(sql), StatementKind::Select { .. });
        let refers = self.definitions.iter().any(|definition| definition.refers);
        let off = transactions.foreign_keys_unchecked.as_ref().filter(|_| is_read && refers);
        let Some(off) = off else { return Ok(None) };
        let mut statements = vec![off.clone()];
        statements.extend(self.filling(contents));
        statements.push(sql.to_owned());
        Ok(read(laboratory.run(&self.case(session, statements))?))
    }
}
