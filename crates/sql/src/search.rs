//! How a statement looks for its rows: by one unique key, or by a scan of the table.
//!
//! Idea: a condition that gives every column of a unique key a constant is unique, and an index on it finds the row.
//! One that names no column of a secondary index leaves nothing but a scan of the table itself, or of a range of it.
//! Between the two the optimizer decides, and the text does not tell.
//!
//! Assumption: a unique condition is served by its key. Blind spot: keys that are not integers.

use std::collections::BTreeMap;

use anchorite_model::sql::{Dialect, Token};
use sqlparser::ast::{BinaryOperator, Expr, Statement};

use crate::formula::integer;
use crate::parsed_statement::ParsedStatement;
use crate::schema::Table;
use crate::syntax::{column_name, conjuncts};
use crate::tokens::name;

/// How a statement looks for its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Its condition is unique: constants for all columns of the primary key, or of a unique key.
    Unique,
    /// It scans the table, in whole or in part.
    Scan,
    /// That is up to the optimizer.
    Unknown,
}

/// How an UPDATE or DELETE looks for the rows of its table.
pub fn search(sql: &str, dialect: Dialect, table: &Table) -> Search {
    let parsed = ParsedStatement::read(sql, dialect);
    let condition = match parsed.tree() {
        Some(Statement::Update(update)) => update.selection.clone(),
        Some(Statement::Delete(delete)) => delete.selection.clone(),
        _ => return Search::Unknown,
    };
    let given = given(condition);
    let primary = [&table.primary].into_iter().filter(|key| !key.is_empty());
    let keys: Vec<&Vec<String>> = primary.chain(&table.unique_keys).collect();
    let constant = |column: &String| {
        table.integers.contains(column) && given.get(column).is_some_and(Option::is_some)
    };
    let secondary = |column: &String| {
        [&table.unique, &table.indexed, &table.foreign].iter().any(|index| index.contains(column))
    };
    let tokens = parsed.tokens();
    let is_set = |token: &&Token<'_>| !token.is_word("WHERE") && !token.is_word("ORDER");
    let behind_set = tokens.iter().skip_while(is_set);
    if keys.iter().any(|key| key.iter().all(constant)) {
        Search::Unique
    } else if keys.iter().any(|key| key.iter().all(|column| given.contains_key(column)))
        || behind_set.filter_map(name).any(|name| secondary(&name.to_lowercase()))
    {
        Search::Unknown
    } else {
        Search::Scan
    }
}

/// The columns that a condition compares for equality, with the constant if it is one integer.
fn given(condition: Option<Expr>) -> BTreeMap<String, Option<i64>> {
    let mut given = BTreeMap::new();
    for part in condition.map(conjuncts).unwrap_or_default() {
        if let Some((column, value)) = equality(&part) {
            let known = given.entry(column).or_insert(value);
            *known = known.or(value);
        }
    }
    given
}

/// The column of `a = 1`, `1 = a`, `a IN (1, 2)`, `a = (SELECT …)`, with the constant if it is one integer.
pub(crate) fn equality(condition: &Expr) -> Option<(String, Option<i64>)> {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => match column_name(left) {
            Some(column) => Some((column, integer(right))),
            None => Some((column_name(right)?, integer(left))),
        },
        Expr::InList { expr, negated: false, .. }
        | Expr::InSubquery { expr, negated: false, .. } => Some((column_name(expr)?, None)),
        Expr::Nested(inner) => equality(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tables;

    #[test]
    fn unique_conditions_are_told_from_scans() {
        let dialect = Dialect::Mysql;
        let setup = [
            "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, d INT, e TEXT, UNIQUE (c, d))",
            "CREATE UNIQUE INDEX i ON t (e(2))",
        ];
        let setup = setup.map(|sql| ParsedStatement::read(sql, dialect));
        let table = &tables(&setup)[0];
        for (condition, expected) in [
            ("", Search::Scan),
            ("WHERE b = 5", Search::Scan),
            ("WHERE a > 1 AND b = 5", Search::Scan),
            ("WHERE a = 1 OR b = 5", Search::Scan),
            ("WHERE a = b", Search::Unknown),
            ("WHERE a IN (1, 2)", Search::Unknown),
            ("WHERE a = '1'", Search::Unknown),
            ("WHERE b = 5 ORDER BY c", Search::Unknown),
            ("WHERE c = 1", Search::Unknown),
            ("WHERE e = 'ab'", Search::Unknown),
            ("WHERE b = 5 AND (t.a = 2 - 1)", Search::Unique),
            ("WHERE 1 = a", Search::Unique),
            ("WHERE c = 1 AND d = 2 AND b = 5", Search::Unique),
        ] {
            let sql = format!("UPDATE t SET b = 1 {condition}");
            assert_eq!(search(&sql, dialect, table), expected, "{condition}");
        }
    }
}
