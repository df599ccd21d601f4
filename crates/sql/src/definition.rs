//! What a DDL statement says about tables, by its tokens: which one it makes, what it refers to, which columns it
//! computes, and whether it acts on rows by itself.
//!
//! Idea: one reading for all who ask. What cannot be read to its end refers, acts and alters: nobody relies on it.
//!
//! Blind spot: triggers and stored routines are not looked into; that there are some is told.

use anchorite_model::sql::{Dialect, Token, Tokens};

use crate::created::{Element, elements};
use crate::tokens::{is_any, name};

/// What acts when rows change.
const PROGRAMS: [&str; 4] = ["TRIGGER", "FUNCTION", "PROCEDURE", "RULE"];

/// What a DDL statement says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// The table that it creates, as it is spelled, without quotes.
    pub table: Option<String>,
    /// The tables that foreign keys refer to, in order, as they are spelled.
    pub references: Vec<String>,
    /// Whether there is a foreign key, or may be one.
    pub refers: bool,
    /// Whether a foreign key changes rows by itself: CASCADE, SET NULL, SET DEFAULT.
    pub acts: bool,
    /// Whether it changes what is there already.
    pub alters: bool,
    /// The columns that the table computes by itself, as they are spelled.
    pub generated: Vec<String>,
    /// The view that it creates, as it is spelled, without quotes.
    pub view: Option<String>,
    /// Whether it makes something that acts when rows change: a trigger, a rule, a routine.
    pub programs: bool,
    /// Whether a constraint is checked only when a transaction commits.
    pub late: bool,
}

impl Definition {
    /// Reads a DDL statement.
    pub fn read(sql: &str, dialect: Dialect) -> Self {
        let mut tokens = Vec::new();
        let mut is_whole = true;
        for token in Tokens::new(sql, 0, dialect) {
            match token {
                Ok(token) if token.is_significant() => tokens.push(token),
                Ok(_) => {}
                Err(_) => is_whole = false,
            }
        }
        let tokens = tokens.as_slice();
        let behind = |word: &str| {
            let places = tokens.windows(2).filter(|two| two[0].is_word(word));
            places.filter_map(|two| name(&two[1])).map(str::to_owned).collect::<Vec<String>>()
        };
        let references = behind("REFERENCES");
        Self {
            table: created(tokens, "TABLE"),
            view: created(tokens, "VIEW"),
            programs: tokens.iter().any(|token| is_any(token, &PROGRAMS)),
            late: tokens.iter().any(|token| token.is_word("DEFERRED")),
            refers: !is_whole || tokens.iter().any(|token| token.is_word("REFERENCES")),
            references,
            acts: !is_whole || acts(tokens),
            alters: !is_whole || tokens.iter().any(|token| token.is_word("ALTER")),
            generated: elements(tokens)
                .iter()
                .filter_map(Element::generated)
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Whether a table refers to itself, or gets its constraints later.
    pub fn refers_to_itself(&self) -> bool {
        let is_own = |other: &String| {
            self.table.as_ref().is_some_and(|table| table.eq_ignore_ascii_case(other))
        };
        self.alters || self.references.iter().any(is_own)
    }
}

/// The name behind CREATE … TABLE, or behind another word.
fn created(tokens: &[Token<'_>], what: &str) -> Option<String> {
    let is_create = tokens.first()?.is_word("CREATE");
    let mut head = tokens.iter().take_while(|token| !token.is_symbol("("));
    let at = 1 + head.position(|token| token.is_word(what)).filter(|_| is_create)?;
    let words = tokens[at..].iter().take_while(|token| is_any(token, &["IF", "NOT", "EXISTS"]));
    let at = at + words.count();
    // Behind a schema's name.
    let is_qualified = tokens.get(at + 1).is_some_and(|token| token.is_symbol("."));
    name(tokens.get(at + if is_qualified { 2 } else { 0 })?).map(str::to_owned)
}

/// `ON DELETE CASCADE`, `ON UPDATE SET NULL`, `ON DELETE SET DEFAULT`.
fn acts(tokens: &[Token<'_>]) -> bool {
    tokens.windows(2).any(|two| {
        two[0].is_word("CASCADE")
            || (two[0].is_word("SET") && is_any(&two[1], &["NULL", "DEFAULT"]))
    }) || tokens.last().is_some_and(|last| last.is_word("CASCADE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> Definition {
        Definition::read(sql, Dialect::Mysql)
    }

    #[test]
    fn tables_that_refer_to_themselves_are_told() {
        for (sql, expected) in [
            ("CREATE TABLE t (a INT PRIMARY KEY, b INT REFERENCES t (a))", true),
            ("CREATE TABLE IF NOT EXISTS `t` (a INT, FOREIGN KEY (a) REFERENCES T (a))", true),
            ("ALTER TABLE t ADD UNIQUE (a)", true),
            ("CREATE TABLE u (b INT, FOREIGN KEY (b) REFERENCES `t` (a))", false),
            ("CREATE TABLE t (a INT DEFAULT ' REFERENCES t')", false),
            ("CREATE TABLE t (a INT DEFAULT 'no end)", true),
        ] {
            assert_eq!(read(sql).refers_to_itself(), expected, "{sql}");
        }
    }

    #[test]
    fn what_a_foreign_key_does_is_told() {
        for (sql, refers, acts) in [
            ("CREATE TABLE t (a INT REFERENCES u (a) ON DELETE CASCADE)", true, true),
            ("CREATE TABLE t (a INT REFERENCES u (a) ON UPDATE SET  NULL)", true, true),
            ("CREATE TABLE t (a INT REFERENCES u (a) ON DELETE RESTRICT)", true, false),
            ("CREATE TABLE t (a TEXT DEFAULT 'CASCADE, SET NULL, REFERENCES')", false, false),
            ("CREATE TABLE t (a TEXT DEFAULT 'no end)", true, true),
        ] {
            let definition = read(sql);
            assert_eq!((definition.refers, definition.acts), (refers, acts), "{sql}");
        }
    }

    #[test]
    fn what_is_more_than_a_table_is_told() {
        assert_eq!(read("CREATE VIEW `v` AS SELECT * FROM t").view.as_deref(), Some("v"));
        assert_eq!(read("CREATE TABLE t (view INT)").view, None);
        let trigger = "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW UPDATE u SET a = a + 1";
        assert!(read(trigger).programs && !read("CREATE INDEX i ON t (a)").programs);
        let late = "CREATE TABLE t (a INT REFERENCES u (a) DEFERRABLE INITIALLY DEFERRED)";
        assert!(read(late).late && !read("CREATE TABLE t (a INT REFERENCES u (a))").late);
    }

    #[test]
    fn generated_columns_are_found() {
        let sql = "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1) STORED, c INT AS (a), \
                   PRIMARY KEY (a, b))";
        assert_eq!(read(sql).generated, ["b", "c"]);
    }
}
