//! A record as a line of our own histories, which `anchorite check` reads.
//!
//! Values are tokens of versions, 0 is the initial state; a write has its number in the row's order.

use anchorite_check::model::Outcome;
use serde_json::{Value, json};

use crate::record::{Record, Way};

/// The first line.
pub fn header() -> String {
    json!({"anchorite": "history", "version": 1, "initial": 0}).to_string()
}

/// One transaction.
pub fn line(record: &Record, begin: u64, end: u64) -> String {
    let outcome = match record.outcome {
        Outcome::Committed => "commit",
        Outcome::Aborted => "abort",
        Outcome::Unknown => "unknown",
    };
    let operation = |seen: &crate::record::Seen| -> Value {
        match (seen.way, seen.n) {
            (Way::Replaced, 0) => json!({"w": seen.row, "v": seen.wrote}),
            (Way::Replaced, n) if record.outcome != Outcome::Aborted => {
                json!({"w": seen.row, "v": seen.wrote, "n": n})
            }
            (Way::Replaced, _) => json!({"w": seen.row, "v": seen.wrote}),
            _ => json!({"r": seen.row, "v": seen.token}),
        }
    };
    let ops: Vec<Value> = record.seen.iter().map(operation).collect();
    json!({
        "txn": record.number, "session": record.session, "outcome": outcome,
        "begin": begin, "end": end, "ops": ops,
    })
    .to_string()
}
