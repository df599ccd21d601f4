//! From text to a syntax tree.

use anchorite_model::sql::Dialect;
use sqlparser::ast::Statement;
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;

/// The tree of a text that is one statement; `None` if the parser does not know it.
pub fn parse(text: &str, dialect: Dialect) -> Option<Statement> {
    let parsed = match dialect {
        Dialect::Mysql => Parser::parse_sql(&MySqlDialect {}, text),
        Dialect::Postgres => Parser::parse_sql(&PostgreSqlDialect {}, text),
        Dialect::Sqlite => Parser::parse_sql(&SQLiteDialect {}, text),
    };
    let mut statements = parsed.ok()?;
    let only = statements.pop()?;
    statements.is_empty().then_some(only)
}
