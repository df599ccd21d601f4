//! How the DBMS says that it would look for the rows of a statement.
//!
//! Idea: `EXPLAIN` names the index, and the optimizer of small tables seldom changes its mind. It is evidence in favour
//! of a documented exception, never against it: the plan of the run itself is not known.
//!
//! Source: the columns `type` and `key` of MySQL's and MariaDB's EXPLAIN. Where an answer has no such columns, nothing
//! is known. Assumption: the statement changes one table and has no query inside.

use anchorite_model::{Outcome, RunError, SessionIndex, Value};

use crate::evidence::evaluator::{Contents, Evaluator};
use crate::laboratory::Laboratory;

/// By which path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// A scan of the table itself, in whole or in part.
    Table,
    /// A scan of the index of this name, in lower case.
    Index(String),
    /// One row by a unique key.
    OneRow,
}

/// What the DBMS says about a statement on these contents; `None` if it does not say.
pub(super) fn plan<'r>(
    session: SessionIndex,
    sql: &str,
    contents: &Contents,
    evaluator: &mut Evaluator<'r>,
    laboratory: &mut Laboratory<'_>,
) -> Result<Option<Plan>, RunError> {
    let explained = evaluator.tried(
        session,
        &format!("EXPLAIN FORMAT=TRADITIONAL {sql}"),
        contents,
        laboratory,
    )?;
    let Some((Outcome::Ok(answer), _)) = explained else { return Ok(None) };
    let [result] = answer.results.as_slice() else { return Ok(None) };
    let [row] = result.rows.as_slice() else { return Ok(None) };
    let cell = |name: &str| {
        let at = result.columns.iter().position(|column| column.eq_ignore_ascii_case(name))?;
        match &row[at] {
            Value::Text(text) => Some(text.to_lowercase()),
            _ => None,
        }
    };
    let deletes_all = cell("Extra").is_some_and(|extra| extra.contains("deleting all rows"));
    Ok(match (cell("type").as_deref(), cell("key")) {
        (Some("const" | "eq_ref" | "system"), _) => Some(Plan::OneRow),
        (Some("all"), _) => Some(Plan::Table),
        (Some("index" | "range" | "ref"), Some(key)) if key == "primary" => Some(Plan::Table),
        (Some("index" | "range" | "ref"), Some(key)) => Some(Plan::Index(key)),
        (None, None) if deletes_all => Some(Plan::Table),
        _ => None,
    })
}
