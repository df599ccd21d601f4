//! Final states that cannot be: the tables' own constraints refuse them.
//!
//! Idea: whatever the order of the transactions was, in the end no key stands there twice and no row refers to one
//! that is gone. Nothing needs to be parsed for that: the rows of the final state are put into fresh tables, and the
//! server itself says whether they may stand there.
//!
//! Assumption: constraints are checked when a row is written, and tables are created after those that they refer to.
//! So it is not asked where a table refers to itself, where constraints change on the way, or where numbers are not
//! read back as they are stored. Blind spot: constraints that the fresh tables do not check either.

use anchorite_model::sql::StatementKind;
use anchorite_model::{ErrorClass, Outcome, Run, RunError, Value};

use super::compare::abridged;
use super::mechanism::evaluate::Evaluator;
use crate::laboratory::Laboratory;

/// What a violation is called: a declared constraint does not hold in the end.
pub const CONSTRAINT: &str = "broken constraint";

/// What the constraints say against the final state of a run.
pub fn broken(run: &Run, laboratory: &mut Laboratory<'_>) -> Result<Option<String>, RunError> {
    let is_ddl = |sql: &str| StatementKind::of(sql) == StatementKind::Ddl;
    let mut values = run.final_state.iter().flat_map(|(_, rows)| &rows.rows).flatten();
    let is_left_out = run.case.steps.iter().any(|step| is_ddl(&step.statement.sql))
        || run.case.setup.iter().any(|statement| refers_to_itself(&statement.sql))
        || values.any(|value| matches!(value, Value::Float(_)));
    if is_left_out {
        return Ok(None);
    }
    let Ok(evaluator) = Evaluator::of_tables(run) else { return Ok(None) };
    let rehearsal = laboratory.run(&evaluator.filled_as_at_the_end())?;
    Ok(rehearsal.events.iter().find_map(|event| match &event.outcome {
        Outcome::Error(error) if error.class == ErrorClass::Constraint => Some(format!(
            "the tables cannot hold what they end with: {} fails ({}: {})",
            abridged(&event.sql),
            error.code,
            error.message
        )),
        _ => None,
    }))
}

/// Whether a table refers to itself, or gets its constraints later.
fn refers_to_itself(sql: &str) -> bool {
    let words: Vec<String> = sql
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_uppercase)
        .collect();
    let follows = |pair: &[String], word: &str| pair[0] == word;
    if words.windows(2).any(|pair| follows(pair, "ALTER")) {
        return true;
    }
    let created = words.windows(2).find(|pair| follows(pair, "TABLE")).map(|pair| &pair[1]);
    words.windows(2).any(|pair| follows(pair, "REFERENCES") && Some(&pair[1]) == created)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_refer_to_themselves_are_told() {
        assert!(refers_to_itself("CREATE TABLE t (a INT PRIMARY KEY, b INT REFERENCES t (a))"));
        assert!(refers_to_itself("ALTER TABLE t ADD UNIQUE (a)"));
        assert!(!refers_to_itself("CREATE TABLE u (b INT, FOREIGN KEY (b) REFERENCES `t` (a))"));
    }
}
