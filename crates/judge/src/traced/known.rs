//! What is known about an instrumented run, and what a statement does to given rows there.
//!
//! Idea: rows are asked about alone; those that they refer to are added. Blind spot: rows that refer to what was there
//! only in the middle of the run.

use std::collections::BTreeSet;

use anchorite_model::{Rows, Run, RunError};

use super::case::ChainedCase;
use crate::evidence::evaluator::{After, Evaluator, Question, Untried};
use crate::evidence::transactions::Transaction;
use crate::laboratory::Laboratory;

/// What is known about a case while versions are asked about.
#[derive(Clone, Copy)]
pub struct Known<'k, 'r> {
    /// The instrumented run.
    pub run: &'r Run,
    /// Its statements.
    pub case: &'k ChainedCase,
    /// Its transactions.
    pub transactions: &'k [Transaction<'r>],
    /// The tables before the first statement.
    pub initial: &'k [(String, Rows)],
}

impl Known<'_, '_> {
    /// What a statement does to these rows. Rows that they refer to are added as they were at the beginning, or at the
    /// end.
    pub fn on(
        &self,
        asked: Question<'_>,
        evaluator: &mut Evaluator<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Result<After, Untried>, RunError> {
        let Question { session, sql, contents } = asked;
        let mut after = evaluator.on(session, sql, &contents, laboratory)?;
        for tables in [self.initial, &self.run.final_state] {
            let mut parents = BTreeSet::new();
            for table in contents.keys() {
                parents.extend(evaluator.may_refer_to(*table));
            }
            if after.is_ok() || parents.is_empty() {
                break;
            }
            let mut contents = contents.clone();
            for parent in parents {
                contents.entry(parent).or_insert_with(|| tables[parent].1.rows.clone());
            }
            after = evaluator.on(session, sql, &contents, laboratory)?;
        }
        Ok(after)
    }
}
