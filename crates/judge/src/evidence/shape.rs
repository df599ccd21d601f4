//! As much of a statement's shape as is needed to follow rows: which table it writes, whether it looks at
//! others, and which columns a table computes by itself.
//!
//! Blind spot: only what the tokens say. A shape that is not surely a simple one is none.

use std::collections::HashSet;

use anchorite_model::Statement;
use anchorite_model::sql::{Dialect, StatementKind, Token, TokenKind, Tokens};

/// A write to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteShape {
    /// The table that it writes, as it is spelled.
    pub table: String,
    /// Whether there is a query inside.
    pub has_subquery: bool,
    /// Whether that table is named a second time.
    pub names_table_again: bool,
    /// Whether there are several rows behind VALUES.
    pub several_rows: bool,
}

fn tokens(sql: &str, dialect: Dialect) -> Vec<Token<'_>> {
    Tokens::new(sql, 0, dialect).map_while(Result::ok).filter(Token::is_significant).collect()
}

fn name<'a>(token: &Token<'a>) -> Option<&'a str> {
    match token.kind {
        TokenKind::Word => Some(token.text),
        TokenKind::QuotedName => Some(&token.text[1..token.text.len() - 1]),
        _ => None,
    }
}

/// The shape of a write; `None` where it is not a simple one.
pub fn write_shape(sql: &str, dialect: Dialect) -> Option<WriteShape> {
    let tokens = tokens(sql, dialect);
    let is_noise = |token: &Token<'_>| {
        ["LOW_PRIORITY", "IGNORE", "INTO", "FROM", "ONLY", "OR", "REPLACE", "QUICK"]
            .iter()
            .any(|word| token.is_word(word))
    };
    let at = 1 + tokens[1..].iter().take_while(|token| is_noise(token)).count();
    let table = name(tokens.get(at)?)?.to_owned();
    let next = tokens.get(at + 1);
    if next.is_some_and(|token| token.is_symbol(",") || token.is_symbol(".")) {
        return None;
    }
    let same = |index: usize| name(&tokens[index]).is_some_and(|n| n.eq_ignore_ascii_case(&table));
    let qualifies = |index: usize| tokens.get(index + 1).is_some_and(|t| t.is_symbol("."));
    let again = (at + 1..tokens.len()).any(|index| same(index) && !qualifies(index));
    let word = |word: &str| tokens.iter().any(|token| token.is_word(word));
    let complex = ["JOIN", "USING", "LIMIT", "FETCH"].into_iter().any(word);
    let between_rows =
        |three: &[Token<'_>]| three.iter().zip([")", ",", "("]).all(|(t, s)| t.is_symbol(s));
    (!complex).then(|| WriteShape {
        table,
        has_subquery: word("SELECT"),
        names_table_again: again,
        several_rows: word("VALUES") && tokens.windows(3).any(between_rows),
    })
}

/// The table behind the first FROM, if it stands there alone.
pub fn names_table(tokens: &[Token<'_>]) -> Option<String> {
    let from = tokens.iter().position(|token| token.is_word("FROM"))?;
    let table = name(tokens.get(from + 1)?)?.to_owned();
    let goes_on = tokens.get(from + 2).is_some_and(|t| t.is_symbol(",") || t.is_symbol("."));
    (!goes_on).then_some(table)
}

/// The columns (table, column) that tables compute by themselves.
pub fn generated_columns(setup: &[Statement], dialect: Dialect) -> HashSet<(String, String)> {
    let creates = setup.iter().filter(|s| StatementKind::of(&s.sql) == StatementKind::Ddl);
    creates.flat_map(|statement| generated_in(&statement.sql, dialect)).collect()
}

fn generated_in(sql: &str, dialect: Dialect) -> Vec<(String, String)> {
    let tokens = tokens(sql, dialect);
    let Some(open) = tokens.iter().position(|token| token.is_symbol("(")) else {
        return Vec::new();
    };
    let Some(table) = open.checked_sub(1).and_then(|at| name(&tokens[at])) else {
        return Vec::new();
    };
    let mut depth = 0_usize;
    let mut definition: Vec<Token<'_>> = Vec::new();
    let mut found = Vec::new();
    for token in &tokens[open..] {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = depth == 0 || (depth == 1 && token.is_symbol(","));
        if ends {
            let computed = definition.windows(2).any(|pair| {
                pair[0].is_word("GENERATED") || (pair[0].is_word("AS") && pair[1].is_symbol("("))
            });
            if let Some(column) = definition.first().and_then(name).filter(|_| computed) {
                found.push((table.to_owned(), column.to_owned()));
            }
            definition.clear();
        } else if !(depth == 1 && token.is_symbol("(") && definition.is_empty()) {
            definition.push(*token);
        }
        if depth == 0 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_writes() {
        let shape = |sql| write_shape(sql, Dialect::Mysql);
        let simple = |table: &str| {
            Some(WriteShape {
                table: table.to_owned(),
                has_subquery: false,
                names_table_again: false,
                several_rows: false,
            })
        };
        assert_eq!(shape("DELETE FROM t WHERE t.a = 1"), simple("t"));
        assert_eq!(shape("UPDATE `t0` SET a = a + 1"), simple("t0"));
        assert_eq!(shape("INSERT IGNORE INTO t (a) VALUES (1)"), simple("t"));
        assert_eq!(shape("UPDATE t, u SET t.a = 1"), None);
        assert_eq!(shape("DELETE FROM t ORDER BY a LIMIT 1"), None);
        let inside = shape("DELETE FROM t WHERE a IN (SELECT a FROM t)").expect("a shape");
        assert!(inside.has_subquery && inside.names_table_again);
        let rows = shape("INSERT INTO t (a, b) VALUES (1, 2), (3, 4)").expect("a shape");
        assert!(rows.several_rows);
    }

    #[test]
    fn generated_columns_are_found() {
        let sql = "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1) STORED, c INT AS (a), \
                   PRIMARY KEY (a, b))";
        let found = generated_in(sql, Dialect::Mysql);
        let found: Vec<&str> = found.iter().map(|(_, column)| column.as_str()).collect();
        assert_eq!(found, ["b", "c"]);
    }
}
