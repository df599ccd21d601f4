//! How a run differs from a rehearsal: final state, success of each write, affected counts, and rows
//! where reads are compared.
//!
//! Rows are compared as multisets of typed tuples. A difference is a sentence that a stranger can check.

use anchorite_model::sql::StatementKind;
use anchorite_model::{DbError, Outcome, Rows, Run, Value};

use super::replay::Replay;
use crate::fate::last_event;

/// More rows than this are not spelled out in a sentence.
const ROWS_SHOWN: usize = 8;

/// The differences between a run and a rehearsal of some of its statements; empty = none.
pub fn differences(run: &Run, replay: &Replay, rehearsal: &Run) -> Vec<String> {
    let mut found = final_states(&run.final_state, &rehearsal.final_state);
    for (step, origin) in replay.origins.iter().enumerate() {
        let Some(n) = *origin else { continue };
        let here = last_event(run, n).map(|event| &event.outcome);
        let there = last_event(rehearsal, step + 1).map(|event| &event.outcome);
        let sql = &replay.case.steps[step].statement.sql;
        if let (Some(here), Some(there)) = (here, there)
            && let Some(difference) = outcomes(sql, here, there)
        {
            found.push(format!("step {n} ({}): {difference}", abridged(sql)));
        }
    }
    found
}

/// The tables that end differently.
pub fn final_states(run: &[(String, Rows)], rehearsal: &[(String, Rows)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, rows) in run {
        let Some((_, expected)) = rehearsal.iter().find(|(other, _)| other == name) else {
            found.push(format!("table {name} exists, but should not"));
            continue;
        };
        if rows.columns != expected.columns || sorted(rows) != sorted(expected) {
            found.push(format!(
                "table {name} ends with {} instead of {}",
                spelled(&rows.rows),
                spelled(&expected.rows)
            ));
        }
    }
    let missing = rehearsal.iter().filter(|(name, _)| !run.iter().any(|(other, _)| other == name));
    found.extend(missing.map(|(name, _)| format!("table {name} is gone, but should not")));
    found
}

fn outcomes(sql: &str, here: &Outcome, there: &Outcome) -> Option<String> {
    let kind = StatementKind::of(sql);
    match (here, there) {
        (
            Outcome::Ok(here) | Outcome::Resumed(here),
            Outcome::Ok(there) | Outcome::Resumed(there),
        ) => {
            if kind.writes() && here.affected != there.affected {
                let count = |affected: Option<u64>| {
                    affected.map_or_else(|| "no count".to_owned(), |count| count.to_string())
                };
                return Some(format!(
                    "affected {} instead of {}",
                    count(here.affected),
                    count(there.affected)
                ));
            }
            let reads = matches!(kind, StatementKind::Select { .. });
            (reads && !here.results.iter().map(sorted).eq(there.results.iter().map(sorted))).then(
                || {
                    let all = |results: &[Rows]| {
                        results.iter().map(|one| spelled(&one.rows)).collect::<Vec<_>>().join("; ")
                    };
                    format!("returned {} instead of {}", all(&here.results), all(&there.results))
                },
            )
        }
        (Outcome::Error(here), Outcome::Error(there)) => (here.class != there.class)
            .then(|| format!("{} instead of {}", failed(here), failed(there))),
        (Outcome::Error(here), Outcome::Ok(_) | Outcome::Resumed(_)) => {
            Some(format!("{} instead of succeeding", failed(here)))
        }
        (Outcome::Ok(_) | Outcome::Resumed(_), Outcome::Error(there)) => {
            Some(format!("succeeded, but {} there", failed(there)))
        }
        (_, Outcome::Skipped { .. }) => Some("succeeded, but could not be sent there".to_owned()),
        _ => None,
    }
}

fn failed(error: &DbError) -> String {
    format!("failed ({}, {})", error.class.name(), error.code)
}

/// The rows as a sorted list, for comparing multisets.
pub fn sorted(rows: &Rows) -> Vec<&Vec<Value>> {
    let mut sorted: Vec<_> = rows.rows.iter().collect();
    sorted.sort();
    sorted
}

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
