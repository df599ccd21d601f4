//! From text to a syntax tree.

use anchorite_model::sql::Dialect;
use sqlparser::ast::Statement;
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;

/// How deep a statement may be nested. A level takes up to 50 kB of a thread's two megabytes where the parser is not
/// optimised; what is nested deeper has no tree, like everything else that the parser does not know.
const DEPTH_MAX: usize = 24;

/// The tree of a text that is one statement; `None` if the parser does not know it.
pub fn parse(text: &str, dialect: Dialect) -> Option<Statement> {
    let dialect: &dyn sqlparser::dialect::Dialect = match dialect {
        Dialect::Mysql => &MySqlDialect {},
        Dialect::Postgres => &PostgreSqlDialect {},
        Dialect::Sqlite => &SQLiteDialect {},
    };
    let parser = Parser::new(dialect).with_recursion_limit(DEPTH_MAX).try_with_sql(text).ok()?;
    let mut statements = { parser }.parse_statements().ok()?;
    let only = statements.pop()?;
    statements.is_empty().then_some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a thread of the usual size, in a build that is not optimised.
    #[test]
    fn deep_nesting_is_refused_and_overflows_no_stack() {
        let subqueries = |depth| {
            let deeper = |inner: String, _| format!("SELECT * FROM t WHERE a = ({inner})");
            (0..depth).fold("SELECT 1".to_owned(), deeper)
        };
        let brackets = |depth| format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth));
        for dialect in [Dialect::Mysql, Dialect::Postgres, Dialect::Sqlite] {
            for depth in [100, 1000] {
                assert!(parse(&subqueries(depth), dialect).is_none());
                assert!(parse(&brackets(depth), dialect).is_none());
            }
            assert!(parse(&subqueries(5), dialect).is_some());
            assert!(parse(&brackets(15), dialect).is_some());
        }
    }
}
