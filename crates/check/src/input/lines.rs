//! Anchorite's own JSON Lines: what the stage and the stress runs write.
//!
//! First line: `{"anchorite":"history","version":1}`, optionally with `"initial"` (the value of every key) and
//! `"initial_of"` (pairs of key and value). Every other line is one transaction; see docs/check.md for the fields.
//! Everything in the other formats can be expressed here, and also row versions, predicates with what they examined,
//! SQL text and real time.

use super::form::Form;
use super::reader::{FormReader, Notation};
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
            header(form, builder, line)?;
        } else {
            count += 1;
            transaction(form, builder, line, count)?;
        }
        first = false;
    }
    Ok(())
}

fn header(form: Form<'_>, builder: &mut HistoryBuilder, line: u64) -> Result<(), InputError> {
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
    form: Form<'_>,
    builder: &mut HistoryBuilder,
    line: u64,
    count: i64,
) -> Result<(), InputError> {
    const SHAPE: &str = "a transaction {\"session\":…,\"ops\":[…]}";
    const NAMES: [&str; 6] = ["session", "txn", "ops", "outcome", "begin", "end"];
    let symbols = builder.symbols();
    let Some([session, label, ops, outcome, begin, end]) = form.fields(NAMES, symbols) else {
        return syntax(line, SHAPE);
    };
    let Some(mut ops) = ops.and_then(Form::items) else { return syntax(line, SHAPE) };
    let outcome = match outcome.map(|outcome| outcome.word(symbols)) {
        None | Some(Some("commit")) => Outcome::Committed,
        Some(Some("abort")) => Outcome::Aborted,
        Some(Some("unknown")) => Outcome::Unknown,
        Some(_) => return syntax(line, "an \"outcome\" of \"commit\", \"abort\" or \"unknown\""),
    };
    let Some(session) = session.and_then(Form::atom) else { return syntax(line, SHAPE) };
    let label = label.and_then(Form::int).unwrap_or(count);
    let time = |field: Option<Form<'_>>| {
        let time = field.and_then(Form::int);
        time.and_then(|time| u64::try_from(time).ok()).unwrap_or(NO_TIME)
    };
    let times = (time(begin), time(end));
    if times.0 != NO_TIME && times.1 < times.0 {
        return syntax(line, "an \"end\" that is not before its \"begin\"");
    }
    let session = builder.session(session);
    builder.begin(session, label, outcome, times);
    ops.try_for_each(|op| operation(op, builder, line))
}

fn operation(op: Form<'_>, builder: &mut HistoryBuilder, line: u64) -> Result<(), InputError> {
    const SHAPE: &str = "an operation {\"r\":key,\"v\":value}, {\"w\":…}, {\"append\":…}, \
                         {\"insert\":…}, {\"delete\":key}, {\"r\":key,\"list\":[…]} or \
                         {\"predicate\":text,\"matched\":[[key,value]…]}";
    let symbols = builder.symbols();
    let Some((first, about)) = op.entries().and_then(|mut entries| entries.next()) else {
        return syntax(line, SHAPE);
    };
    let Some([value, list, number, sql]) = op.fields(["v", "list", "n", "sql"], symbols) else {
        return syntax(line, SHAPE);
    };
    let kind = match first.word(symbols) {
        Some("r") if list.is_some() => OpKind::ReadList,
        Some("r") if value.is_none() => OpKind::ReadUnknown,
        Some("r") => OpKind::Read,
        Some("w") => OpKind::Write,
        Some("append") => OpKind::Append,
        Some("insert") => OpKind::Insert,
        Some("delete") => OpKind::Delete,
        Some("predicate") => OpKind::ReadPredicate,
        _ => return syntax(line, SHAPE),
    };
    if kind == OpKind::ReadPredicate {
        predicate(op, about, builder, line)?;
    } else {
        let value = value.map_or(Some(Atom::NIL), Form::atom);
        let Some(value) = value else { return syntax(line, SHAPE) };
        let name = about.name(builder.symbols());
        let key = builder.key(name);
        let limit = |error: BuildError| InputError::Limit { line, limit: error.to_string() };
        match kind {
            OpKind::ReadList | OpKind::Append => builder.set_workload(Workload::ListAppend),
            OpKind::Insert | OpKind::Delete => builder.set_workload(Workload::Predicates),
            _ => {}
        }
        if kind == OpKind::ReadList {
            let items = list.and_then(Form::items).into_iter().flatten();
            let Some(list) = items.map(Form::atom).collect::<Option<Vec<Atom>>>() else {
                return syntax(line, "a list of plain values");
            };
            builder.push_list(key, &list).map_err(limit)?;
        } else {
            builder.push(kind, key, value).map_err(limit)?;
        }
    }
    if let Some(number) = number.and_then(Form::int).and_then(|number| u64::try_from(number).ok()) {
        builder.version_number(number);
    }
    let text = sql.and_then(|sql| sql.word(builder.symbols()));
    if let Some(text) = text.map(str::to_owned) {
        builder.text(&text);
    }
    Ok(())
}

fn predicate(
    op: Form<'_>,
    about: Form<'_>,
    builder: &mut HistoryBuilder,
    line: u64,
) -> Result<(), InputError> {
    let symbols = builder.symbols();
    let predicate = match (about.word(symbols), about.first()) {
        (Some("true"), _) => Predicate::True,
        (Some(text), _) => Predicate::Text(text.into()),
        (_, Some([Some(what), Some(value), None, None])) if what.word(symbols) == Some("=") => {
            match value.atom() {
                Some(value) => Predicate::Equals(value),
                None => return syntax(line, "a plain value after \"=\""),
            }
        }
        (_, Some([Some(what), Some(modulus), Some(rest), None]))
            if what.word(symbols) == Some("mod") =>
        {
            match (modulus.int(), rest.int()) {
                (Some(modulus), Some(rest)) if modulus != 0 => Predicate::Modulo(modulus, rest),
                _ => return syntax(line, "two integers after \"mod\", the first not 0"),
            }
        }
        _ => return syntax(line, "a predicate text, \"true\", [\"=\",v] or [\"mod\",m,r]"),
    };
    let matched = op.get(symbols, "matched");
    let unmatched = op.get(symbols, "unmatched");
    let would_match = op.get(symbols, "would_match");
    let would_not = op.get(symbols, "would_not_match");
    let mut rows_of =
        |field: Option<Form<'_>>| field.map_or(Ok(Vec::new()), |field| rows(field, builder, line));
    let mut others = Vec::new();
    for (field, matches) in [(would_match, true), (would_not, false)] {
        others.extend(rows_of(field)?.into_iter().map(|(key, value)| (key, value, matches)));
    }
    let (matched, unmatched) = (rows_of(matched)?, rows_of(unmatched)?);
    let read = PredicateRead { predicate, matched, unmatched, others };
    builder.set_workload(Workload::Predicates);
    builder
        .push_predicate(read)
        .map_err(|error| InputError::Limit { line, limit: error.to_string() })
}

/// Pairs of key and value.
fn rows(
    form: Form<'_>,
    builder: &mut HistoryBuilder,
    line: u64,
) -> Result<Vec<(KeyId, Atom)>, InputError> {
    const SHAPE: &str = "an array of pairs [key,value]";
    let Some(pairs) = form.items() else { return syntax(line, SHAPE) };
    let mut rows = Vec::new();
    for pair in pairs {
        let Some([Some(name), Some(value)]) = pair.first() else { return syntax(line, SHAPE) };
        let Some(value) = value.atom() else { return syntax(line, SHAPE) };
        let name = name.name(builder.symbols());
        rows.push((builder.key(name), value));
    }
    Ok(rows)
}
