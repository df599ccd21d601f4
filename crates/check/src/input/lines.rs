//! Anchorite's own JSON Lines: what the stage and the stress runs write.
//!
//! First line: `{"anchorite":"history","version":1}`, optionally with `"initial"` (the value of
//! every key) and `"initial_of"` (pairs of key and value). Every other line is one transaction; see
//! docs/check.md for the fields. Everything that the other formats carry can be said here, and row
//! versions, predicates with what they looked at, SQL text and real time as well.

use super::form::{Form, FormReader, Notation};
use super::source::{InputError, Source};
use crate::model::{
    Atom, BuildError, HistoryBuilder, KeyId, NO_TIME, OpKind, Outcome, Predicate, PredicateRead,
    Workload,
};
use std::io::Read;

/// The version of the format that this crate reads and writes.
pub const VERSION: i64 = 1;

fn syntax<T>(line: u64, expected: impl Into<String>) -> Result<T, InputError> {
    Err(InputError::Syntax { line, expected: expected.into() })
}

/// Reads the lines into the builder.
pub fn read<R: Read>(
    source: &mut Source<R>,
    builder: &mut HistoryBuilder,
) -> Result<(), InputError> {
    let mut reader = FormReader::new(source, Notation::Json);
    let mut first = true;
    let mut count = 0;
    while reader.peek()?.is_some() {
        let line = reader.source.line();
        let form = reader.form(builder.symbols())?;
        if first && form.get(builder.symbols(), "anchorite").is_some() {
            header(&form, builder, line)?;
        } else {
            count += 1;
            transaction(&form, builder, line, count)?;
        }
        first = false;
    }
    Ok(())
}

fn header(form: &Form, builder: &mut HistoryBuilder, line: u64) -> Result<(), InputError> {
    let symbols = builder.symbols();
    if form.get(symbols, "version").and_then(Form::int) != Some(VERSION) {
        return syntax(line, format!("\"version\": {VERSION}"));
    }
    if let Some(initial) = form.get(symbols, "initial").and_then(Form::atom) {
        builder.set_initial(initial);
    }
    if let Some(pairs) = form.get(builder.symbols(), "initial_of") {
        for (key, value) in rows(pairs, builder, line)? {
            builder.set_initial_of(key, value);
        }
    }
    Ok(())
}

fn transaction(
    form: &Form,
    builder: &mut HistoryBuilder,
    line: u64,
    count: i64,
) -> Result<(), InputError> {
    const SHAPE: &str = "a transaction {\"session\":…,\"ops\":[…]}";
    let symbols = builder.symbols();
    let Some(ops) = form.get(symbols, "ops").and_then(Form::seq) else {
        return syntax(line, SHAPE);
    };
    let outcome = match form.get(symbols, "outcome").map(|outcome| outcome.word(symbols)) {
        None | Some(Some("commit")) => Outcome::Committed,
        Some(Some("abort")) => Outcome::Aborted,
        Some(Some("unknown")) => Outcome::Unknown,
        Some(_) => return syntax(line, "an \"outcome\" of \"commit\", \"abort\" or \"unknown\""),
    };
    let Some(session) = form.get(symbols, "session").and_then(Form::atom) else {
        return syntax(line, SHAPE);
    };
    let label = form.get(symbols, "txn").and_then(Form::int).unwrap_or(count);
    let time = |name: &str, symbols: &_| {
        let time = form.get(symbols, name).and_then(Form::int);
        time.and_then(|time| u64::try_from(time).ok()).unwrap_or(NO_TIME)
    };
    let times = (time("begin", symbols), time("end", symbols));
    if times.0 != NO_TIME && times.1 < times.0 {
        return syntax(line, "an \"end\" that is not before its \"begin\"");
    }
    let session = builder.session(session);
    builder.begin(session, label, outcome, times);
    for op in ops {
        operation(op, builder, line)?;
    }
    Ok(())
}

fn operation(op: &Form, builder: &mut HistoryBuilder, line: u64) -> Result<(), InputError> {
    const SHAPE: &str = "an operation {\"r\":key,\"v\":value}, {\"w\":…}, {\"append\":…}, \
                         {\"insert\":…}, {\"delete\":key}, {\"r\":key,\"list\":[…]} or \
                         {\"predicate\":text,\"matched\":[[key,value]…]}";
    let Form::Map(entries) = op else { return syntax(line, SHAPE) };
    let Some((first, about)) = entries.first() else { return syntax(line, SHAPE) };
    let what = first.word(builder.symbols()).unwrap_or("").to_owned();
    let value = op.get(builder.symbols(), "v").map_or(Some(Atom::NIL), Form::atom);
    let limit = |error: BuildError| InputError::Limit { line, limit: error.to_string() };
    if what == "predicate" {
        predicate(op, about, builder, line)?;
    } else {
        let (Some(name), Some(value)) = (about.atom(), value) else { return syntax(line, SHAPE) };
        let key = builder.key(name);
        let list = op.get(builder.symbols(), "list").cloned();
        let kind = match what.as_str() {
            "r" if list.is_some() => OpKind::ReadList,
            "r" if op.get(builder.symbols(), "v").is_none() => OpKind::ReadUnknown,
            "r" => OpKind::Read,
            "w" => OpKind::Write,
            "append" => OpKind::Append,
            "insert" => OpKind::Insert,
            "delete" => OpKind::Delete,
            _ => return syntax(line, SHAPE),
        };
        match kind {
            OpKind::ReadList => {
                let items = list.as_ref().and_then(Form::seq).unwrap_or(&[]);
                let list: Option<Vec<Atom>> = items.iter().map(Form::atom).collect();
                let Some(list) = list else { return syntax(line, "a list of plain values") };
                builder.set_workload(Workload::ListAppend);
                builder.push_list(key, &list).map_err(limit)?;
            }
            _ => {
                match kind {
                    OpKind::Append => builder.set_workload(Workload::ListAppend),
                    OpKind::Insert | OpKind::Delete => builder.set_workload(Workload::Predicates),
                    _ => {}
                }
                builder.push(kind, key, value).map_err(limit)?;
            }
        }
    }
    extras(op, builder);
    Ok(())
}

/// Version number and SQL text of the operation just added.
fn extras(op: &Form, builder: &mut HistoryBuilder) {
    let number = op.get(builder.symbols(), "n").and_then(Form::int);
    if let Some(number) = number.and_then(|number| u64::try_from(number).ok()) {
        builder.version_number(number);
    }
    let text = op.get(builder.symbols(), "sql").and_then(|sql| sql.word(builder.symbols()));
    if let Some(text) = text.map(str::to_owned) {
        builder.text(&text);
    }
}

fn predicate(
    op: &Form,
    about: &Form,
    builder: &mut HistoryBuilder,
    line: u64,
) -> Result<(), InputError> {
    let symbols = builder.symbols();
    let predicate = match (about.word(symbols), about.seq()) {
        (Some("true"), _) => Predicate::True,
        (Some(text), _) => Predicate::Text(text.into()),
        (_, Some([what, value])) if what.word(symbols) == Some("=") => match value.atom() {
            Some(value) => Predicate::Equals(value),
            None => return syntax(line, "a plain value after \"=\""),
        },
        (_, Some([what, modulus, rest])) if what.word(symbols) == Some("mod") => {
            match (modulus.int(), rest.int()) {
                (Some(modulus), Some(rest)) if modulus != 0 => Predicate::Modulo(modulus, rest),
                _ => return syntax(line, "two integers after \"mod\", the first not 0"),
            }
        }
        _ => return syntax(line, "a predicate text, \"true\", [\"=\",v] or [\"mod\",m,r]"),
    };
    let matched = op.get(symbols, "matched").cloned().unwrap_or(Form::Seq(Vec::new()));
    let unmatched = op.get(symbols, "unmatched").cloned().unwrap_or(Form::Seq(Vec::new()));
    let read = PredicateRead {
        predicate,
        matched: rows(&matched, builder, line)?,
        unmatched: rows(&unmatched, builder, line)?,
    };
    builder.set_workload(Workload::Predicates);
    builder
        .push_predicate(read)
        .map_err(|error| InputError::Limit { line, limit: error.to_string() })
}

/// Pairs of key and value.
fn rows(
    form: &Form,
    builder: &mut HistoryBuilder,
    line: u64,
) -> Result<Vec<(KeyId, Atom)>, InputError> {
    const SHAPE: &str = "an array of pairs [key,value]";
    let Some(pairs) = form.seq() else { return syntax(line, SHAPE) };
    let mut rows = Vec::with_capacity(pairs.len());
    for pair in pairs {
        match pair.seq().map(|pair| (pair.first(), pair.get(1))) {
            Some((Some(Form::Atom(name)), Some(Form::Atom(value)))) => {
                rows.push((builder.key(*name), *value));
            }
            _ => return syntax(line, SHAPE),
        }
    }
    Ok(rows)
}
