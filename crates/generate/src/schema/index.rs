//! Random secondary indexes. They change plans and locks, never results.

use super::{Column, Index, Table};
use crate::Grammar;
use crate::random::Random;
use crate::value::Kind;

/// Adds up to two indexes to the table.
pub(super) fn add_indexes(grammar: &Grammar<'_>, random: &mut Random, table: &mut Table) {
    for number in 0..random.between(1, 2) {
        let name = format!("i_{}_{number}", table.name);
        if let Some((column, body)) = any_index(grammar, random, table) {
            table.ddl.push(format!("CREATE INDEX {name} ON {}{body}", table.name));
            table.indexes.push(Index { name, column });
        }
    }
}

/// The first column and what follows the table's name.
pub(crate) fn any_index(
    grammar: &Grammar<'_>,
    random: &mut Random,
    table: &Table,
) -> Option<(usize, String)> {
    let weights = &grammar.weights.index;
    let if_has = |name: &str, weight: u32| if grammar.has(name) { weight } else { 0 };
    let whole = table.columns_where(|_, column| can_be_indexed(column));
    let strings =
        table.columns_where(|_, column| column.kind == Kind::Text && column.generated.is_none());
    let numbers =
        table.columns_where(|_, column| column.is_arithmetic() && column.generated.is_none());
    let unless_empty = |columns: &[usize], weight: u32| if columns.is_empty() { 0 } else { weight };
    let form = random.weighted(&[
        (weights.plain, "plain"),
        (if whole.len() > 1 { weights.several_columns } else { 0 }, "several"),
        (if_has("index-descending", weights.descending), "descending"),
        (unless_empty(&strings, if_has("index-prefix", weights.prefix)), "prefix"),
        (unless_empty(&numbers, if_has("index-expression", weights.expression)), "expression"),
        (unless_empty(&numbers, if_has("index-partial", weights.partial)), "partial"),
        (if_has("index-include", weights.including), "including"),
        (if_has("index-hash", weights.hash), "hash"),
    ]);
    let column = match form {
        "prefix" => *random.try_pick(&strings)?,
        "expression" | "partial" => *random.try_pick(&numbers)?,
        _ => *random.try_pick(&whole)?,
    };
    let name = &table.columns[column].name;
    let others: Vec<usize> = whole.iter().copied().filter(|other| *other != column).collect();
    let other = random.try_pick(&others).map(|other| table.columns[*other].name.as_str());
    let body = match (form, other) {
        ("several", Some(other)) => format!(" ({name}, {other})"),
        ("descending", _) => format!(" ({name} DESC)"),
        ("prefix", _) => format!(" ({name}(2))"),
        ("expression", _) => format!(" (({name} + 1))"),
        ("partial", _) => {
            let limit = random.between(1, 5);
            format!(" ({name}) WHERE {name} > {limit}")
        }
        ("including", Some(other)) => format!(" ({name}) INCLUDE ({other})"),
        ("hash", _) => format!(" USING HASH ({name})"),
        _ => format!(" ({name})"),
    };
    Some((column, body))
}

fn can_be_indexed(column: &Column) -> bool {
    !column.is_long && column.kind != Kind::Bytes
}
