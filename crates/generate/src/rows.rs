//! Random initial rows that satisfy every constraint.

use crate::Grammar;
use crate::random::Random;
use crate::schema::{Column, Schema, Table};
use crate::value::{Kind, Value};

/// The rows of each table; a generated column has NULL here.
pub(crate) type Rows = Vec<Vec<Vec<Value>>>;

/// Makes rows for every table.
pub(crate) fn make(grammar: &Grammar<'_>, schema: &Schema, random: &mut Random) -> Rows {
    let weights = &grammar.weights.rows;
    let mut all: Rows = Vec::new();
    for table in &schema.tables {
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
            let row = any_row(grammar, table, &all, random);
            if is_valid(table, &rows, &row) {
                rows.push(row);
            }
        }
        all.push(rows);
    }
    all
}

fn any_row(
    grammar: &Grammar<'_>,
    table: &Table,
    earlier: &Rows,
    random: &mut Random,
) -> Vec<Value> {
    let columns = table.columns.iter().enumerate();
    columns
        .map(|(at, column)| match &table.foreign {
            Some(foreign) if foreign.column == at => {
                let parents = &earlier[foreign.parent];
                let referred = random.try_pick(parents).filter(|_| true);
                let is_null = random.percent(grammar.weights.rows.null_percent);
                let key = referred.map(|row| parent_key(table, row));
                key.filter(|_| !is_null).unwrap_or(Value::Null)
            }
            _ => any_value(grammar, column, random),
        })
        .collect()
}

/// The value of the parent's key in one of its rows.
fn parent_key(table: &Table, parent_row: &[Value]) -> Value {
    let foreign = table.foreign.as_ref().expect("the table refers to the parent");
    parent_row[foreign.parent_column].clone()
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
        is_whole && rows.iter().any(|other| key.iter().all(|at| other[*at] == row[*at]))
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
