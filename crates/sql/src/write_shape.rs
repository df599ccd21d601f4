//! As much of a write's shape as is needed to follow rows: which table it writes, and whether it looks at others.
//!
//! Blind spot: it goes only by the tokens. A statement that is not certainly simple has no shape.

use anchorite_model::sql::{Dialect, Token};

use crate::tokens::{is_any, name, outside_parentheses, significant};

/// Words between the first one and the name of the table.
const NOISE: [&str; 8] =
    ["LOW_PRIORITY", "IGNORE", "INTO", "FROM", "ONLY", "OR", "REPLACE", "QUICK"];

/// A write to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteShape {
    /// The table that it writes, as it is spelled.
    pub table: String,
    /// Whether there is a query inside.
    pub has_subquery: bool,
    /// Whether that table is named a second time.
    pub names_table_again: bool,
    /// Whether there are several rows after VALUES.
    pub several_rows: bool,
    /// Whether an INSERT changes the row that is in its way: `ON DUPLICATE KEY UPDATE`, `ON CONFLICT … DO UPDATE`.
    pub updates_on_conflict: bool,
    /// Whether keys that are taken decide what becomes of its rows: REPLACE, IGNORE, `OR …`, `ON CONFLICT`.
    pub yields_to_keys: bool,
}

/// The shape of a write; `None` where it is not a simple one.
pub fn write_shape(sql: &str, dialect: Dialect) -> Option<WriteShape> {
    let tokens = significant(sql, dialect);
    let joins = tokens.first()?.is_word("UPDATE")
        && outside_parentheses(&tokens).iter().any(|token| token.is_word("FROM"));
    let word = |word: &&str| tokens.iter().any(|token| token.is_word(word));
    let is_complex = joins || ["JOIN", "USING", "LIMIT", "FETCH"].iter().any(word);
    shape(&tokens).filter(|_| !is_complex)
}

/// The shape of `UPDATE t … FROM …` and `DELETE FROM t … USING …`, which look at other rows like a query inside.
pub fn joined_shape(sql: &str, dialect: Dialect) -> Option<WriteShape> {
    let tokens = significant(sql, dialect);
    let joins = match tokens.first()? {
        first if first.is_word("UPDATE") => "FROM",
        first if first.is_word("DELETE") => "USING",
        _ => return None,
    };
    let outer = outside_parentheses(&tokens);
    let is_joined = outer.iter().any(|token| token.is_word(joins));
    let is_other = outer.iter().any(|token| is_any(token, &["JOIN", "LIMIT", "FETCH"]));
    let shape = shape(&tokens).filter(|_| is_joined && !is_other)?;
    Some(WriteShape { has_subquery: true, ..shape })
}

fn shape(tokens: &[Token<'_>]) -> Option<WriteShape> {
    let at = 1 + tokens.get(1..)?.iter().take_while(|token| is_any(token, &NOISE)).count();
    let table = name(tokens.get(at)?)?.to_owned();
    let next = tokens.get(at + 1);
    if next.is_some_and(|token| token.is_symbol(",") || token.is_symbol(".")) {
        return None;
    }
    let same = |index: usize| name(&tokens[index]).is_some_and(|n| n.eq_ignore_ascii_case(&table));
    let qualifies = |index: usize| tokens.get(index + 1).is_some_and(|t| t.is_symbol("."));
    let again = (at + 1..tokens.len()).any(|index| same(index) && !qualifies(index));
    let word = |word: &str| tokens.iter().any(|token| token.is_word(word));
    let between_rows =
        |three: &[Token<'_>]| three.iter().zip([")", ",", "("]).all(|(t, s)| t.is_symbol(s));
    Some(WriteShape {
        table,
        has_subquery: word("SELECT"),
        names_table_again: again,
        several_rows: word("VALUES") && tokens.windows(3).any(between_rows),
        updates_on_conflict: updates_on_conflict(tokens),
        yields_to_keys: yields_to_keys(tokens),
    })
}

fn updates_on_conflict(tokens: &[Token<'_>]) -> bool {
    let outer = outside_parentheses(tokens);
    let on = outer.windows(2).position(is_on_conflict);
    on.is_some_and(|on| outer[on..].iter().any(|token| token.is_word("UPDATE")))
}

fn yields_to_keys(tokens: &[Token<'_>]) -> bool {
    let outer = outside_parentheses(tokens);
    let first = outer.iter().take(2);
    let on = outer.windows(2).any(is_on_conflict);
    on || first.into_iter().any(|token| is_any(token, &["REPLACE", "IGNORE", "OR"]))
}

fn is_on_conflict(two: &[Token<'_>]) -> bool {
    two[0].is_word("ON") && is_any(&two[1], &["DUPLICATE", "CONFLICT"])
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
                updates_on_conflict: false,
                yields_to_keys: false,
            })
        };
        assert_eq!(shape("DELETE FROM t WHERE t.a = 1"), simple("t"));
        assert_eq!(shape("UPDATE `t0` SET a = a + 1"), simple("t0"));
        assert_eq!(shape("INSERT INTO t (a) VALUES (1)"), simple("t"));
        assert_eq!(shape("UPDATE t, u SET t.a = 1"), None);
        assert_eq!(shape("DELETE FROM t ORDER BY a LIMIT 1"), None);
        assert_eq!(shape("UPDATE t SET a = 1 FROM u WHERE t.a = u.a"), None);
        assert_eq!(shape("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE"), None);
        let inside = shape("DELETE FROM t WHERE a IN (SELECT a FROM t)").expect("a shape");
        assert!(inside.has_subquery && inside.names_table_again);
        let rows = shape("INSERT INTO t (a, b) VALUES (1, 2), (3, 4)").expect("a shape");
        assert!(rows.several_rows);
        let updates = |sql| shape(sql).expect("a shape").updates_on_conflict;
        assert!(updates("INSERT INTO t VALUES (1)\nON DUPLICATE KEY UPDATE a = 2"));
        assert!(updates("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2"));
        assert!(!updates("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING"));
        assert!(!updates("INSERT INTO t VALUES ('on, ON DUPLICATE KEY UPDATE')"));
        let yields = |sql| shape(sql).expect("a shape").yields_to_keys;
        assert!(yields("INSERT IGNORE INTO t (a) VALUES (1)"));
        assert!(yields("REPLACE INTO t (a) VALUES (1)"));
        assert!(yields("INSERT OR FAIL INTO t VALUES (1)"));
        assert!(yields("INSERT INTO t SELECT 1 ON CONFLICT DO NOTHING"));
        assert_eq!(shape("UPDATE"), None);
    }

    #[test]
    fn shapes_of_joined_writes() {
        let shape = |sql| joined_shape(sql, Dialect::Postgres);
        let own = shape("UPDATE t AS a SET c = 1 FROM t AS b WHERE a.k = b.k").expect("a shape");
        assert!(own.table == "t" && own.has_subquery && own.names_table_again);
        let other = shape("DELETE FROM t AS a USING u AS b WHERE a.k = b.k").expect("a shape");
        assert!(other.table == "t" && other.has_subquery && !other.names_table_again);
        assert_eq!(shape("UPDATE t SET c = 1 WHERE k IN (SELECT k FROM u)"), None);
        assert_eq!(shape("DELETE FROM t WHERE k IN (SELECT k FROM u)"), None);
        assert_eq!(shape("MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN DELETE"), None);
    }
}
