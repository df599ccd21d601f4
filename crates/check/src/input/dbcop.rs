//! dbcop histories: JSON (`{"data":[[{"events":[…],"committed":true}]]}`) and `.hist` text.
//!
//! `.hist`: `[x:=1 y:=2] [y==2 x:=3]` is a session on one line, `---` starts the next session,
//! `[…]!` did not commit, `x==?` read the initial value. In JSON a `null` version is the initial one.
//! Both are read transaction by transaction.

use super::form::Form;
use super::reader::{FormReader, Notation};
use super::source::{InputError, Source};
use crate::model::{
    Atom, BuildError, HistoryBuilder, NO_TIME, OpKind, Outcome, SymbolKind, is_plain_name,
};
use std::io::Read;

fn syntax<T>(line: u64, expected: &str) -> Result<T, InputError> {
    Err(InputError::Syntax { line, expected: expected.to_owned() })
}

/// Reads the JSON form.
pub fn read_json<R: Read>(
    source: &mut Source<R>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let mut reader = FormReader::new(source, Notation::Json);
    reader.take(b'{', "\"{\"")?;
    let mut found = false;
    while reader.peek()? != Some(b'}') {
        if reader.peek()? != Some(b'"') {
            return reader.source.expected("a quoted key or \"}\"");
        }
        let key = reader.string()?;
        reader.separator()?;
        if key == "data" {
            found = true;
            read_sessions(&mut reader, builder)?;
        } else {
            reader.form(builder.symbols())?;
        }
    }
    reader.source.advance();
    if !found {
        return reader.source.expected("a key \"data\" with the sessions");
    }
    if reader.peek()?.is_some() {
        return reader.source.expected("the end of the input after \"}\"");
    }
    Ok(())
}

fn read_sessions<R: Read>(
    reader: &mut FormReader<'_, R>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    reader.take(b'[', "\"[\" with one array per session")?;
    let mut session_number = 0;
    let mut label = 0;
    while reader.peek()? != Some(b']') {
        reader.take(b'[', "\"[\" with the transactions of a session, or \"]\"")?;
        let session = builder.session(Atom::int(session_number).unwrap_or(Atom::NIL));
        session_number += 1;
        while reader.peek()? != Some(b']') {
            let line = reader.source.line();
            let form = reader.form(builder.symbols())?;
            label += 1;
            transaction(form, builder, session, label, line)?;
        }
        reader.source.advance();
    }
    reader.source.advance();
    Ok(())
}

fn transaction(
    form: Form<'_>,
    builder: &mut HistoryBuilder,
    session: u32,
    label: i64,
    line: u64,
) -> Result<(), InputError> {
    const SHAPE: &str =
        "a transaction {\"events\":[{\"Read\":{\"variable\":0,\"version\":1}}],\"committed\":true}";
    let symbols = builder.symbols();
    let committed = form.get(symbols, "committed").and_then(|c| c.word(symbols)) != Some("false");
    let Some(events) = form.get(symbols, "events").and_then(Form::items) else {
        return syntax(line, SHAPE);
    };
    let outcome = if committed { Outcome::Committed } else { Outcome::Aborted };
    builder.begin(session, label, outcome, (NO_TIME, NO_TIME));
    for event in events {
        let symbols = builder.symbols();
        let (kind, inner) = match (event.get(symbols, "Read"), event.get(symbols, "Write")) {
            (Some(inner), None) => (OpKind::Read, inner),
            (None, Some(inner)) => (OpKind::Write, inner),
            _ => return syntax(line, SHAPE),
        };
        let variable = inner.get(symbols, "variable").and_then(Form::atom);
        let version = inner.get(symbols, "version").map_or(Some(Atom::NIL), Form::atom);
        let (Some(variable), Some(version)) = (variable, version) else {
            return syntax(line, SHAPE);
        };
        if kind == OpKind::Write && version.is_nil() {
            return syntax(line, "a version for every Write");
        }
        let key = builder.key(variable);
        let limit = |error: BuildError| InputError::Limit { line, limit: error.to_string() };
        builder.push(kind, key, version).map_err(limit)?;
    }
    Ok(())
}

/// Reads the `.hist` form.
pub fn read_hist<R: Read>(
    source: &mut Source<R>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let mut session_number = 0;
    let mut label = 0;
    loop {
        let number = source.line();
        let Some(line) = source.next_line()? else { return Ok(()) };
        let Ok(text) = std::str::from_utf8(line) else { return syntax(number, "UTF-8 text") };
        let text = text.split("//").next().unwrap_or("").trim();
        if text.starts_with("---") {
            session_number += 1;
            continue;
        }
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let mut rest = text.to_owned();
        while !rest.is_empty() {
            let session = builder.session(Atom::int(session_number).unwrap_or(Atom::NIL));
            label += 1;
            rest = hist_transaction(&rest, builder, session, label, number)?;
        }
    }
}

/// One `[…]` or `[…]!`; gives back what follows it.
fn hist_transaction(
    text: &str,
    builder: &mut HistoryBuilder,
    session: u32,
    label: i64,
    line: u64,
) -> Result<String, InputError> {
    const SHAPE: &str = "a transaction like [x:=1 y==2 z==?] or [x:=1]!";
    let Some(inner) = text.strip_prefix('[') else { return syntax(line, SHAPE) };
    let Some((inner, after)) = inner.split_once(']') else { return syntax(line, SHAPE) };
    let (after, outcome) = match after.strip_prefix('!') {
        Some(after) => (after, Outcome::Aborted),
        None => (after, Outcome::Committed),
    };
    builder.begin(session, label, outcome, (NO_TIME, NO_TIME));
    for word in inner.split_whitespace() {
        let (kind, name, value) = match (word.split_once(":="), word.split_once("==")) {
            (Some((name, value)), _) => (OpKind::Write, name, value),
            (None, Some((name, value))) => (OpKind::Read, name, value),
            _ => return syntax(line, SHAPE),
        };
        let value = match value {
            "?" if kind == OpKind::Read => Atom::NIL,
            _ => match value.parse::<i128>() {
                Ok(value) => builder.symbols().integer(value),
                Err(_) => return syntax(line, "an integer value, or ? for the initial one"),
            },
        };
        let name = match name.parse::<i128>() {
            Ok(number) => builder.symbols().integer(number),
            Err(_) if is_plain_name(name) => builder.symbols().intern(SymbolKind::Bare, name),
            Err(_) => return syntax(line, "a variable name of letters, digits and _"),
        };
        let key = builder.key(name);
        let limit = |error: BuildError| InputError::Limit { line, limit: error.to_string() };
        builder.push(kind, key, value).map_err(limit)?;
    }
    Ok(after.trim_start().to_owned())
}
