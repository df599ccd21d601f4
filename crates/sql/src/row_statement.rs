//! As much of an UPDATE or DELETE as somebody has to change: its table and its condition.
//!
//! Blind spot: whatever is not `UPDATE table [alias] SET … [WHERE …]` or `DELETE FROM table [alias] [WHERE …]`
//! with an optional ORDER BY, LIMIT or RETURNING is not understood, and is left alone.

use anchorite_model::sql::{Dialect, Token, TokenKind};

use crate::tokens::{is_any, outside_parentheses, significant};

/// An UPDATE or DELETE of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowStatement<'a> {
    sql: &'a str,
    /// The table's name as it is written.
    pub table: &'a str,
    /// The table with its alias.
    pub source: &'a str,
    /// The position of the condition; empty, after the last assignment or table, if there is none.
    condition: std::ops::Range<usize>,
}

impl<'a> RowStatement<'a> {
    /// Reads a statement.
    pub fn read(sql: &'a str, dialect: Dialect) -> Option<Self> {
        let outer = outside_parentheses(&significant(sql, dialect));
        let is_update = outer.first()?.is_word("UPDATE");
        let name_at = match () {
            () if is_update => 1,
            () if outer[0].is_word("DELETE") && outer.get(1)?.is_word("FROM") => 2,
            () => return None,
        };
        let name = outer.get(name_at)?;
        if !is_name(name) {
            return None;
        }
        let mut at = name_at + 1;
        at += usize::from(outer.get(at).is_some_and(|token| token.is_word("AS")));
        at += usize::from(outer.get(at).is_some_and(is_name));
        let source = &sql[name.start..outer[at - 1].end()];
        if is_update && !outer.get(at)?.is_word("SET") {
            return None;
        }
        let rest = &outer[at..];
        if rest.iter().any(|token| is_any(token, &["FROM", "USING", "JOIN", "UNION"])) {
            return None;
        }
        let end = rest.iter().find(|token| is_any(token, &["ORDER", "LIMIT", "RETURNING"]));
        let end = end.map_or(sql.trim_end().len(), |token| token.start);
        let condition = match rest.iter().find(|token| token.is_word("WHERE")) {
            Some(word) if word.end() <= end => word.end()..end,
            Some(_) => return None,
            None => end..end,
        };
        let clauses = ["WHERE", "ORDER", "LIMIT", "RETURNING"];
        if !is_update && rest.first().is_some_and(|token| !is_any(token, &clauses)) {
            return None;
        }
        Some(Self { sql, table: name.text, source, condition })
    }

    /// ` WHERE …`, or nothing.
    fn where_clause(&self) -> String {
        let condition = self.sql[self.condition.clone()].trim();
        if condition.is_empty() { String::new() } else { format!(" WHERE ({condition})") }
    }

    /// The rows that it matches.
    pub fn select(&self) -> String {
        format!("SELECT * FROM {}{}", self.source, self.where_clause())
    }

    /// ` WHERE …` with one more condition.
    pub fn where_also(&self, also: &str) -> String {
        match self.where_clause() {
            clause if clause.is_empty() => format!(" WHERE {also}"),
            clause => format!("{clause} AND {also}"),
        }
    }

    /// The statement with one more condition.
    pub fn with_condition(&self, also: &str) -> String {
        let before = &self.sql[..self.condition.start];
        let before = if self.where_clause().is_empty() {
            before
        } else {
            // The word WHERE itself is part of the clause.
            &before[..before.len() - "WHERE".len()]
        };
        let before = before.trim_end();
        format!("{before}{} {}", self.where_also(also), &self.sql[self.condition.end..])
            .trim_end()
            .to_owned()
    }

    /// Whether it is about the table of this name.
    pub fn is_about(&self, table: &str) -> bool {
        self.table.trim_matches(['`', '"']).eq_ignore_ascii_case(table)
    }
}

fn is_name(token: &Token<'_>) -> bool {
    const NO_NAMES: [&str; 13] = [
        "SET",
        "WHERE",
        "ORDER",
        "LIMIT",
        "RETURNING",
        "OR",
        "IGNORE",
        "LOW_PRIORITY",
        "QUICK",
        "ONLY",
        "PARTITION",
        "USING",
        "FORCE",
    ];
    match token.kind {
        TokenKind::QuotedName => true,
        TokenKind::Word => !NO_NAMES.iter().any(|word| token.is_word(word)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_added_where_it_belongs() {
        for (sql, expected) in [
            ("UPDATE t SET a = 1", "UPDATE t SET a = 1 WHERE x"),
            (
                "UPDATE t SET a = (SELECT 1 FROM u WHERE b) where c OR d",
                "UPDATE t SET a = (SELECT 1 FROM u WHERE b) WHERE (c OR d) AND x",
            ),
            (
                "UPDATE `t` AS z SET a = 1 WHERE c ORDER BY a LIMIT 1",
                "UPDATE `t` AS z SET a = 1 WHERE (c) AND x ORDER BY a LIMIT 1",
            ),
            ("DELETE FROM t", "DELETE FROM t WHERE x"),
            ("DELETE FROM t WHERE c RETURNING a", "DELETE FROM t WHERE (c) AND x RETURNING a"),
            ("DELETE FROM t ORDER BY a", "DELETE FROM t WHERE x ORDER BY a"),
        ] {
            let statement = RowStatement::read(sql, Dialect::Mysql).expect(sql);
            assert_eq!(statement.with_condition("x"), expected);
        }
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        for sql in [
            "UPDATE t, u SET a = 1",
            "UPDATE t JOIN u USING (a) SET a = 1",
            "UPDATE IGNORE t SET a = 1",
            "UPDATE OR REPLACE t SET a = 1",
            "UPDATE t SET a = 1 FROM u WHERE c",
            "UPDATE s.t SET a = 1",
            "DELETE t FROM t",
            "DELETE FROM t USING u WHERE c",
            "WITH w AS (SELECT 1) DELETE FROM t",
            "INSERT INTO t VALUES (1)",
        ] {
            assert_eq!(RowStatement::read(sql, Dialect::Postgres), None, "{sql}");
        }
    }
}
