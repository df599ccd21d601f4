//! Random foreign keys and unique keys.
//!
//! Assumption: a table may refer to itself only where constraints are checked at the end of a statement (PostgreSQL,
//! SQLite, CockroachDB). InnoDB checks them row by row, so what a statement does would depend on the order of the rows
//! (<https://dev.mysql.com/doc/refman/8.4/en/ansi-diff-foreign-keys.html>). Keys of beginnings and expressions belong
//! to tables with a primary key, because no upsert can name them.

use anchorite_model::sql::Dialect;

use super::{Foreign, Table};
use crate::Grammar;
use crate::random::Random;
use crate::value::Kind;

/// How many characters a prefix key compares.
const PREFIX: usize = 2;

/// Columns that refer to the key of an earlier table, or of the table itself.
pub(super) fn add_foreign_key(
    grammar: &Grammar<'_>,
    random: &mut Random,
    table: &mut Table,
    earlier: &mut [Table],
) {
    let weights = &grammar.weights.schema;
    if !grammar.has("foreign-key") {
        return;
    }
    let may_be_own = grammar.dialect != Dialect::Mysql && !table.primary.is_empty();
    if may_be_own && random.percent(weights.self_reference_percent) {
        let end = deferral(grammar, random);
        let copy = table.clone();
        table.is_parent = true;
        refer(table, &copy, earlier.len(), end);
        return;
    }
    if !random.percent(weights.foreign_key_percent) {
        return;
    }
    let parents: Vec<usize> =
        (0..earlier.len()).filter(|at| !earlier[*at].primary.is_empty()).collect();
    let Some(parent) = random.try_pick(&parents).copied() else { return };
    let actions = ["", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE"];
    let action = random.pick(&actions);
    let end = format!("{action}{}", deferral(grammar, random));
    refer(table, &earlier[parent], parent, &end);
    earlier[parent].is_parent = true;
}

/// ` DEFERRABLE INITIALLY DEFERRED`: the key is checked when the transaction commits.
fn deferral(grammar: &Grammar<'_>, random: &mut Random) -> &'static str {
    let is_late =
        grammar.has("deferred") && random.percent(grammar.weights.schema.deferred_percent);
    if is_late { " DEFERRABLE INITIALLY DEFERRED" } else { "" }
}

fn refer(table: &mut Table, parent: &Table, number: usize, end: &str) {
    let mut columns = Vec::new();
    for (part, at) in parent.primary.iter().enumerate() {
        let mut column = parent.columns[*at].clone();
        column.name = format!("f{part}");
        column.is_nullable = true;
        columns.push(table.columns.len());
        table.columns.push(column);
    }
    let clause = format!(
        "FOREIGN KEY ({}) REFERENCES {} ({}){end}",
        table.names(&columns),
        parent.name,
        parent.names(&parent.primary)
    );
    let parent_columns = parent.primary.clone();
    table.foreign = Some(Foreign { columns, parent: number, parent_columns, clause });
}

/// Makes these columns unique: whole, by their beginning, or by an expression that differs where the column does.
pub(super) fn unique(
    grammar: &Grammar<'_>,
    random: &mut Random,
    table: &mut Table,
    columns: Vec<usize>,
) {
    let weights = &grammar.weights.schema;
    let names = table.names(&columns);
    let special = columns.first().filter(|_| columns.len() == 1 && !table.primary.is_empty());
    if let Some(at) = special.copied() {
        let column = &table.columns[at];
        let is_number = column.kind == Kind::Int && column.is_arithmetic();
        let has_prefix = column.kind == Kind::Text && grammar.has("index-prefix");
        if has_prefix && random.percent(weights.unique_prefix_percent) {
            table.columns[at].prefix = Some(PREFIX);
            table.unique_clauses.push(format!("UNIQUE ({names}({PREFIX}))"));
            table.uniques.push(columns);
            return;
        }
        let has_expression = is_number && grammar.has("index-expression");
        if has_expression && random.percent(weights.unique_expression_percent) {
            let name = &table.name;
            table
                .unique_indexes
                .push(format!("CREATE UNIQUE INDEX u_{name} ON {name} (({names} + 1))"));
            table.uniques.push(columns);
            return;
        }
    }
    table.unique_clauses.push(format!("UNIQUE ({names})"));
    table.uniques.push(columns);
}
