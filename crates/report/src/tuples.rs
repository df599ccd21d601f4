//! A result set in one line: `2 rows (k, v): (1, 'a'), (2, NULL)`.

use anchorite_model::{Rows, Value};

use crate::result::counted;
use crate::table::{ROWS_MAX, float};

/// The columns' names, then each row as a tuple of literals; `mark` highlights the server's text.
pub(crate) fn tuples(rows: &Rows, mark: &dyn Fn(&str) -> String) -> String {
    if rows.rows.is_empty() {
        return "no rows".to_owned();
    }
    let mut shown: Vec<String> =
        rows.rows.iter().take(ROWS_MAX).map(|row| mark(&tuple(row))).collect();
    if rows.rows.len() > ROWS_MAX {
        shown.push(format!("… {}", counted(rows.rows.len() - ROWS_MAX, "more row", "more rows")));
    }
    let names = mark(&format!("({})", rows.columns.join(", ")));
    let count = counted(rows.rows.len(), "row", "rows");
    format!("{count} {names}: {}", shown.join(", "))
}

/// One row: `(1, 'a', NULL)`.
pub(crate) fn tuple(row: &[Value]) -> String {
    let literals: Vec<String> = row.iter().map(literal).collect();
    format!("({})", literals.join(", "))
}

/// A value as it would be written in SQL.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Float(x) => float(*x),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        other => other.to_string(),
    }
}
