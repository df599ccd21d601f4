//! What scripts need to know about a product and about a case's objects.
//!
//! Idea: how a level is set, how a name is quoted, what a set-up creates and what must be dropped again. Source: the
//! same statements as the drivers send; they are repeated here, because a script runs without us. Blind spot: objects
//! are recognised by the words after `CREATE`; what a procedure creates is not seen.

use anchorite_model::sql::{Dialect, Token, TokenKind, Tokens};
use anchorite_model::{Level, Product, Rows};

use super::Script;
use crate::escape::visible;
use crate::result::level_label;
use crate::tuples::tuples;

/// The statements that set a session's level, and whatever else it needs to behave as in Anchorite.
pub(super) fn session_settings(product: Option<Product>, level: Option<Level>) -> Vec<String> {
    let Some(descriptor) = product.map(Product::descriptor) else { return Vec::new() };
    let set = level.map_or(&[][..], |level| descriptor.levels.set(level));
    set.iter().chain(&descriptor.scripts.session).cloned().collect()
}

/// The first lines of a script, without comment marks: where it ran, then the caller's remarks.
pub(super) fn opening(script: &Script<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let title = script.case.header.title.as_ref().unwrap_or(&script.case.name);
    if script.remarks.is_empty() {
        lines.push(title.clone());
    }
    lines.extend(script.remarks.iter().cloned());
    lines.extend(script.case.header.source.iter().map(|source| format!("Source: {source}")));
    match script.run {
        Some(run) => lines.push(format!("Observed on {} at {}.", run.target, level_label(run))),
        None => lines.push("Written without a run: what blocks was not observed.".to_owned()),
    }
    lines.iter().map(|line| visible(line)).collect()
}

/// A table's name, quoted as the product requires.
pub(super) fn quoted(product: Option<Product>, name: &str) -> String {
    let mut chars = name.chars();
    let simple = chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if simple {
        return name.to_owned();
    }
    match product.map(Product::dialect) {
        Some(Dialect::Mysql) => format!("`{}`", name.replace('`', "``")),
        _ => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Names for the sessions that every tool accepts: the case's own if they are plain words.
pub(super) fn identifiers(script: &Script<'_>) -> Vec<String> {
    let plain = |name: &str| {
        let reserved =
            ["default", "session", "setup", "step", "teardown", "permutation", "notices"];
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !reserved.iter().any(|word| name.eq_ignore_ascii_case(word))
    };
    let names = &script.case.sessions;
    let distinct =
        |name: &str| names.iter().filter(|other| other.eq_ignore_ascii_case(name)).count() == 1;
    if names.iter().all(|name| plain(name) && distinct(name)) {
        names.clone()
    } else {
        (1..=names.len()).map(|number| format!("s{number}")).collect()
    }
}

/// Tables that the set-up or a session creates, last ones first, as their names are written.
pub(super) fn created_tables(script: &Script<'_>) -> Vec<String> {
    let setup = script.case.setup.iter().map(|statement| statement.sql.as_str());
    let steps = script.case.steps.iter().map(|step| step.statement.sql.as_str());
    let mut tables: Vec<String> = Vec::new();
    for sql in setup.chain(steps) {
        if let Some(name) = created_table(sql, dialect(script))
            && !tables.contains(&name)
        {
            tables.push(name);
        }
    }
    tables.reverse();
    tables
}

fn created_table(sql: &str, dialect: Dialect) -> Option<String> {
    let tokens: Vec<Token<'_>> = Tokens::new(sql, 0, dialect)
        .map_while(Result::ok)
        .filter(|token| token.is_significant() && token.kind != TokenKind::Hint)
        .collect();
    let mut rest = tokens.iter().peekable();
    rest.next().filter(|token| token.is_word("CREATE"))?;
    for word in ["OR", "REPLACE", "UNLOGGED"] {
        rest.next_if(|token| token.is_word(word));
    }
    rest.next().filter(|token| token.is_word("TABLE"))?;
    for word in ["IF", "NOT", "EXISTS"] {
        rest.next_if(|token| token.is_word(word));
    }
    let name = rest.next()?;
    let mut end = name.end();
    while let Some(dot) = rest.next_if(|token| token.is_symbol(".")) {
        end = rest.next().map_or(dot.end(), Token::end);
    }
    Some(sql[name.start..end].to_owned())
}

/// The lexical rules of the script's product.
pub(super) fn dialect(script: &Script<'_>) -> Dialect {
    script.product().map_or(Dialect::Postgres, Product::dialect)
}

/// A statement without its comments (hints stay): test tools read quotes in comments as quotes.
pub(super) fn without_comments(sql: &str, dialect: Dialect) -> String {
    let mut out = String::new();
    let mut end = 0;
    for token in Tokens::new(sql, 0, dialect).map_while(Result::ok) {
        match token.kind {
            TokenKind::LineComment | TokenKind::BlockComment => out.push(' '),
            _ => out.push_str(token.text),
        }
        end = token.end();
    }
    // What cannot be parsed is left to the server.
    out.push_str(&sql[end..]);
    let lines: Vec<&str> = out.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join("\n").trim().to_owned()
}

/// The tables to read at the end, with their contents, if known.
pub(super) fn final_tables<'a>(script: &Script<'a>) -> Vec<(String, Option<&'a Rows>)> {
    match script.run {
        Some(run) => {
            let tables = run.final_state.iter();
            tables.map(|(name, rows)| (quoted(script.product(), name), Some(rows))).collect()
        }
        None => created_tables(script).into_iter().rev().map(|name| (name, None)).collect(),
    }
}

/// The rows of a table at the end, in a line that is safe in a comment.
pub(super) fn rows_told(rows: &Rows) -> String {
    visible(&tuples(rows, &|text| text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_tables_are_found_by_name() {
        let name = |sql: &str| created_table(sql, Dialect::Mysql);
        assert_eq!(name("CREATE TABLE t (a INT)").as_deref(), Some("t"));
        assert_eq!(name("create table if not exists `t 1`(a INT)").as_deref(), Some("`t 1`"));
        assert_eq!(name("/* x */ CREATE TABLE s.t AS SELECT 1").as_deref(), Some("s.t"));
        assert_eq!(name("CREATE INDEX i ON t(a)"), None);
    }

    #[test]
    fn comments_go_and_hints_stay() {
        let sql = "SELECT /* it's */ 1 -- don't\n  FROM /*+ HINT */ t";
        assert_eq!(without_comments(sql, Dialect::Mysql), "SELECT   1\n  FROM /*+ HINT */ t");
        assert_eq!(without_comments("SELECT 'a -- b'", Dialect::Postgres), "SELECT 'a -- b'");
    }
}
