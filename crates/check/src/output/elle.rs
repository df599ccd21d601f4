//! Elle's operations, in EDN or JSON.

use crate::input::reader::is_json_word;
use crate::model::{
    Atom, History, ListRef, NO_TIME, OpId, OpKind, Outcome, Predicate, SymbolKind, TxnId,
    is_plain_name,
};
use std::io::{Result, Write};

/// Writes invocations and completions in order of time; without times, completions only.
pub(super) fn write(history: &History, json: bool, out: &mut dyn Write) -> Result<()> {
    let writer = Elle { history, json };
    if json {
        out.write_all(b"[")?;
    }
    if !history.initial_of.is_empty() && history.workload == crate::model::Workload::Predicates {
        let rows: Vec<String> = history
            .initial_of
            .iter()
            .map(|(key, value)| {
                format!("{} {}", writer.atom(history.keys[*key as usize]), writer.atom(*value))
            })
            .collect();
        writeln!(
            out,
            "{{:process 0, :type :ok, :f :init, :value {{{}}}, :index -1}}",
            rows.join(", ")
        )?;
    }
    for (index, (invocation, txn)) in events(history).into_iter().enumerate() {
        if json && index > 0 {
            out.write_all(b",\n")?;
        }
        let line = writer.event(txn, invocation, index);
        out.write_all(line.as_bytes())?;
        if !json {
            out.write_all(b"\n")?;
        }
    }
    if json {
        out.write_all(b"]\n")?;
    }
    Ok(())
}

/// Whether it is the invocation, and whose.
fn events(history: &History) -> Vec<(bool, TxnId)> {
    let mut events: Vec<(u64, bool, TxnId)> = Vec::new();
    for (txn, what) in history.txns.iter().enumerate() {
        let timed = what.invoked != NO_TIME;
        if timed {
            events.push((what.invoked, false, txn as TxnId));
        }
        events.push((what.completed, true, txn as TxnId));
    }
    // Completions without a time keep their place in the input, after everything that has one.
    events.sort_by_key(|event| (event.0, event.1));
    events.into_iter().map(|(_, completion, txn)| (!completion, txn)).collect()
}

struct Elle<'h> {
    history: &'h History,
    json: bool,
}

impl Elle<'_> {
    fn atom(&self, atom: Atom) -> String {
        if atom.is_nil() {
            return if self.json { "null" } else { "nil" }.to_owned();
        }
        match (self.history.symbols.get(atom), self.json) {
            (None, _) => self.history.symbols.show(atom),
            (Some((SymbolKind::Composite, text)), false) => text.to_owned(),
            (Some((SymbolKind::Composite, text)), true) => super::composite::json(text).to_string(),
            (Some((SymbolKind::Keyword, text)), false) => format!(":{text}"),
            (Some((SymbolKind::Bare, text)), false) if is_plain_name(text) => text.to_owned(),
            (Some((SymbolKind::Bare, text)), _) if is_json_word(text) => text.to_owned(),
            (Some((_, text)), _) => serde_json::Value::from(text).to_string(),
        }
    }

    /// A name of Elle's: a keyword, or a string in JSON.
    fn word(&self, word: &str) -> String {
        if self.json { format!("\"{word}\"") } else { format!(":{word}") }
    }

    fn event(&self, txn: TxnId, invocation: bool, index: usize) -> String {
        let what = &self.history.txns[txn as usize];
        let kind = match (invocation, what.outcome) {
            (true, _) => "invoke",
            (false, Outcome::Committed) => "ok",
            (false, Outcome::Aborted) => "fail",
            (false, Outcome::Unknown) => "info",
        };
        let steps: Vec<String> =
            self.history.range(txn).map(|op| self.step(op as OpId, invocation)).collect();
        let session = self.history.sessions[what.session as usize];
        let process = session.as_int().unwrap_or(i64::from(what.session));
        let fields = [
            ("process", process.to_string()),
            ("type", self.word(kind)),
            ("f", self.word("txn")),
            ("value", format!("[{}]", steps.join(if self.json { "," } else { " " }))),
            ("index", index.to_string()),
        ];
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| {
                let between = if self.json { ": " } else { " " };
                format!("{}{between}{value}", self.word(name))
            })
            .collect();
        format!("{{{}}}", fields.join(", "))
    }

    fn step(&self, op: OpId, invocation: bool) -> String {
        let what = self.history.ops[op as usize];
        let nil = self.atom(Atom::NIL);
        if what.kind == OpKind::ReadPredicate {
            return self.predicate(what.value, invocation);
        }
        let key = self.atom(self.history.keys[what.key as usize]);
        let (name, value) = match what.kind {
            OpKind::Read if invocation => ("r", nil),
            OpKind::Read if what.value == self.history.initial_value(what.key) => {
                let rows = self.history.workload == crate::model::Workload::Predicates;
                ("r", if rows { self.atom(what.value) } else { nil })
            }
            OpKind::Read => ("r", self.atom(what.value)),
            OpKind::ReadUnknown => ("r", nil),
            OpKind::ReadList if invocation => ("r", nil),
            OpKind::ReadList => {
                let list = self.history.lists.get(what.key, ListRef::from_atom(what.value));
                let items: Vec<String> = list.iter().map(|item| self.atom(*item)).collect();
                ("r", format!("[{}]", items.join(if self.json { "," } else { " " })))
            }
            OpKind::Write => ("w", self.atom(what.value)),
            OpKind::Append => ("append", self.atom(what.value)),
            OpKind::Insert => ("insert", self.atom(what.value)),
            OpKind::Delete | OpKind::ReadPredicate => {
                return format!("[{} {key}]", self.word("delete"));
            }
        };
        let between = if self.json { "," } else { " " };
        format!("[{}{between}{key}{between}{value}]", self.word(name))
    }

    fn predicate(&self, index: Atom, invocation: bool) -> String {
        let read = &self.history.predicates[index.bits() as usize];
        let predicate = match &read.predicate {
            Predicate::Equals(value) => format!("[:= {}]", self.atom(*value)),
            Predicate::Modulo(modulus, rest) => format!("[:mod {modulus} {rest}]"),
            Predicate::True | Predicate::Text(_) => ":true".to_owned(),
        };
        let rows: Vec<String> = read
            .matched
            .iter()
            .map(|(key, value)| {
                format!("{} {}", self.atom(self.history.keys[*key as usize]), self.atom(*value))
            })
            .collect();
        let rows = if invocation { "nil".to_owned() } else { format!("{{{}}}", rows.join(", ")) };
        format!("[:rp {predicate} {rows}]")
    }
}
