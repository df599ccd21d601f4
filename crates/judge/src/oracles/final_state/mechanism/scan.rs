//! How far a scan can have come while it waited.
//!
//! Idea: a scan by the primary key comes to the rows in the order of their keys, and stops at a row that it has to
//! change and that another transaction holds. So it comes to the rows behind that one only after the other transaction
//! has ended, and must see what was committed until then: what is ahead of a scan is not excused as what it has passed.
//!
//! Source: ours, from how InnoDB reads a clustered index. Assumption: a table whose primary key is one integer is
//! scanned by it, upwards, if no column of the condition is in another index. Blind spot: otherwise the path is not
//! known.

use anchorite_model::Value;
use anchorite_sql::tokens::{name, significant};

use super::simulate::Simulation;
use crate::evidence::evaluator::Evaluator;
use crate::evidence::versions::Row;

/// Rows that a statement must stop at: their keys, and until when they were held.
#[derive(Debug, Default)]
pub(super) struct Stops {
    /// Key and moment; without a key where the path is not known.
    stops: Vec<(Option<i128>, usize)>,
}

impl Stops {
    /// A row at which the statement had to wait.
    pub(super) fn add(&mut self, key: Option<i128>, until: usize) {
        self.stops.push((key, until));
    }

    /// The moment from which on the scan can have come to a row with these keys; at first `begin`.
    pub(super) fn reached(&self, keys: Option<&[i128]>, begin: usize) -> usize {
        let Some(keys) = keys else { return begin };
        let is_behind = |stop: i128| keys.iter().all(|key| *key > stop);
        let stops = self.stops.iter().filter(|(key, _)| key.is_some_and(is_behind));
        stops.map(|(_, until)| *until).max().unwrap_or(begin).max(begin)
    }

    /// Whether the statement had to wait at rows of which it is not known in which order they come.
    pub(super) fn is_unknown(&self) -> bool {
        self.stops.iter().any(|(key, _)| key.is_none())
    }
}

impl<'r> Simulation<'_, 'r> {
    /// The column of the key by which a statement scans its table, if that is known.
    pub(super) fn scanned_key(
        &self,
        sql: &str,
        table: usize,
        evaluator: &Evaluator<'r>,
    ) -> Option<usize> {
        let tokens = significant(sql, self.dialect);
        let is_plain = !tokens.iter().any(|token| token.is_word("ORDER"));
        let condition = tokens.iter().skip_while(|token| !token.is_word("WHERE"));
        let names: Vec<&str> = condition.filter_map(name).collect();
        evaluator.scanned_key(table, &names).filter(|_| is_plain)
    }
}

/// Every key that a row ever had; `None` if one of them is no integer.
pub(super) fn keys(row: &Row, column: usize) -> Option<Vec<i128>> {
    let values = row.versions.iter().filter_map(|version| version.values.as_ref());
    values.map(|values| integer(&values[column])).collect()
}

/// A key as a number.
pub(super) const fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}
