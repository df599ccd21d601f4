//! Expected and actual rows, side by side.
//!
//! Idea: tables are multisets of rows. Rows that both have are side by side; of the rest, those with the same first
//! value (mostly a key) are the same row changed, the others are missing or too many. Assumption: the first column
//! usually identifies a row; if it does not, rows that could have been paired are shown separately, and nothing wrong
//! is said.

use anchorite_model::{Rows, Value};

/// One table, expected and actual.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TablePair<'a> {
    pub name: &'a str,
    pub columns: &'a [String],
    /// In the order of their values; at least one side is present.
    pub rows: Vec<RowPair<'a>>,
}

/// A row on both sides; `None` where a side does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowPair<'a> {
    pub expected: Option<&'a [Value]>,
    pub actual: Option<&'a [Value]>,
}

impl RowPair<'_> {
    pub fn differs(&self) -> bool {
        self.expected != self.actual
    }
}

impl TablePair<'_> {
    pub fn differs(&self) -> bool {
        self.rows.iter().any(RowPair::differs)
    }
}

/// The tables of two states, in the order of the actual one.
pub(crate) fn compare<'a>(
    expected: &'a [(String, Rows)],
    actual: &'a [(String, Rows)],
) -> Vec<TablePair<'a>> {
    let find = |tables: &'a [(String, Rows)], name: &str| {
        tables.iter().find(|(other, _)| other == name).map(|(_, rows)| rows)
    };
    let missing = expected.iter().filter(|(name, _)| find(actual, name).is_none());
    let names = actual.iter().chain(missing).map(|(name, _)| name.as_str());
    names
        .map(|name| {
            let (expected, actual) = (find(expected, name), find(actual, name));
            let columns = actual.or(expected).map_or(&[][..], |rows| rows.columns.as_slice());
            TablePair { name, columns, rows: pairs(expected, actual) }
        })
        .collect()
}

fn pairs<'a>(expected: Option<&'a Rows>, actual: Option<&'a Rows>) -> Vec<RowPair<'a>> {
    let sorted = |rows: Option<&'a Rows>| -> Vec<&'a [Value]> {
        let mut rows: Vec<&[Value]> =
            rows.map_or(&[][..], |rows| rows.rows.as_slice()).iter().map(Vec::as_slice).collect();
        rows.sort();
        rows
    };
    let (expected, mut actual) = (sorted(expected), sorted(actual));
    let mut pairs = Vec::new();
    let mut alone = Vec::new();
    for row in expected {
        match actual.iter().position(|other| *other == row) {
            Some(at) => {
                let same = Some(actual.remove(at));
                pairs.push(RowPair { expected: Some(row), actual: same });
            }
            None => alone.push(row),
        }
    }
    for row in alone {
        let changed = actual.iter().position(|other| other.first() == row.first());
        let actual = changed.map(|at| actual.remove(at));
        pairs.push(RowPair { expected: Some(row), actual });
    }
    pairs.extend(actual.into_iter().map(|row| RowPair { expected: None, actual: Some(row) }));
    pairs.sort_by_key(|pair| pair.expected.or(pair.actual));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[i128]]) -> Vec<(String, Rows)> {
        let rows = rows.iter().map(|row| row.iter().map(|i| Value::Int(*i)).collect()).collect();
        vec![("t".to_owned(), Rows { columns: vec!["k".to_owned(), "v".to_owned()], rows })]
    }

    #[test]
    fn rows_are_paired_by_value_then_by_key() {
        let expected = table(&[&[1, 10], &[2, 20], &[3, 30], &[3, 30]]);
        let actual = table(&[&[3, 30], &[2, 21], &[1, 10], &[4, 40]]);
        let pairs = compare(&expected, &actual);
        let shown: Vec<(Option<i128>, Option<i128>)> = pairs[0]
            .rows
            .iter()
            .map(|pair| {
                let value = |row: Option<&[Value]>| match row.map(|row| &row[1]) {
                    Some(Value::Int(i)) => Some(*i),
                    _ => None,
                };
                (value(pair.expected), value(pair.actual))
            })
            .collect();
        let same = [(Some(10), Some(10)), (Some(20), Some(21)), (Some(30), Some(30))];
        assert_eq!(shown[..3], same);
        assert_eq!(shown[3..], [(Some(30), None), (None, Some(40))]);
        assert!(pairs[0].differs());
        assert!(!compare(&expected, &expected)[0].differs());
    }
}
