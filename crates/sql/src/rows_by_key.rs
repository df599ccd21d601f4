//! Which rows of a table a statement can reach, where it names them by the primary key.
//!
//! Idea: two statements that name different keys have nothing to do with each other, if neither can have looked at
//! other rows on its way. So no other index may be able to serve the condition, and the key must not change.
//!
//! Blind spot: an optimizer that scans a table although the condition names the key.

use std::collections::BTreeSet;

use anchorite_model::sql::Dialect;
use sqlparser::ast::{AssignmentTarget, BinaryOperator, Expr, Insert, SetExpr, Statement};

use crate::formula::integer;
use crate::parsed_statement::ParsedStatement;
use crate::schema::Table;
use crate::syntax::{column_name, columns_in, conjuncts, last_name, values_of};
use crate::tokens::{is_any, name};

/// Words of statements that look at more than one table, or at one more than once.
const SEVERAL: [&str; 6] = ["JOIN", "UNION", "EXCEPT", "INTERSECT", "WITH", "USING"];

/// Which rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// Any of them, as far as is known.
    All,
    /// Only those with these primary keys.
    Keys(BTreeSet<i64>),
}

/// The rows of a table, whose primary key is one integer column, that a statement can reach. `inserts`: whether new
/// rows concern nobody but those who name their keys.
pub fn rows_by_key(sql: &str, dialect: Dialect, table: &Table, inserts: bool) -> Rows {
    let parsed = ParsedStatement::read(sql, dialect);
    let tree = parsed.tree().filter(|_| is_plain(&parsed, table));
    tree.and_then(|tree| keys(tree, table, inserts)).map_or(Rows::All, Rows::Keys)
}

/// Whether a statement looks at this table only, and only once.
pub(crate) fn is_plain(parsed: &ParsedStatement, table: &Table) -> bool {
    let tokens = parsed.tokens();
    let queries = tokens.iter().filter(|token| token.is_word("SELECT")).count();
    let is_query = matches!(parsed.tree(), Some(Statement::Query(_)));
    let is_table =
        |at: usize| name(&tokens[at]).is_some_and(|name| name.eq_ignore_ascii_case(&table.name));
    let qualifies = |at: usize| tokens.get(at + 1).is_some_and(|next| next.is_symbol("."));
    let named = (0..tokens.len()).filter(|at| is_table(*at) && !qualifies(*at)).count();
    queries == usize::from(is_query)
        && named == 1
        && !tokens.iter().any(|token| is_any(token, &SEVERAL))
}

fn keys(tree: &Statement, table: &Table, inserts: bool) -> Option<BTreeSet<i64>> {
    let key = table.primary.first()?;
    let condition: &Expr = match tree {
        Statement::Insert(insert) if inserts => return inserted(tree, insert, table, key),
        Statement::Delete(delete) => delete.selection.as_ref()?,
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => select.selection.as_ref()?,
            _ => return None,
        },
        Statement::Update(update) => {
            let stays = update.assignments.iter().all(|assignment| {
                matches!(&assignment.target, AssignmentTarget::ColumnName(name) if last_name(name) != *key)
            });
            update.selection.as_ref().filter(|_| stays)?
        }
        _ => return None,
    };
    let is_indexed = |column: &String| table.indexed.contains(column);
    if columns_in(condition).iter().any(is_indexed) {
        return None;
    }
    conjuncts(condition.clone()).iter().find_map(|part| looked_up(part, key))
}

/// The keys that a condition names: `a = 1`, `a IN (1, 2)`.
fn looked_up(condition: &Expr, key: &str) -> Option<BTreeSet<i64>> {
    let is_key = |expr: &Expr| column_name(expr).is_some_and(|name| name == key);
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } if is_key(left) => {
            Some(BTreeSet::from([integer(right)?]))
        }
        Expr::InList { expr, list, negated: false } if is_key(expr) => {
            list.iter().map(integer).collect()
        }
        Expr::Nested(inner) => looked_up(inner, key),
        _ => None,
    }
}

/// The keys of the rows that an INSERT adds.
fn inserted(tree: &Statement, insert: &Insert, table: &Table, key: &str) -> Option<BTreeSet<i64>> {
    if insert.on.is_some() || insert.or.is_some() || insert.ignore || insert.replace_into {
        return None;
    }
    let named: Vec<String> = insert.columns.iter().map(last_name).collect();
    let columns = if named.is_empty() { &table.columns } else { &named };
    let at = columns.iter().position(|column| column == key)?;
    values_of(tree)?.rows.iter().map(|row| integer(row.get(at)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tables;

    #[test]
    fn rows_are_told_by_their_keys() {
        let dialect = Dialect::Postgres;
        let create = "CREATE TABLE t (a INT PRIMARY KEY, b INT, c INT)";
        let setup = [create, "CREATE INDEX i ON t (c)"];
        let setup = setup.map(|sql| ParsedStatement::read(sql, dialect));
        let table = &tables(&setup)[0];
        let reach = |sql: &str| match rows_by_key(sql, dialect, table, true) {
            Rows::All => Vec::new(),
            Rows::Keys(keys) => keys.into_iter().collect(),
        };
        assert_eq!(reach("UPDATE t SET b = 2 WHERE a = 1 AND b > 0"), [1]);
        assert_eq!(reach("DELETE FROM t WHERE (t.a IN (3, -4))"), [-4, 3]);
        assert_eq!(reach("SELECT b FROM t WHERE a = 1 FOR UPDATE"), [1]);
        assert_eq!(reach("INSERT INTO t (b, a) VALUES (1, 7), (2, 8)"), [7, 8]);
        for all in [
            "DELETE FROM t",
            "UPDATE t SET a = 2 WHERE a = 1",
            "UPDATE t SET b = 2 WHERE a = 1 OR b = 1",
            "UPDATE t SET b = 2 WHERE a = 1 AND c = 1",
            "UPDATE t SET b = 2 WHERE a = '1'",
            "DELETE FROM t WHERE a = 1 AND b = (SELECT max(b) FROM t)",
            "INSERT INTO t VALUES (1, 2, 3) ON CONFLICT DO NOTHING",
            "INSERT INTO t SELECT 1, 2, 3",
        ] {
            assert_eq!(reach(all), [0_i64; 0], "{all}");
        }
        let with_gaps = rows_by_key("INSERT INTO t VALUES (1, 2, 3)", dialect, table, false);
        assert_eq!(with_gaps, Rows::All);
    }
}
