//! Plume text, dbcop, Cobra logs and anchorite's JSON Lines.

use crate::input::cobra::INITIAL_IDS;
use crate::model::{
    Atom, History, ListRef, NO_TIME, OpId, OpKind, Outcome, Predicate, SymbolKind, TxnId,
};
use serde_json::{Map, Value, json};
use std::io::{Result, Write};

fn number(atom: Atom) -> i64 {
    atom.as_int().unwrap_or(0)
}

/// The value read or written; `None` for the initial one.
fn value(history: &History, op: usize) -> Option<i64> {
    let what = history.ops[op];
    let initial = what.value.is_nil()
        || !what.kind.is_write() && what.value == history.initial_value(what.key);
    (!initial).then(|| number(what.value))
}

fn written(history: &History, txn: TxnId) -> impl Iterator<Item = usize> + '_ {
    history.range(txn).filter(|op| history.ops[*op].kind != OpKind::ReadUnknown)
}

pub(super) fn plume(history: &History, out: &mut dyn Write) -> Result<()> {
    for (txn, what) in history.txns.iter().enumerate() {
        let session = history.sessions[what.session as usize].as_int();
        let session = session.filter(|name| *name >= 0).unwrap_or(i64::from(what.session));
        for op in written(history, txn as TxnId) {
            let kind = if history.ops[op].kind.is_write() { 'w' } else { 'r' };
            if what.outcome == Outcome::Aborted && kind == 'r' {
                continue;
            }
            let key = number(history.keys[history.ops[op].key as usize]);
            let label = if what.outcome == Outcome::Aborted { -1 } else { txn as i64 };
            let value = value(history, op).unwrap_or(0);
            writeln!(out, "{kind}({key},{value},{session},{label})")?;
        }
    }
    Ok(())
}

fn by_session(history: &History) -> Vec<Vec<TxnId>> {
    let mut sessions = vec![Vec::new(); history.sessions.len()];
    for (txn, what) in history.txns.iter().enumerate() {
        sessions[what.session as usize].push(txn as TxnId);
    }
    sessions
}

pub(super) fn dbcop_json(history: &History, out: &mut dyn Write) -> Result<()> {
    out.write_all(b"{\"data\":[")?;
    for (at, session) in by_session(history).iter().enumerate() {
        out.write_all(if at > 0 { b",\n[" } else { b"\n[" })?;
        for (place, &txn) in session.iter().enumerate() {
            let events: Vec<Value> = written(history, txn)
                .map(|op| {
                    let what = history.ops[op];
                    let name = if what.kind.is_write() { "Write" } else { "Read" };
                    let variable = number(history.keys[what.key as usize]);
                    json!({name: {"variable": variable, "version": value(history, op)}})
                })
                .collect();
            let committed = history.txns[txn as usize].outcome == Outcome::Committed;
            let line = json!({"events": events, "committed": committed});
            write!(out, "{}{line}", if place > 0 { ",\n" } else { "" })?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"]}\n")
}

pub(super) fn dbcop_hist(history: &History, out: &mut dyn Write) -> Result<()> {
    for (at, session) in by_session(history).iter().enumerate() {
        if at > 0 {
            writeln!(out, "---")?;
        }
        for &txn in session {
            let steps: Vec<String> = written(history, txn)
                .map(|op| {
                    let what = history.ops[op];
                    let name = history.keys[what.key as usize];
                    let name = match history.symbols.get(name) {
                        Some((_, text)) => text.to_owned(),
                        None => number(name).to_string(),
                    };
                    match value(history, op) {
                        Some(value) if what.kind.is_write() => format!("{name}:={value}"),
                        Some(value) => format!("{name}=={value}"),
                        None => format!("{name}==?"),
                    }
                })
                .collect();
            let aborted = history.txns[txn as usize].outcome != Outcome::Committed;
            writeln!(out, "[{}]{}", steps.join(" "), if aborted { "!" } else { "" })?;
        }
    }
    Ok(())
}

pub(super) fn cobra(history: &History, session: Option<u32>, out: &mut dyn Write) -> Result<()> {
    let mut record = |kind: u8, words: &[u64]| -> Result<()> {
        out.write_all(&[kind])?;
        words.iter().try_for_each(|word| out.write_all(&word.to_be_bytes()))
    };
    for (txn, what) in history.txns.iter().enumerate() {
        if session.is_some_and(|wanted| wanted != what.session) || what.outcome == Outcome::Aborted
        {
            continue;
        }
        record(b'S', &[txn as u64])?;
        for op in written(history, txn as TxnId) {
            let key = number(history.keys[history.ops[op].key as usize]) as u64;
            let id = value(history, op).map_or(INITIAL_IDS[1], |value| value as u64);
            if history.ops[op].kind.is_write() {
                record(b'W', &[id, key, id])?;
            } else {
                record(b'R', &[0, id, key, id])?;
            }
        }
        if what.outcome == Outcome::Committed {
            record(b'C', &[txn as u64])?;
        }
    }
    Ok(())
}

fn json_atom(history: &History, atom: Atom) -> Value {
    match (atom.as_int(), history.symbols.get(atom)) {
        (Some(number), _) => Value::from(number),
        (None, Some((SymbolKind::Bare, text))) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
        }
        (None, Some((SymbolKind::Composite, text))) => super::composite::json(text),
        (None, Some((_, text))) => Value::from(text),
        (None, None) => Value::Null,
    }
}

/// Anchorite's own lines.
pub(super) fn lines(history: &History, out: &mut dyn Write) -> Result<()> {
    let mut header = json!({"anchorite": "history", "version": crate::input::lines::VERSION});
    if !history.initial.is_nil() {
        header["initial"] = json_atom(history, history.initial);
    }
    if !history.initial_of.is_empty() {
        header["initial_of"] = rows(history, &history.initial_of);
    }
    writeln!(out, "{header}")?;
    for (txn, what) in history.txns.iter().enumerate() {
        let mut line = Map::new();
        line.insert("txn".to_owned(), Value::from(what.label));
        line.insert(
            "session".to_owned(),
            json_atom(history, history.sessions[what.session as usize]),
        );
        let outcome = match what.outcome {
            Outcome::Committed => "commit",
            Outcome::Aborted => "abort",
            Outcome::Unknown => "unknown",
        };
        line.insert("outcome".to_owned(), Value::from(outcome));
        for (name, time) in [("begin", what.invoked), ("end", what.completed)] {
            if time != NO_TIME {
                line.insert(name.to_owned(), Value::from(time));
            }
        }
        let ops = history.range(txn as TxnId).map(|op| operation(history, op as OpId)).collect();
        line.insert("ops".to_owned(), Value::Array(ops));
        writeln!(out, "{}", Value::Object(line))?;
    }
    Ok(())
}

fn rows(history: &History, rows: &[(u32, Atom)]) -> Value {
    rows.iter()
        .map(|(key, value)| {
            json!([json_atom(history, history.keys[*key as usize]), json_atom(history, *value)])
        })
        .collect()
}

fn operation(history: &History, op: OpId) -> Value {
    let what = history.ops[op as usize];
    let mut entry = Map::new();
    if what.kind == OpKind::ReadPredicate {
        let read = &history.predicates[what.value.bits() as usize];
        let predicate = match &read.predicate {
            Predicate::True => Value::from("true"),
            Predicate::Equals(value) => json!(["=", json_atom(history, *value)]),
            Predicate::Modulo(modulus, rest) => json!(["mod", modulus, rest]),
            Predicate::Text(text) => Value::from(&**text),
        };
        entry.insert("predicate".to_owned(), predicate);
        entry.insert("matched".to_owned(), rows(history, &read.matched));
        if !read.unmatched.is_empty() {
            entry.insert("unmatched".to_owned(), rows(history, &read.unmatched));
        }
        for (name, matches) in [("would_match", true), ("would_not_match", false)] {
            let others = read.others.iter().filter(|other| other.2 == matches);
            let others: Vec<(u32, Atom)> = others.map(|(key, value, _)| (*key, *value)).collect();
            if !others.is_empty() {
                entry.insert(name.to_owned(), rows(history, &others));
            }
        }
    } else {
        let name = match what.kind {
            OpKind::Write => "w",
            OpKind::Append => "append",
            OpKind::Insert => "insert",
            OpKind::Delete => "delete",
            _ => "r",
        };
        entry.insert(name.to_owned(), json_atom(history, history.keys[what.key as usize]));
        match what.kind {
            OpKind::ReadList => {
                let list = history.lists.get(what.key, ListRef::from_atom(what.value));
                let items = list.iter().map(|item| json_atom(history, *item)).collect();
                entry.insert("list".to_owned(), Value::Array(items));
            }
            OpKind::ReadUnknown => {}
            OpKind::Delete if what.value.is_nil() => {}
            _ => {
                entry.insert("v".to_owned(), json_atom(history, what.value));
            }
        }
    }
    if let Ok(at) = history.version_numbers.binary_search_by_key(&op, |entry| entry.0) {
        entry.insert("n".to_owned(), Value::from(history.version_numbers[at].1));
    }
    if let Some(text) = history.op_text(op) {
        entry.insert("sql".to_owned(), Value::from(text));
    }
    Value::Object(entry)
}
