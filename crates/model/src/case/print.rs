//! Prints a case as a `.case` file.
//!
//! Idea: one canonical form, so that cases can be compared as texts: header (title, source, level, levels of
//! sessions, targets, expect, other keys), then setup, schedule, check and teardown, each block after a blank line, one
//! statement per line. Reading what was printed gives the same case, except for the line numbers.
//!
//! Assumption: the case could have come from a file: statements are complete, without the `;` and without surrounding
//! spaces; header values are single lines. Remarks between statements were dropped when the file was read.

use std::fmt;

use crate::sql::{Dialect, TokenKind, Tokens};
use crate::{Case, Header, Statement};

impl Case {
    /// The case as the text of a `.case` file.
    pub fn to_text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |name: &'static str, statements: &[Statement]| -> String {
            statements.iter().map(|statement| line(name, statement)).collect()
        };
        let steps = self.steps.iter();
        let blocks = [
            header(&self.header),
            named("setup", &self.setup),
            steps.map(|step| line(&self.sessions[step.session], &step.statement)).collect(),
            named("check", &self.check),
            named("teardown", &self.teardown),
        ];
        let blocks: Vec<String> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
        f.write_str(&blocks.join("\n"))
    }
}

fn line(name: &str, statement: &Statement) -> String {
    let separator = if ends_in_line_comment(&statement.sql) { "\n" } else { "" };
    format!("/* {name} */ {}{separator};\n", statement.sql)
}

/// Whether a `;` right after the statement would be part of a comment, in any dialect.
fn ends_in_line_comment(sql: &str) -> bool {
    Dialect::ALL.into_iter().any(|dialect| {
        let last = Tokens::new(sql, 0, dialect).last();
        last.is_some_and(|token| token.is_ok_and(|token| token.kind == TokenKind::LineComment))
    })
}

fn header(header: &Header) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut add = |key: &str, value: &str| lines.push((key.to_owned(), value.to_owned()));
    header.title.iter().for_each(|title| add("title", title));
    header.source.iter().for_each(|source| add("source", source));
    header.level.iter().for_each(|level| add("level", level.name()));
    for (session, level) in &header.session_levels {
        add(&format!("level {session}"), level.name());
    }
    if !header.targets.is_empty() {
        let names: Vec<&str> = header.targets.iter().map(|product| product.name()).collect();
        add("targets", &names.join(", "));
    }
    header.expect.iter().for_each(|expect| add("expect", expect));
    header.other.iter().for_each(|(key, value)| add(key, value));
    let print = |(key, value): &(String, String)| match value.as_str() {
        "" => format!("-- {key}:\n"),
        value => format!("-- {key}: {value}\n"),
    };
    lines.iter().map(print).collect()
}
