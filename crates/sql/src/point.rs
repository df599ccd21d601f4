//! Single keys that statements name: that of a point query, and those of inserted rows.
//!
//! Idea: a condition that is nothing but constants for the columns of one key asks for one place in an index, whether
//! there is a row or not.
//!
//! Blind spot: keys that are not integers, and several keys at once (`a IN (1, 2)`).

use std::collections::BTreeMap;

use anchorite_model::sql::Dialect;
use sqlparser::ast::{Expr, SetExpr, Statement};

use crate::formula::integer;
use crate::parsed_statement::ParsedStatement;
use crate::rows_by_key::is_plain;
use crate::schema::Table;
use crate::search::equality;
use crate::syntax::{conjuncts, insert_table, last_name, values_of};
use crate::tokens::is_any;

/// Words of statements that are no point queries, or perhaps not.
const OTHERS: [&str; 7] = ["LIMIT", "ORDER", "GROUP", "HAVING", "DISTINCT", "PARTITION", "SKIP"];

/// The columns of a key with their values.
pub type Key = BTreeMap<String, i64>;

/// The key of a SELECT, UPDATE or DELETE whose condition is exactly a primary or unique key of the table.
pub fn point_key(sql: &str, dialect: Dialect, table: &Table) -> Option<Key> {
    let parsed = ParsedStatement::read(sql, dialect);
    let is_other = parsed.tokens().iter().any(|token| is_any(token, &OTHERS));
    let tree = parsed.tree().filter(|_| !is_other && is_plain(&parsed, table))?;
    let parts = conjuncts(condition(tree)?.clone());
    let constant = |part: &Expr| {
        let (column, value) = equality(part)?;
        table.integers.contains(&column).then_some((column, value?))
    };
    let key: Key = parts.iter().map(constant).collect::<Option<_>>()?;
    let is_key = |columns: &Vec<String>| {
        columns.len() == key.len() && columns.iter().all(|column| key.contains_key(column))
    };
    let mut keys = [&table.primary].into_iter().chain(&table.unique_keys);
    (key.len() == parts.len() && keys.any(is_key)).then_some(key)
}

/// Whether a plain INSERT adds a row with this key.
pub fn inserts_key(sql: &str, dialect: Dialect, table: &Table, key: &Key) -> bool {
    let parsed = ParsedStatement::read(sql, dialect);
    let Some(tree @ Statement::Insert(insert)) = parsed.tree() else { return false };
    let is_plain =
        insert.on.is_none() && insert.or.is_none() && !insert.ignore && !insert.replace_into;
    let named: Vec<String> = insert.columns.iter().map(last_name).collect();
    let columns = if named.is_empty() { &table.columns } else { &named };
    let has_key = |row: &Vec<Expr>| {
        key.iter().all(|(name, value)| {
            let at = columns.iter().position(|column| column == name);
            at.and_then(|at| integer(row.get(at)?)) == Some(*value)
        })
    };
    let rows = values_of(tree).filter(|_| is_plain && insert_table(insert) == table.name);
    rows.is_some_and(|values| values.rows.iter().any(|row| has_key(row)))
}

fn condition(tree: &Statement) -> Option<&Expr> {
    match tree {
        Statement::Update(update) => update.selection.as_ref(),
        Statement::Delete(delete) => delete.selection.as_ref(),
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => select.selection.as_ref(),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tables;

    #[test]
    fn point_queries_name_one_key() {
        let dialect = Dialect::Mysql;
        let create = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT, UNIQUE (b, c))";
        let table = &tables(&[ParsedStatement::read(create, dialect)])[0];
        let key = |sql: &str| point_key(sql, dialect, table);
        let one = Key::from([("a".to_owned(), 1)]);
        let two = Key::from([("b".to_owned(), 1), ("c".to_owned(), -2)]);
        assert_eq!(key("SELECT b FROM t WHERE a = 1 FOR UPDATE"), Some(one.clone()));
        assert_eq!(key("DELETE FROM t WHERE (t.a = 2 - 1)"), Some(one.clone()));
        assert_eq!(key("UPDATE t SET b = 1 WHERE -2 = c AND b = 1"), Some(two.clone()));
        for other in [
            "DELETE FROM t",
            "DELETE FROM t WHERE a = 1 AND b = 1",
            "DELETE FROM t WHERE a = 1 AND a = 1",
            "DELETE FROM t WHERE a = 1 LIMIT 1",
            "DELETE FROM t WHERE a IN (1)",
            "DELETE FROM t WHERE a = '1'",
            "DELETE FROM t WHERE b = 1",
        ] {
            assert_eq!(key(other), None, "{other}");
        }
        let inserts = |sql: &str, key: &Key| inserts_key(sql, dialect, table, key);
        assert!(inserts("INSERT INTO t VALUES (0, 0, 0), (1, 0, 0)", &one));
        assert!(inserts("INSERT INTO t (c, b, a) VALUES (-2, 1, 3)", &two));
        assert!(!inserts("INSERT INTO t VALUES (2, 1, 1)", &one));
        assert!(!inserts("INSERT INTO t (b) VALUES (1)", &one));
        assert!(!inserts("INSERT INTO u VALUES (1, 1, 1)", &one));
    }
}
