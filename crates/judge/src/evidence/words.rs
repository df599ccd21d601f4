//! Rows and statements in sentences.

use anchorite_model::Value;

/// The most rows that are spelled out in a sentence.
const ROWS_SHOWN: usize = 8;

/// Rows in a sentence.
pub fn spelled(rows: &[Vec<Value>]) -> String {
    if rows.is_empty() {
        return "no rows".to_owned();
    }
    let mut sorted: Vec<_> = rows.iter().collect();
    sorted.sort();
    let mut shown: Vec<String> = sorted.iter().take(ROWS_SHOWN).map(|row| tuple(row)).collect();
    if rows.len() > ROWS_SHOWN {
        shown.push(format!("and {} more", rows.len() - ROWS_SHOWN));
    }
    shown.join(", ")
}

/// One row in a sentence.
pub fn tuple(row: &[Value]) -> String {
    let cells: Vec<String> = row
        .iter()
        .map(|value| match value {
            Value::Text(text) => format!("'{text}'"),
            other => other.to_string(),
        })
        .collect();
    format!("({})", cells.join(", "))
}

/// A statement in a sentence: on one line, and not too long.
pub fn abridged(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 80 {
        return line;
    }
    line.chars().take(79).chain(['…']).collect()
}
