//! Whether a condition is true of a run.
//!
//! Rows are compared as multisets of typed tuples. A statement that failed, was skipped or never answered satisfies
//! nothing that is said about rows. Where the server does not say who blocks (TiDB, old CockroachDB), `blocked by` only
//! requires that the statement was blocked.

use anchorite_model::{Answer, Blocker, ErrorClass, Outcome, Run, Value};

use crate::evidence::ends::{End, ends, last_event};
use crate::header::condition::{Condition, Fact, Row, RowFact, StepFact};

impl Condition {
    /// Whether one of the alternatives is true of the run.
    pub fn is_true_of(&self, run: &Run) -> bool {
        self.alternatives.iter().any(|facts| facts.iter().all(|fact| fact.is_true_of(run)))
    }
}

impl Fact {
    /// Whether this is true of the run.
    pub fn is_true_of(&self, run: &Run) -> bool {
        match self {
            Self::Step(n, fact) => fact.is_true_of(run, *n),
            Self::AnyFails(class) => run.events.iter().any(|event| failed(&event.outcome, *class)),
            Self::Final(table, rows) => run
                .final_state
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(table))
                .is_some_and(|(_, found)| rows.is_true_of(&found.rows)),
            Self::Committed(sessions) => every_end(run, sessions, End::Committed),
            Self::RolledBack(sessions) => every_end(run, sessions, End::RolledBack),
        }
    }
}

impl StepFact {
    fn is_true_of(&self, run: &Run, n: usize) -> bool {
        let Some(event) = last_event(run, n) else { return false };
        match self {
            Self::Rows(rows) => answer(&event.outcome)
                .and_then(|answer| answer.results.first())
                .is_some_and(|found| rows.is_true_of(&found.rows)),
            Self::Mentions(parts) => answer(&event.outcome)
                .is_some_and(|answer| values(answer).any(|value| has_in_order(value, parts))),
            Self::Affects(count) => {
                answer(&event.outcome).is_some_and(|answer| answer.affected == Some(*count))
            }
            Self::Succeeds => answer(&event.outcome).is_some(),
            Self::Fails(class) => failed(&event.outcome, *class),
            Self::Blocked(sessions) => waits(run, n).any(|by| only_by(run, by, sessions)),
            Self::NotBlocked => {
                waits(run, n).next().is_none() && !matches!(event.outcome, Outcome::Skipped { .. })
            }
            Self::Skipped => matches!(event.outcome, Outcome::Skipped { .. }),
        }
    }
}

impl RowFact {
    fn is_true_of(&self, found: &[Row]) -> bool {
        match self {
            Self::Exactly(rows) => found.len() == rows.len() && includes(found, rows),
            Self::Contains(rows) => includes(found, rows),
            Self::Lacks(rows) => rows.iter().all(|row| !found.contains(row)),
        }
    }
}

/// The texts of an answer.
fn values(answer: &Answer) -> impl Iterator<Item = &str> {
    let cells = answer.results.iter().flat_map(|table| &table.rows).flatten();
    cells.filter_map(|value| match value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// Whether the parts, separated by `%`, occur in this order.
fn has_in_order(text: &str, parts: &str) -> bool {
    let rest = parts.split('%').try_fold(text, |rest, part| Some(rest.split_once(part)?.1));
    rest.is_some()
}

/// Whether `found` has every row of `wanted`, at least as many times.
fn includes(found: &[Row], wanted: &[Row]) -> bool {
    let mut left: Vec<&Row> = found.iter().collect();
    wanted.iter().all(|row| {
        let place = left.iter().position(|candidate| *candidate == row);
        place.map(|index| left.swap_remove(index)).is_some()
    })
}

const fn answer(outcome: &Outcome) -> Option<&Answer> {
    match outcome {
        Outcome::Ok(answer) | Outcome::Resumed(answer) => Some(answer),
        _ => None,
    }
}

fn failed(outcome: &Outcome, class: Option<ErrorClass>) -> bool {
    match outcome {
        Outcome::Error(error) => class.is_none_or(|class| class == error.class),
        _ => false,
    }
}

/// Who blocked the statement, for each time that it was blocked.
fn waits(run: &Run, n: usize) -> impl Iterator<Item = &[Blocker]> {
    run.events.iter().filter(move |event| event.n == n).filter_map(|event| match &event.outcome {
        Outcome::Blocked { by, .. } => Some(by.as_slice()),
        _ => None,
    })
}

fn only_by(run: &Run, by: &[Blocker], sessions: &[String]) -> bool {
    sessions.is_empty()
        || by.iter().all(|blocker| match blocker {
            Blocker::Session(index) => {
                run.case.sessions.get(*index).is_some_and(|name| sessions.contains(name))
            }
            Blocker::Outside(_) | Blocker::Prepared(_) => false,
        })
}

fn every_end(run: &Run, sessions: &[String], wanted: End) -> bool {
    sessions.iter().all(|name| {
        let index = run.case.sessions.iter().position(|session| session == name);
        let ends = index.map(|index| ends(run, index)).unwrap_or_default();
        !ends.is_empty() && ends.iter().all(|end| *end == wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_text_must_come_in_their_order() {
        for (parts, is_there) in [
            ("b", true),
            ("a%c", true),
            ("a%b%c", true),
            ("c%a", false),
            ("a%a", false),
            ("d", false),
        ] {
            assert_eq!(has_in_order("a b c", parts), is_there, "{parts}");
        }
    }
}
