//! By which path a statement finds its rows, as far as its text and the schema tell.
//!
//! Assumption: an index on a column of the condition is used. Blind spot: the optimizer decides, and may scan instead.

use std::collections::BTreeSet;

use sqlparser::ast::{BinaryOperator, Expr, SetExpr, Statement};

use crate::schema::Table;
use crate::syntax::{column_name, columns_in, conjuncts, relations};

/// The kind of index by which a statement can find its rows (`primary key`, `unique key`, `foreign key`, `index`), or
/// `scan`; `None` if it looks for none. A range of the primary key is a scan too: the table itself is in that order
/// where the difference matters.
pub fn access_path(tree: &Statement, tables: &[Table]) -> Option<&'static str> {
    let condition: Option<&Expr> = match tree {
        Statement::Update(update) => update.selection.as_ref(),
        Statement::Delete(delete) => delete.selection.as_ref(),
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => select.selection.as_ref(),
            _ => return None,
        },
        _ => return None,
    };
    let relations = relations(tree);
    let tables: Vec<&Table> =
        tables.iter().filter(|table| relations.contains(&table.name)).collect();
    let columns = condition.map(|condition| columns_in(condition)).unwrap_or_default();
    let parts = condition.cloned().map(conjuncts).unwrap_or_default();
    let points: BTreeSet<String> = parts.iter().filter_map(column_of_lookup).collect();
    let primary = |column: &String| tables.iter().any(|table| table.primary.contains(column));
    Some(match key_kind(&columns, &tables) {
        Some(_) if points.iter().any(primary) => "primary key",
        Some("primary key") => {
            let others: BTreeSet<String> = columns.into_iter().filter(|c| !primary(c)).collect();
            key_kind(&others, &tables).unwrap_or("scan")
        }
        other => other.unwrap_or("scan"),
    })
}

/// The column of a condition that names single values: `a = 1`, `a IN (1, 2)`.
fn column_of_lookup(condition: &Expr) -> Option<String> {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            column_name(left).or_else(|| column_name(right))
        }
        Expr::InList { expr, negated: false, .. } => column_name(expr),
        Expr::Nested(inner) => column_of_lookup(inner),
        _ => None,
    }
}

/// The strongest kind of key that one of these columns belongs to.
fn key_kind(columns: &BTreeSet<String>, tables: &[&Table]) -> Option<&'static str> {
    let any = |keys: fn(&Table) -> &Vec<String>| {
        tables.iter().any(|table| keys(table).iter().any(|column| columns.contains(column)))
    };
    if any(|table| &table.primary) {
        Some("primary key")
    } else if any(|table| &table.unique) {
        Some("unique key")
    } else if any(|table| &table.foreign) {
        Some("foreign key")
    } else if any(|table| &table.indexed) {
        Some("index")
    } else {
        None
    }
}
