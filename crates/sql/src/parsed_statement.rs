//! One statement: its text, and its syntax tree where that can be trusted.
//!
//! Idea: the text stays as it was written until an edit changes the tree; then the printed tree is the text.
//! A tree is trusted when printing it and reading it again gives the same tree. Whatever the parser does
//! not know (`LOCK IN SHARE MODE`, `PARTITION BY HASH …`) stays text, of which the tokens are known.
//!
//! Assumption: a tree that survives printing means the same to the server. Blind spot: what the parser reads and
//! forgets (comments; hints keep a statement from being parsed at all).

use std::borrow::Cow;

use anchorite_model::StatementKind;
use anchorite_model::sql::{Dialect, Token, TokenKind, Tokens};
use sqlparser::ast::Statement;

use crate::parse::parse;
use crate::tokens::{name, significant};

/// A statement with its tree.
#[derive(Debug)]
pub struct ParsedStatement {
    text: String,
    tree: Option<Box<Statement>>,
    dialect: Dialect,
    /// An edit gave a tree that does not survive being printed.
    broken: bool,
}

// Not derived: a derived copy would be compiled again in every crate that copies statements.
impl Clone for ParsedStatement {
    #[inline(never)]
    fn clone(&self) -> Self {
        let Self { text, tree, dialect, broken } = self;
        Self { text: text.clone(), tree: tree.clone(), dialect: *dialect, broken: *broken }
    }
}

impl ParsedStatement {
    /// Reads a statement.
    pub fn read(text: &str, dialect: Dialect) -> Self {
        let tree = parse(text, dialect)
            .filter(|tree| parse(&tree.to_string(), dialect).is_some_and(|again| again == *tree));
        let tree = tree.filter(|_| !has_hint(text, dialect)).map(Box::new);
        Self { text: text.to_owned(), tree, dialect, broken: false }
    }

    /// What goes to the server.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tree, where there is one.
    pub fn tree(&self) -> Option<&Statement> {
        self.tree.as_deref()
    }

    /// What it says about tables, even if it has storage options that the parser does not know.
    pub fn outline(&self) -> Option<Cow<'_, Statement>> {
        if let Some(tree) = self.tree() {
            return Some(Cow::Borrowed(tree));
        }
        if self.kind() != StatementKind::Ddl || self.dialect != Dialect::Mysql {
            return None;
        }
        let is_storage =
            |token: &Token<'_>| token.is_word("CLUSTERED") || token.is_word("NONCLUSTERED");
        let mut logical = self.text.clone();
        let tokens = self.tokens();
        if let Some(partition) = tokens.iter().find(|token| token.is_word("PARTITION")) {
            logical.truncate(partition.start);
        }
        // From the end, so that the positions of the others stay valid.
        let storage = tokens.iter().rev().filter(|token| token.end() <= logical.len());
        let storage: Vec<_> = storage.filter(|token| is_storage(token)).collect();
        storage.iter().for_each(|token| logical.replace_range(token.start..token.end(), ""));
        parse(&logical, self.dialect).map(Cow::Owned)
    }

    /// Whether it can be asked about.
    pub const fn is_sound(&self) -> bool {
        !self.broken
    }

    /// What kind of statement it is.
    pub fn kind(&self) -> StatementKind {
        StatementKind::of(&self.text)
    }

    /// Changes the tree; a statement without one stays as it is.
    pub fn edit(&mut self, change: impl FnOnce(&mut Statement)) {
        let mut change = Some(change);
        self.edit_once(&mut |tree| {
            if let Some(change) = change.take() {
                change(tree);
            }
        });
    }

    #[inline(never)]
    fn edit_once(&mut self, change: &mut dyn FnMut(&mut Statement)) {
        let Some(tree) = &mut self.tree else { return };
        let before = tree.clone();
        change(tree);
        if *tree != before {
            self.text = tree.to_string();
            self.broken = parse(&self.text, self.dialect).as_ref() != Some(tree);
        }
    }

    /// Replaces the text.
    pub fn rewrite(&mut self, text: &str) {
        if text != self.text {
            *self = Self::read(text, self.dialect);
        }
    }

    /// The tokens that mean something.
    pub fn tokens(&self) -> Vec<Token<'_>> {
        significant(&self.text, self.dialect)
    }

    /// Whether this name occurs in it.
    pub fn mentions(&self, name: &str) -> bool {
        self.tokens().iter().any(|token| bare(token).eq_ignore_ascii_case(name))
    }

    /// The family of its language.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }
}

/// A name without its quotes; empty for anything else.
pub fn bare<'a>(token: &Token<'a>) -> &'a str {
    name(token).unwrap_or_default()
}

fn has_hint(text: &str, dialect: Dialect) -> bool {
    let mut tokens = Tokens::new(text, 0, dialect).map_while(Result::ok);
    tokens.any(|token| token.kind == TokenKind::Hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_generate::{Recipe, case};
    use anchorite_model::Product;

    #[test]
    fn storage_does_not_hide_what_a_table_says() {
        let sql = "CREATE TABLE t (a INT, PRIMARY KEY (a) NONCLUSTERED, CHECK (a >= 0)) PARTITION BY HASH (a)";
        let parsed = ParsedStatement::read(sql, Dialect::Mysql);
        let outline = parsed.outline().expect("an outline");
        assert_eq!(outline.to_string(), "CREATE TABLE t (a INT, PRIMARY KEY (a), CHECK (a >= 0))");
    }

    /// What is left as text is reduced by tokens, which works less well; so there should be little of it besides
    /// MySQL's partitions.
    #[test]
    fn most_of_what_is_generated_has_a_tree() {
        for product in Product::all() {
            let recipe = Recipe::new(product);
            // Far apart, so that they do not share their tables.
            let cases: Vec<_> = (0..200).map(|at| case(&recipe, 1, at * 100)).collect();
            let steps = cases.iter().flat_map(|case| case.steps.iter().map(|s| &s.statement));
            let all: Vec<&str> = cases
                .iter()
                .flat_map(|case| &case.setup)
                .chain(steps)
                .map(|statement| statement.sql.as_str())
                .filter(|sql| {
                    let kind = StatementKind::of(sql);
                    let selects = matches!(kind, StatementKind::Select { .. });
                    selects || kind.writes() || kind == StatementKind::Ddl
                })
                .collect();
            let dialect = product.dialect();
            let texts: Vec<&&str> = all
                .iter()
                .filter(|sql| ParsedStatement::read(sql, dialect).tree().is_none())
                .collect();
            let share = texts.len() * 100 / all.len();
            assert!(share < 5, "{product}: {share} % of {}, such as {:?}", all.len(), texts[0]);
        }
    }
}
