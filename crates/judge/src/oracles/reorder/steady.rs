//! Whether a statement does the same whenever it finds the same rows.
//!
//! Idea: a list of functions that are known to depend on their arguments alone. Blind spot: any other function makes
//! the statement one of which nothing is known.

use anchorite_model::sql::{Dialect, Token};
use anchorite_sql::tokens::significant;

/// Functions whose values depend on their arguments alone; and words that stand before a parenthesis.
const STEADY: [&str; 56] = [
    "COUNT",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "ABS",
    "COALESCE",
    "NULLIF",
    "IFNULL",
    "CONCAT",
    "LENGTH",
    "CHAR_LENGTH",
    "UPPER",
    "LOWER",
    "GREATEST",
    "LEAST",
    "ROUND",
    "MOD",
    "VALUES",
    "VALUE",
    "IN",
    "EXISTS",
    "CAST",
    "TRIM",
    "SUBSTR",
    "SUBSTRING",
    "SIGN",
    "AND",
    "OR",
    "NOT",
    "ON",
    "INTO",
    "FROM",
    "WHERE",
    "SELECT",
    "BETWEEN",
    "THEN",
    "ELSE",
    "WHEN",
    "SET",
    "JSON_EXTRACT",
    "REPEAT",
    "REPLACE",
    "LEFT",
    "RIGHT",
    "FLOOR",
    "CEIL",
    "HEX",
    "TYPEOF",
    "EXTRACT",
    "CHAR",
    "VARCHAR",
    "DECIMAL",
    "NUMERIC",
    "USING",
    "AS",
];

/// Whether all functions of a statement depend on their arguments alone.
pub fn is_steady(sql: &str, dialect: Dialect) -> bool {
    let tokens = significant(sql, dialect);
    let called = tokens.windows(2).filter(|pair| pair[1].text == "(");
    let is_known = |pair: &[Token<'_>]| {
        let word = pair[0].text.to_uppercase();
        !word.starts_with(|first: char| first.is_ascii_alphabetic())
            || STEADY.contains(&word.as_str())
            || pair[1].start > pair[0].end()
    };
    let is_moment = |text: &str| {
        let word = text.to_uppercase();
        word.starts_with("CURRENT_") || word.starts_with("LOCALTIME")
    };
    called.into_iter().all(is_known) && !tokens.iter().any(|token| is_moment(token.text))
}
