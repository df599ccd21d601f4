//! How a run differs from another: final state, success of each write, affected counts, and rows where reads are
//! compared.
//!
//! Rows are compared as multisets of typed tuples. A difference is data; printed, it is a sentence that anyone can
//! check.

use std::fmt;

use anchorite_model::sql::StatementKind;
use anchorite_model::{DbError, ErrorClass, Outcome, Rows, Run, Value};

use super::ends::last_event;
use super::words::{abridged, spelled};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A table ends with other rows.
    Table {
        /// Its name.
        name: String,
        /// What it ended with.
        rows: Vec<Vec<Value>>,
        /// What it ends with in the other run.
        instead_of: Vec<Vec<Value>>,
    },
    /// A table exists, but not in the other run.
    ExtraTable(String),
    /// A table does not exist, but does in the other run.
    MissingTable(String),
    /// A statement was answered differently.
    Statement {
        /// Its number in the run.
        n: usize,
        /// Its text.
        sql: String,
        /// How.
        answer: AnswerDifference,
    },
}

/// How two answers to one statement differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerDifference {
    /// The number of rows that were written.
    Affected {
        /// How many here.
        count: Option<u64>,
        /// How many there.
        instead_of: Option<u64>,
    },
    /// The rows that were read, one list per result.
    Returned {
        /// What was read here.
        rows: Vec<Vec<Vec<Value>>>,
        /// What is read there.
        instead_of: Vec<Vec<Vec<Value>>>,
    },
    /// Why it failed.
    FailedOtherwise(Failure, Failure),
    /// It failed here, but not there.
    Failed(Failure),
    /// It failed there, but not here.
    Succeeded(Failure),
    /// It could not even be sent there.
    NotSent,
}

/// How a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of error.
    pub class: ErrorClass,
    /// The server's code.
    pub code: String,
}

impl Failure {
    fn of(error: &DbError) -> Self {
        Self { class: error.class, code: error.code.clone() }
    }
}

impl Difference {
    /// Whether it is only about what was read.
    pub fn is_of_reads(&self) -> bool {
        matches!(self, Self::Statement { answer: AnswerDifference::Returned { .. }, sql, .. }
            if !StatementKind::of(sql).writes())
    }
}

/// The differences between a run and another one: tables, and answers to statements, which are given in pairs of their
/// numbers here and there.
pub fn differences(
    run: &Run,
    other: &Run,
    statements: impl Iterator<Item = (usize, usize)>,
) -> Vec<Difference> {
    let mut found = tables(&run.final_state, &other.final_state);
    for (n, there) in statements {
        let (Some(here), Some(there)) = (last_event(run, n), last_event(other, there)) else {
            continue;
        };
        if let Some(answer) = answers(&there.sql, &here.outcome, &there.outcome) {
            found.push(Difference::Statement { n, sql: there.sql.clone(), answer });
        }
    }
    found
}

/// The tables that end differently.
pub fn tables(run: &[(String, Rows)], other: &[(String, Rows)]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (name, rows) in run {
        let name = name.clone();
        let Some((_, expected)) = other.iter().find(|(there, _)| *there == name) else {
            found.push(Difference::ExtraTable(name));
            continue;
        };
        if rows.columns != expected.columns || sorted(rows) != sorted(expected) {
            let (rows, instead_of) = (rows.rows.clone(), expected.rows.clone());
            found.push(Difference::Table { name, rows, instead_of });
        }
    }
    let missing = other.iter().filter(|(name, _)| !run.iter().any(|(here, _)| here == name));
    found.extend(missing.map(|(name, _)| Difference::MissingTable(name.clone())));
    found
}

/// How two answers to a statement differ; `None` if they do not.
pub fn answers(sql: &str, here: &Outcome, there: &Outcome) -> Option<AnswerDifference> {
    let kind = StatementKind::of(sql);
    match (here, there) {
        (
            Outcome::Ok(here) | Outcome::Resumed(here),
            Outcome::Ok(there) | Outcome::Resumed(there),
        ) => {
            if kind.writes() && here.affected != there.affected {
                let (count, instead_of) = (here.affected, there.affected);
                return Some(AnswerDifference::Affected { count, instead_of });
            }
            // The rows of RETURNING are part of what a write did.
            let reads = kind.writes() || matches!(kind, StatementKind::Select { .. });
            let same = || here.results.iter().map(sorted).eq(there.results.iter().map(sorted));
            let all = |results: &[Rows]| results.iter().map(|one| one.rows.clone()).collect();
            (reads && !same()).then(|| AnswerDifference::Returned {
                rows: all(&here.results),
                instead_of: all(&there.results),
            })
        }
        (Outcome::Error(here), Outcome::Error(there)) => (here.class != there.class)
            .then(|| AnswerDifference::FailedOtherwise(Failure::of(here), Failure::of(there))),
        (Outcome::Error(here), Outcome::Ok(_) | Outcome::Resumed(_)) => {
            Some(AnswerDifference::Failed(Failure::of(here)))
        }
        (Outcome::Ok(_) | Outcome::Resumed(_), Outcome::Error(there)) => {
            Some(AnswerDifference::Succeeded(Failure::of(there)))
        }
        (_, Outcome::Skipped { .. }) => Some(AnswerDifference::NotSent),
        _ => None,
    }
}

/// The rows as a sorted list, for comparing multisets.
pub fn sorted(rows: &Rows) -> Vec<&Vec<Value>> {
    let mut sorted: Vec<_> = rows.rows.iter().collect();
    sorted.sort();
    sorted
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table { name, rows, instead_of } => {
                let (rows, instead_of) = (spelled(rows), spelled(instead_of));
                write!(f, "table {name} ends with {rows} instead of {instead_of}")
            }
            Self::ExtraTable(name) => write!(f, "table {name} exists, but should not"),
            Self::MissingTable(name) => write!(f, "table {name} is gone, but should not"),
            Self::Statement { n, sql, answer } => {
                write!(f, "step {n} ({}): {answer}", abridged(sql))
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed ({}, {})", self.class.name(), self.code)
    }
}

impl fmt::Display for AnswerDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |affected: &Option<u64>| {
            affected.map_or_else(|| "no count".to_owned(), |count| count.to_string())
        };
        let all = |results: &[Vec<Vec<Value>>]| {
            results.iter().map(|rows| spelled(rows)).collect::<Vec<_>>().join("; ")
        };
        match self {
            Self::Affected { count: here, instead_of } => {
                write!(f, "affected {} instead of {}", count(here), count(instead_of))
            }
            Self::Returned { rows, instead_of } => {
                write!(f, "returned {} instead of {}", all(rows), all(instead_of))
            }
            Self::FailedOtherwise(here, there) => {
                write!(f, "{here} instead of {there}")
            }
            Self::Failed(here) => write!(f, "{here} instead of succeeding"),
            Self::Succeeded(there) => write!(f, "succeeded, but {there} there"),
            Self::NotSent => f.write_str("succeeded, but could not be sent there"),
        }
    }
}

#[cfg(test)]
mod tests {
    use anchorite_model::Answer;

    use super::*;

    #[test]
    fn what_was_read_is_told_from_what_was_written() {
        let answer = |value, affected| {
            let rows = Rows { rows: vec![vec![Value::Text(value)]], ..Rows::default() };
            Outcome::Ok(Answer { results: vec![rows], affected, ..Answer::default() })
        };
        let differ = |sql: &str, here: Outcome, there: Outcome| {
            let answer = answers(sql, &here, &there).expect("they differ");
            Difference::Statement { n: 1, sql: sql.to_owned(), answer }
        };
        let (one, two) = ("1".to_owned(), "2".to_owned());
        let read = differ("SELECT a FROM t", answer(one.clone(), None), answer(two.clone(), None));
        assert!(read.is_of_reads());
        assert_eq!(read.to_string(), "step 1 (SELECT a FROM t): returned ('1') instead of ('2')");
        // A text that looks like a sentence about a read is not one.
        let sql = "UPDATE t SET a = ': returned '";
        let write = differ(sql, answer(one, Some(1)), answer(two, Some(2)));
        assert!(!write.is_of_reads(), "{write}");
        assert_eq!(answers("SELECT 1", &answer("a".into(), None), &answer("a".into(), None)), None);
    }
}
