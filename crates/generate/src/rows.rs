//! Random initial rows that satisfy every constraint.

use crate::Grammar;
use crate::random::Random;
use crate::schema::{Column, Schema, Table};
use crate::value::{Kind, Value};

/// How many rows a table has if it has many.
const MANY: [i64; 4] = [200, 400, 900, 2_000];

/// The rows of each table; a generated column has NULL here.
pub(crate) type Rows = Vec<Vec<Vec<Value>>>;

/// Makes rows for every table.
pub(crate) fn make(grammar: &Grammar<'_>, schema: &Schema, random: &mut Random) -> Rows {
    let weights = &grammar.weights.rows;
    let mut all: Rows = Vec::new();
    let many = random.percent(weights.many_percent).then(|| random.below(schema.tables.len()));
    for (number, table) in schema.tables.iter().enumerate() {
        if many == Some(number)
            && let Some(rows) = many_rows(grammar, table, &all, random)
        {
            all.push(rows);
            continue;
        }
        let count = random.weighted(&[
            (weights.none, 0),
            (weights.one, 1),
            (weights.two, 2),
            (weights.three, 3),
            (weights.four, 4),
            (weights.five, 5),
            (weights.six, 6),
        ]);
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for _ in 0..count {
            let row = any_row(grammar, table, &all, &rows, random);
            if is_valid(table, &rows, &row) {
                rows.push(row);
            }
        }
        all.push(rows);
    }
    all
}

/// Enough rows for several pages; `None` if the keys of the table do not allow it.
fn many_rows(
    grammar: &Grammar<'_>,
    table: &Table,
    earlier: &Rows,
    random: &mut Random,
) -> Option<Vec<Vec<Value>>> {
    // The number of the row, in one column of each key.
    let counted = |key: &[usize]| {
        let fits = |at: &&usize| {
            let column = &table.columns[**at];
            column.kind == Kind::Int && column.limit > MANY[MANY.len() - 1]
        };
        key.iter().find(fits).copied()
    };
    let columns: Vec<usize> = table.keys().map(counted).collect::<Option<_>>()?;
    let is_referring =
        |foreign: &crate::schema::Foreign| columns.iter().any(|at| foreign.columns.contains(at));
    let is_checked = table.check.as_ref().is_some_and(|check| columns.contains(&check.column));
    if is_checked || table.foreign.as_ref().is_some_and(is_referring) {
        return None;
    }
    let count = *random.pick(&MANY);
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for number in 0..count {
        let mut row = any_row(grammar, table, earlier, &rows, random);
        columns.iter().for_each(|at| row[*at] = Value::Int(number));
        if table.check.as_ref().is_none_or(|check| check.allows(check.column, &row[check.column])) {
            rows.push(row);
        }
    }
    Some(rows)
}

/// A row; `earlier` are the rows of the tables before this one, `own` those that it has already.
fn any_row(
    grammar: &Grammar<'_>,
    table: &Table,
    earlier: &Rows,
    own: &[Vec<Value>],
    random: &mut Random,
) -> Vec<Value> {
    let columns = table.columns.iter();
    let mut row: Vec<Value> = columns.map(|column| any_value(grammar, column, random)).collect();
    if let Some(foreign) = &table.foreign {
        let parents = earlier.get(foreign.parent).map_or(own, Vec::as_slice);
        let is_null = random.percent(grammar.weights.rows.null_percent);
        match random.try_pick(parents).filter(|_| !is_null) {
            Some(parent) => foreign.refer(&mut row, parent),
            None => foreign.columns.iter().for_each(|at| row[*at] = Value::Null),
        }
    }
    row
}

/// A value that a column may have, occasionally NULL.
pub(crate) fn any_value(grammar: &Grammar<'_>, column: &Column, random: &mut Random) -> Value {
    let weights = &grammar.weights.rows;
    if column.generated.is_some() {
        return Value::Null;
    }
    if column.is_nullable && random.percent(weights.null_percent) {
        return Value::Null;
    }
    if column.is_extreme && column.kind == Kind::Int && random.percent(30) {
        return Value::Int(*random.pick(&[column.limit, -column.limit - 1]));
    }
    column.kind.any_value(random, weights.edge_percent)
}

/// Whether the row can be added to these.
fn is_valid(table: &Table, rows: &[Vec<Value>], row: &[Value]) -> bool {
    let passes =
        table.check.as_ref().is_none_or(|check| check.allows(check.column, &row[check.column]));
    let collides = |key: &[usize]| {
        let is_whole = key.iter().all(|at| row[*at] != Value::Null);
        is_whole && rows.iter().any(|other| table.collide(key, other, row))
    };
    passes && !table.keys().any(collides)
}

/// The statements that insert the rows, parents first.
pub(crate) fn inserts(grammar: &Grammar<'_>, schema: &Schema, rows: &Rows) -> Vec<String> {
    let tables = schema.tables.iter().zip(rows).filter(|(_, rows)| !rows.is_empty());
    tables
        .map(|(table, rows)| {
            let columns = table.writable();
            let tuples: Vec<String> = rows
                .iter()
                .map(|row| {
                    let values: Vec<String> =
                        columns.iter().map(|at| row[*at].sql(grammar.product)).collect();
                    format!("({})", values.join(", "))
                })
                .collect();
            let names = table.names(&columns);
            format!("INSERT INTO {} ({names}) VALUES {}", table.name, tuples.join(", "))
        })
        .collect()
}
