//! Random views and triggers.
//!
//! A view shows some rows of one table with all their columns, so that statements can name it instead of the table. A
//! trigger does the same to another table for each row: adding to a number, or deleting rows. So it does not matter in
//! which order rows set it off.

use anchorite_model::sql::Dialect;

use super::{Table, View};
use crate::Grammar;
use crate::random::Random;
use crate::value::Kind;

/// Views, with the statements that create them.
pub(super) fn views(
    grammar: &Grammar<'_>,
    random: &mut Random,
    tables: &[Table],
) -> (Vec<View>, Vec<String>) {
    let (mut views, mut ddl) = (Vec::new(), Vec::new());
    for (number, table) in tables.iter().enumerate() {
        if !grammar.has("view") || !random.percent(grammar.weights.schema.view_percent) {
            continue;
        }
        let clause = if random.percent(60) {
            test(random, table).map(|test| format!(" WHERE {test}")).unwrap_or_default()
        } else {
            String::new()
        };
        let name = format!("v{number}");
        ddl.push(format!("CREATE VIEW {name} AS SELECT * FROM {}{clause}", table.name));
        views.push(View { name, table: number });
    }
    (views, ddl)
}

/// A test of a number.
fn test(random: &mut Random, table: &Table) -> Option<String> {
    let numbers = table.columns_where(|_, column| column.is_arithmetic());
    let column = random.try_pick(&numbers)?;
    let operator = random.pick(&["<", ">=", "<>"]);
    Some(format!("{} {operator} {}", table.columns[*column].name, random.between(1, 6)))
}

/// The statements that create a trigger; none if there is no other table to act on.
pub(super) fn trigger(grammar: &Grammar<'_>, random: &mut Random, tables: &[Table]) -> Vec<String> {
    let is_wanted = random.percent(grammar.weights.schema.trigger_percent);
    let forms = ["trigger-statement", "trigger-block", "trigger-function"];
    let Some(form) = forms.into_iter().find(|form| grammar.has(form)).filter(|_| is_wanted) else {
        return Vec::new();
    };
    if tables.len() < 2 {
        return Vec::new();
    }
    let from = random.below(tables.len());
    let others: Vec<usize> = (0..tables.len()).filter(|at| *at != from).collect();
    let other = &tables[*random.pick(&others)];
    let event = random.pick(&["INSERT", "UPDATE", "DELETE"]);
    let name = &tables[from].name;
    let Some(action) = action(grammar, random, other) else { return Vec::new() };
    let trigger = format!("CREATE TRIGGER g0 AFTER {event} ON {name} FOR EACH ROW");
    match form {
        "trigger-statement" => vec![format!("{trigger} {action}")],
        "trigger-block" => vec![format!("{trigger} BEGIN {action}; END")],
        _ => vec![
            format!(
                "CREATE FUNCTION f0() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN {action}; RETURN NULL; END $$"
            ),
            format!("{trigger} EXECUTE FUNCTION f0()"),
        ],
    }
}

/// What a trigger does to a table.
fn action(grammar: &Grammar<'_>, random: &mut Random, table: &Table) -> Option<String> {
    let clause = test(random, table).map(|test| format!(" WHERE {test}"));
    let numbers = table.columns_where(|at, column| {
        column.is_arithmetic()
            && column.kind == Kind::Int
            && column.generated.is_none()
            && !table.is_key(at)
            && table.foreign.as_ref().is_none_or(|foreign| !foreign.columns.contains(&at))
    });
    // PostgreSQL may refuse the second deletion of a row by one statement.
    let deletes = grammar.dialect != Dialect::Postgres && random.percent(25);
    match random.try_pick(&numbers) {
        Some(at) if !deletes => {
            let column = &table.columns[*at].name;
            let clause = clause.filter(|_| random.percent(50)).unwrap_or_default();
            Some(format!("UPDATE {} SET {column} = {column} + 1{clause}", table.name))
        }
        _ => Some(format!("DELETE FROM {}{}", table.name, clause?)),
    }
}
