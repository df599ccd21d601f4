//! What a CREATE statement creates, by its tokens, with the places in its text: for those who change tables.
//!
//! Idea: one reading of tables, their elements, partitions and storage, so that a caller cuts text at places that are
//! known and never searches it.
//!
//! Blind spot: a table that is created from a query, or like another one, has no elements.

use std::ops::Range;

use anchorite_model::sql::{Dialect, Token, TokenKind};

use crate::tokens::{is_any, significant};

/// What a statement creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created<'a> {
    /// A table of its own.
    Table(CreatedTable<'a>),
    /// A part of a table.
    Partition {
        /// Its name, as it is spelled.
        name: &'a str,
        /// The table, as it is spelled.
        of: &'a str,
    },
    /// An index that allows several rows per key.
    Index,
}

/// A CREATE TABLE statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedTable<'a> {
    /// Its name, as it is spelled.
    pub name: &'a str,
    /// The columns, keys and constraints.
    pub elements: Vec<Element<'a>>,
    /// Where `PARTITION BY` begins.
    pub partitioned_from: Option<usize>,
    /// Words that say how rows are stored, where these are not the product's default.
    pub storage: Option<Storage>,
}

/// One of the comma-separated elements of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element<'a> {
    /// Where it stands.
    pub place: Range<usize>,
    tokens: Vec<Token<'a>>,
}

/// How rows are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// `WITHOUT ROWID`, and where it stands: rows in the order of the primary key.
    WithoutRowid(Range<usize>),
    /// `NONCLUSTERED`, and where it stands: rows apart from the primary key.
    Nonclustered(Range<usize>),
}

impl<'a> Created<'a> {
    /// Reads a statement; `None` if it creates something else, or nothing.
    pub fn read(sql: &'a str, dialect: Dialect) -> Option<Self> {
        let tokens = significant(sql, dialect);
        let word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
        if !word(0, "CREATE") {
            return None;
        }
        if word(1, "INDEX") {
            return Some(Self::Index);
        }
        let name = tokens.get(2).filter(|_| word(1, "TABLE"))?.text;
        if let Some(at) = pair(&tokens, "PARTITION", "OF") {
            return Some(Self::Partition { name, of: tokens.get(at + 2)?.text });
        }
        Some(Self::Table(CreatedTable {
            name,
            elements: elements(&tokens),
            partitioned_from: pair(&tokens, "PARTITION", "BY").map(|at| tokens[at].start),
            storage: storage(&tokens),
        }))
    }
}

impl<'a> Element<'a> {
    /// Whether it is an index that allows several rows per key.
    pub fn is_index(&self) -> bool {
        self.tokens.first().is_some_and(|first| is_any(first, &["INDEX", "KEY"]))
    }

    /// Its name, as it is spelled, if it is an integer column that is neither a key nor computed.
    pub fn plain_integer(&self) -> Option<&'a str> {
        let [name, kind, ..] = self.tokens.as_slice() else { return None };
        let is_name = matches!(name.kind, TokenKind::Word | TokenKind::QuotedName);
        let is_integer = is_any(kind, &["INT", "INTEGER", "BIGINT", "SMALLINT", "INT4", "INT8"]);
        let special = ["PRIMARY", "UNIQUE", "GENERATED", "AS"];
        let is_special = self.tokens.iter().any(|token| is_any(token, &special));
        (is_name && is_integer && !is_special).then_some(name.text)
    }

    /// The name of a column that the table computes by itself.
    pub(crate) fn generated(&self) -> Option<&'a str> {
        let is_computed = self.tokens.windows(2).any(|pair| {
            pair[0].is_word("GENERATED") || (pair[0].is_word("AS") && pair[1].is_symbol("("))
        });
        self.tokens.first().and_then(crate::tokens::name).filter(|_| is_computed)
    }
}

/// Where two words follow each other.
fn pair(tokens: &[Token<'_>], first: &str, second: &str) -> Option<usize> {
    tokens.windows(2).position(|pair| pair[0].is_word(first) && pair[1].is_word(second))
}

/// The elements in the first parentheses; none if these are not closed.
pub(crate) fn elements<'a>(tokens: &[Token<'a>]) -> Vec<Element<'a>> {
    let Some(open) = tokens.iter().position(|token| token.is_symbol("(")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let (mut depth, mut from) = (0_usize, open + 1);
    for (at, token) in tokens.iter().enumerate().skip(open) {
        let closes = token.is_symbol(")") && depth == 1;
        if closes || (token.is_symbol(",") && depth == 1) {
            found.extend(Element::of(&tokens[from..at]));
            from = at + 1;
        }
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if closes {
            return found;
        }
    }
    Vec::new()
}

impl<'a> Element<'a> {
    fn of(tokens: &[Token<'a>]) -> Option<Self> {
        let (first, last) = (tokens.first()?, tokens.last()?);
        Some(Self { place: first.start..last.end(), tokens: tokens.to_vec() })
    }
}

fn storage(tokens: &[Token<'_>]) -> Option<Storage> {
    if let [.., without, rowid] = tokens
        && without.is_word("WITHOUT")
        && rowid.is_word("ROWID")
    {
        return Some(Storage::WithoutRowid(without.start..rowid.end()));
    }
    let apart = tokens.iter().find(|token| token.is_word("NONCLUSTERED"))?;
    Some(Storage::Nonclustered(apart.start..apart.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(sql: &str) -> CreatedTable<'_> {
        match Created::read(sql, Dialect::Mysql) {
            Some(Created::Table(table)) => table,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn elements_are_found_where_they_stand() {
        let sql =
            "CREATE TABLE t (a INT, b DECIMAL(3, 1) DEFAULT ')', KEY (a, b), c BIGINT AS (a))";
        let table = table(sql);
        let texts: Vec<&str> = table.elements.iter().map(|e| &sql[e.place.clone()]).collect();
        assert_eq!(
            texts,
            ["a INT", "b DECIMAL(3, 1) DEFAULT ')'", "KEY (a, b)", "c BIGINT AS (a)"]
        );
        let indexes: Vec<bool> = table.elements.iter().map(Element::is_index).collect();
        assert_eq!(indexes, [false, false, true, false]);
        let plain: Vec<Option<&str>> = table.elements.iter().map(Element::plain_integer).collect();
        assert_eq!(plain, [Some("a"), None, None, None]);
    }

    #[test]
    fn what_is_created_is_told() {
        let read = |sql| Created::read(sql, Dialect::Postgres);
        assert_eq!(read("CREATE INDEX i ON t (a)"), Some(Created::Index));
        assert_eq!(read("CREATE UNIQUE INDEX i ON t (a)"), None);
        assert_eq!(
            read("CREATE TABLE t_1 PARTITION OF t DEFAULT"),
            Some(Created::Partition { name: "t_1", of: "t" })
        );
        let sql = "CREATE TABLE t (a INT) PARTITION BY RANGE (a)";
        assert_eq!(table(sql).partitioned_from, Some(23));
        let sql = "CREATE TABLE t (a INT DEFAULT 'WITHOUT ROWID')";
        assert_eq!(table(sql).storage, None);
    }
}
