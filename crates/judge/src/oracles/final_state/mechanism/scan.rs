//! How far a scan can have come while it waited.
//!
//! Idea: a scan comes to the rows in the order of its index, and stops at a row that it has to change and that another
//! transaction holds. So it comes to the rows behind that one only after the other transaction has ended, and must see
//! what was committed until then: what is ahead of a scan is not excused as what it has passed.
//!
//! Source: ours, from how InnoDB reads an index. Assumption: a table whose primary key consists of integers is scanned
//! by it, upwards, if no column of the condition is in another index. Otherwise the DBMS is asked for its plan
//! (`plan`). A plan may be another one at another time, so it excuses what the scan had passed, and blames nobody for
//! what it had not. Blind spot: plans that read several indexes, or downwards.

use anchorite_model::Value;
use anchorite_sql::tokens::{name, significant};

use super::plan::{Plan, plan};
use super::simulate::Simulation;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{Row, State};
use crate::laboratory::Laboratory;
use anchorite_model::{RunError, SessionIndex};

/// The order in which a statement comes to its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Order {
    /// That of these columns.
    By(Vec<usize>),
    /// That of their insertion: the table has no key.
    Inserted,
}

/// A path to the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    order: Order,
    /// Whether there is no other one, or the DBMS only says that it would take this one.
    is_certain: bool,
}

/// Where a row stands on a path. NULL comes first; text is compared without regard to case, as it is by default.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Null,
    Number(i128),
    Text(String),
}

impl Path {
    /// Where a version stands; `None` if that is not known.
    fn place(&self, state: &State, row: &Row, values: &[Value]) -> Option<Vec<Place>> {
        match &self.order {
            Order::By(columns) => columns.iter().map(|column| place(&values[*column])).collect(),
            Order::Inserted => {
                let at = state.rows.iter().position(|other| std::ptr::eq(other, row))?;
                Some(vec![Place::Number(i128::try_from(at).ok()?)])
            }
        }
    }

    /// Where all versions of a row stand.
    fn places(&self, state: &State, row: &Row) -> Option<Vec<Vec<Place>>> {
        let values = row.versions.iter().filter_map(|version| version.values.as_ref());
        values.map(|values| self.place(state, row, values)).collect()
    }
}

fn place(value: &Value) -> Option<Place> {
    match value {
        Value::Null => Some(Place::Null),
        Value::Int(number) => Some(Place::Number(*number)),
        Value::Text(text) => Some(Place::Text(text.trim_end().to_lowercase())),
        _ => None,
    }
}

/// Rows that a statement must stop at.
#[derive(Debug, Default)]
pub(super) struct Stops {
    path: Option<Path>,
    /// Where they stand, if that is known, and until when they were held.
    stops: Vec<(Option<Vec<Place>>, usize)>,
}

impl Stops {
    /// Whether there is none yet.
    pub(super) const fn is_empty(&self) -> bool {
        self.stops.is_empty()
    }

    /// Says by which path the statement comes to its rows.
    pub(super) fn set_path(&mut self, path: Option<Path>) {
        self.path = path;
    }

    /// A row at which the statement had to wait.
    pub(super) fn add(&mut self, state: &State, row: &Row, values: &[Value], until: usize) {
        let place = self.path.as_ref().and_then(|path| path.place(state, row, values));
        self.stops.push((place, until));
    }

    /// The moment from which on the scan can have come to a row; at first `begin`.
    pub(super) fn reached(&self, state: &State, row: &Row, begin: usize) -> usize {
        let certain = self.path.as_ref().filter(|path| path.is_certain);
        let Some(places) = certain.and_then(|path| path.places(state, row)) else { return begin };
        let stops = self.stops.iter().filter(|(stop, _)| is_ahead(&places, stop.as_ref()));
        stops.map(|(_, until)| *until).max().unwrap_or(begin).max(begin)
    }

    /// Whether it is known that the scan had passed a row, or comes to it late, at each stop.
    pub(super) fn is_known(&self, state: &State, row: &Row) -> bool {
        if self.is_empty() {
            return true;
        }
        let Some(path) = &self.path else { return false };
        let Some(places) = path.places(state, row) else { return false };
        self.stops.iter().all(|(stop, _)| {
            stop.is_some() && (path.is_certain || !is_ahead(&places, stop.as_ref()))
        })
    }
}

/// Whether all versions of a row stand behind a stop, so that the scan comes to it later.
fn is_ahead(places: &[Vec<Place>], stop: Option<&Vec<Place>>) -> bool {
    stop.is_some_and(|stop| places.iter().all(|place| place > stop))
}

impl<'r> Simulation<'_, 'r> {
    /// The path by which a statement comes to the rows of its table, if that is known.
    pub(super) fn path(
        &self,
        session: SessionIndex,
        statement: &Performed<'r>,
        (table, contents): (usize, &Contents),
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Path>, RunError> {
        let tokens = significant(statement.sql, self.dialect);
        if tokens.iter().any(|token| token.is_word("ORDER")) {
            return Ok(None);
        }
        let condition = tokens.iter().skip_while(|token| !token.is_word("WHERE"));
        let names: Vec<&str> = condition.filter_map(name).collect();
        let primary = evaluator.primary_key(table);
        let of_integers = !primary.is_empty() && {
            let of_table = contents.get(&table).into_iter().flatten();
            let mut keys = of_table.flat_map(|row| primary.iter().map(|column| &row[*column]));
            keys.all(|key| matches!(key, Value::Int(_)))
        };
        if of_integers && evaluator.is_scanned(table, &names) {
            return Ok(Some(Path { order: Order::By(primary), is_certain: true }));
        }
        let order = match plan(session, statement.sql, contents, evaluator, laboratory)? {
            Some(Plan::Table) if !primary.is_empty() => Order::By(primary),
            Some(Plan::Table) if evaluator.indexes(table).is_empty() => Order::Inserted,
            Some(Plan::Index(name)) => {
                let mut indexes = evaluator.indexes(table).into_iter();
                let Some((_, columns)) = indexes.find(|(known, _)| *known == name) else {
                    return Ok(None);
                };
                Order::By(columns.into_iter().chain(primary).collect())
            }
            _ => return Ok(None),
        };
        Ok(Some(Path { order, is_certain: false }))
    }
}
