//! The constraint oracle: impossible final states, because the tables' own constraints refuse them.
//!
//! Idea: whatever the order of the transactions was, in the end no key occurs twice and no row refers to one that does
//! not exist. Nothing needs to be parsed for that: the rows of the final state are inserted into fresh tables, and the
//! server itself says whether they are allowed.
//!
//! Assumption: constraints are checked when a row is written, and tables are created after those that they refer to. So
//! it is skipped where a table refers to itself, where constraints change during the case, or where numbers are not
//! read back as they are stored. Blind spot: constraints that the fresh tables do not check either.

use anchorite_model::sql::StatementKind;
use anchorite_model::{Deed, ErrorClass, Judgement, Outcome, Run, Value, Verdict};
use anchorite_sql::Definition;

use super::{Needs, Oracle, Unjudged};
use crate::evidence::Evidence;
use crate::evidence::serial::{MOST_ORDERS, Serial, shown};
use crate::evidence::words::abridged;
use crate::laboratory::Laboratory;

/// The name of the violation: a declared constraint does not hold in the end.
pub const CONSTRAINT: &str = "broken constraint";

/// The oracle.
pub struct Constraint;

impl Oracle for Constraint {
    fn name(&self) -> &'static str {
        "constraint"
    }

    fn about(&self) -> &'static str {
        "the tables' own constraints must accept what they end with"
    }

    fn needs(&self) -> Needs {
        Needs::Writes
    }

    fn deed(&self) -> Option<Deed> {
        Some(Deed::ConstraintBroken)
    }

    fn judge(
        &self,
        evidence: &Evidence<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, Unjudged> {
        // The server's constraints have accepted what it gives itself, one transaction after the other.
        let (expected, sentences) = match evidence.serial(laboratory)? {
            Serial::Explained | Serial::OnlyAsTransactions(_) => {
                return Ok(Judgement::new(self.name(), Verdict::Pass));
            }
            Serial::Unexplained { all_tried: false, .. } => {
                return Err(format!("more than {MOST_ORDERS} serial orders are possible").into());
            }
            Serial::Failed(reason) => return Err(reason.clone().into()),
            Serial::Unexplained { orders, .. } => shown(orders),
        };
        Ok(match broken(evidence, laboratory)? {
            None => Judgement::new(self.name(), Verdict::Pass),
            Some(broken) => {
                let because = [vec![broken], sentences].concat();
                let verdict = Verdict::broken(CONSTRAINT, because);
                Judgement { expected, ..Judgement::new(self.name(), verdict) }
            }
        })
    }
}

/// What the constraints say against the final state of a run.
fn broken(
    evidence: &Evidence<'_>,
    laboratory: &mut Laboratory<'_>,
) -> Result<Option<String>, Unjudged> {
    if let Some(reason) = left_out(evidence.run) {
        return Err(reason.to_owned().into());
    }
    let filled = evidence.evaluator()?.filled_as_at_the_end();
    let filled = laboratory.run(&filled)?;
    Ok(filled.events.iter().find_map(|event| match &event.outcome {
        Outcome::Error(error) if error.class == ErrorClass::Constraint => Some(format!(
            "the tables cannot hold what they end with: {} fails ({}: {})",
            abridged(&event.sql),
            error.code,
            error.message
        )),
        _ => None,
    }))
}

/// Why it is skipped.
fn left_out(run: &Run) -> Option<&'static str> {
    let is_ddl = |sql: &str| StatementKind::of(sql) == StatementKind::Ddl;
    let mut values = run.final_state.iter().flat_map(|(_, rows)| &rows.rows).flatten();
    if run.case.steps.iter().any(|step| is_ddl(&step.statement.sql)) {
        return Some("there is DDL in the schedule, which may have changed constraints");
    }
    let dialect = run.target.product.dialect();
    let mut setup = run.case.setup.iter().filter(|statement| is_ddl(&statement.sql));
    if setup.any(|statement| Definition::read(&statement.sql, dialect).refers_to_itself()) {
        return Some("a table refers to itself, or gets its constraints later");
    }
    let is_float = |value: &Value| matches!(value, Value::Float(_));
    values.any(is_float).then_some("a number may not be read back as it is stored")
}
