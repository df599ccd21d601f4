//! Elle histories: EDN or JSON operations, one after the other or in one vector.
//!
//! Idea: every completion (`ok`, `fail`, `info`) is a transaction; its invocation gives the begin in
//! real time, which is the position in the history, as in Elle. Appends make it a list-append
//! history, predicate reads a closed-predicate one, everything else is a register history.
//! Assumption: an invocation without completion may have committed. Operations of processes that are
//! not numbers (the nemesis) are skipped.

use super::form::{Form, FormReader, Notation};
use super::source::{InputError, Source};
use crate::model::{
    Atom, BuildError, HistoryBuilder, NO_TIME, OpKind, Outcome, Predicate, PredicateRead, Workload,
};
use std::collections::HashMap;
use std::io::Read;

/// Reads the operations into the builder.
pub fn read<R: Read>(
    source: &mut Source<R>,
    builder: &mut HistoryBuilder,
    notation: Notation,
) -> Result<(), InputError> {
    let mut reader = FormReader::new(source, notation);
    let in_vector = reader.peek()? == Some(b'[');
    if in_vector {
        reader.source.advance();
    }
    let mut elle = Elle { builder, pending: HashMap::new(), clock: 0 };
    loop {
        match reader.peek()? {
            Some(b']') if in_vector => {
                reader.source.advance();
                if reader.peek()?.is_some() {
                    return reader.source.expected("the end of the input after \"]\"");
                }
                break;
            }
            None if in_vector => {
                return reader.source.expected("\"]\" before the end of the input");
            }
            None => break,
            Some(_) => {
                let line = reader.source.line();
                let form = reader.form(elle.builder.symbols())?;
                elle.event(&form, line)?;
            }
        }
    }
    elle.finish()
}

struct Elle<'b> {
    builder: &'b mut HistoryBuilder,
    /// Open invocations by process: time, value.
    pending: HashMap<Atom, (u64, Form, i64)>,
    clock: u64,
}

fn syntax<T>(line: u64, expected: &str) -> Result<T, InputError> {
    Err(InputError::Syntax { line, expected: expected.to_owned() })
}

impl Elle<'_> {
    fn event(&mut self, form: &Form, line: u64) -> Result<(), InputError> {
        let Form::Map(_) = form else { return syntax(line, "an operation, which is a map") };
        self.clock += 1;
        let symbols = self.builder.symbols();
        let kind = form.get(symbols, "type").and_then(|kind| kind.word(symbols));
        let outcome = match kind {
            Some("invoke") => None,
            Some("ok") => Some(Outcome::Committed),
            Some("fail") => Some(Outcome::Aborted),
            Some("info") => Some(Outcome::Unknown),
            _ => return syntax(line, "a :type of :invoke, :ok, :fail or :info"),
        };
        let process = form.get(symbols, "process").and_then(Form::atom);
        if process.is_some_and(|name| name.as_int().is_none() && !name.is_nil()) {
            return Ok(());
        }
        let clock = self.clock;
        let label = form.get(symbols, "index").and_then(Form::int).unwrap_or(clock as i64 - 1);
        let value = form.get(symbols, "value").or_else(|| form.get(symbols, "txn"));
        let f = form.get(symbols, "f").and_then(|f| f.word(symbols));
        let process = process.filter(|name| !name.is_nil());
        if f == Some("init") {
            return if outcome == Some(Outcome::Committed) {
                self.init(value, line)
            } else {
                Ok(())
            };
        }
        let Some(outcome) = outcome else {
            if let (Some(process), Some(value)) = (process, value) {
                self.pending.insert(process, (clock, value.clone(), label));
            }
            return Ok(());
        };
        let invoked = process.and_then(|name| self.pending.remove(&name));
        let value = match (value, &invoked) {
            (Some(Form::Seq(_)), _) => value,
            (_, Some((_, at_invocation, _))) => Some(at_invocation),
            _ => value,
        };
        let began = invoked.as_ref().map_or(NO_TIME, |(time, _, _)| *time);
        let ended = if outcome == Outcome::Unknown || began == NO_TIME { NO_TIME } else { clock };
        // An operation without a process is in no session: it gets one of its own.
        let alone = || Atom::int(-1 - clock as i64).unwrap_or(Atom::NIL);
        let session = self.builder.session(process.unwrap_or_else(alone));
        self.builder.begin(session, label, outcome, (began, ended));
        match value {
            Some(Form::Seq(steps)) => {
                for step in steps {
                    self.step(step, outcome, line)?;
                }
                Ok(())
            }
            None | Some(Form::Atom(Atom::NIL)) => Ok(()),
            Some(_) => syntax(line, "a :value that is a vector of micro-operations"),
        }
    }

    fn init(&mut self, value: Option<&Form>, line: u64) -> Result<(), InputError> {
        let Some(Form::Map(entries)) = value else {
            return syntax(line, "a map of keys and values in the :init operation");
        };
        self.builder.set_workload(Workload::Predicates);
        for (name, value) in entries {
            let (Some(name), Some(value)) = (name.atom(), value.atom()) else {
                return syntax(line, "plain keys and values in the :init operation");
            };
            let key = self.builder.key(name);
            self.builder.set_initial_of(key, value);
        }
        Ok(())
    }

    fn step(&mut self, step: &Form, outcome: Outcome, line: u64) -> Result<(), InputError> {
        const STEP: &str =
            "a micro-operation like [:r x 1], [:w x 1], [:append x 1], [:rp :true {x 1}]";
        let Some([what, rest @ ..]) = step.seq() else { return syntax(line, STEP) };
        let what = what.word(self.builder.symbols()).unwrap_or("").to_owned();
        let limit = |error: BuildError| InputError::Limit { line, limit: error.to_string() };
        let plain = |at: usize| rest.get(at).and_then(Form::atom);
        match (what.as_str(), rest) {
            ("r", [_]) | ("r", [_, _]) => self.read(rest, outcome, line),
            ("w" | "append" | "insert", [_, _]) => {
                let (Some(name), Some(value)) = (plain(0), plain(1)) else {
                    return syntax(line, STEP);
                };
                let kind = match what.as_str() {
                    "w" => OpKind::Write,
                    "insert" => OpKind::Insert,
                    _ => OpKind::Append,
                };
                match kind {
                    OpKind::Append => self.builder.set_workload(Workload::ListAppend),
                    OpKind::Insert => self.builder.set_workload(Workload::Predicates),
                    _ => {}
                }
                let key = self.builder.key(name);
                self.builder.push(kind, key, value).map_err(limit)
            }
            ("delete", [_, ..]) => {
                let Some(name) = plain(0) else { return syntax(line, STEP) };
                self.builder.set_workload(Workload::Predicates);
                let key = self.builder.key(name);
                self.builder.push(OpKind::Delete, key, Atom::NIL).map_err(limit)
            }
            ("rp", [predicate, matched]) => self.predicate(predicate, matched, line),
            _ => syntax(line, STEP),
        }
    }

    fn read(&mut self, rest: &[Form], outcome: Outcome, line: u64) -> Result<(), InputError> {
        let limit = |error: BuildError| InputError::Limit { line, limit: error.to_string() };
        let Some(name) = rest[0].atom() else { return syntax(line, "a plain key") };
        let key = self.builder.key(name);
        match rest.get(1) {
            Some(Form::Seq(items)) => {
                self.builder.set_workload(Workload::ListAppend);
                let list: Option<Vec<Atom>> = items.iter().map(Form::atom).collect();
                let Some(list) = list else { return syntax(line, "a list of plain values") };
                self.builder.push_list(key, &list).map_err(limit)
            }
            Some(Form::Atom(value)) if outcome == Outcome::Committed || !value.is_nil() => {
                self.builder.push(OpKind::Read, key, *value).map_err(limit)
            }
            None | Some(Form::Atom(_)) => {
                self.builder.push(OpKind::ReadUnknown, key, Atom::NIL).map_err(limit)
            }
            Some(Form::Map(_)) => syntax(line, "a plain value or a list"),
        }
    }

    fn predicate(&mut self, form: &Form, matched: &Form, line: u64) -> Result<(), InputError> {
        const SHAPE: &str = "a predicate :true, [:= v] or [:mod m r] and a map of what it matched";
        self.builder.set_workload(Workload::Predicates);
        let symbols = self.builder.symbols();
        let predicate = match (form.word(symbols), form.seq()) {
            (Some("true"), _) => Predicate::True,
            (_, Some([what, value])) if what.word(symbols) == Some("=") => {
                let Some(value) = value.atom() else { return syntax(line, SHAPE) };
                Predicate::Equals(value)
            }
            (_, Some([what, modulus, rest])) if what.word(symbols) == Some("mod") => {
                match (modulus.int(), rest.int()) {
                    (Some(modulus), Some(rest)) if modulus != 0 => Predicate::Modulo(modulus, rest),
                    _ => return syntax(line, SHAPE),
                }
            }
            _ => return syntax(line, SHAPE),
        };
        let mut rows = Vec::new();
        match matched {
            Form::Map(entries) => {
                for (name, value) in entries {
                    let (Some(name), Some(value)) = (name.atom(), value.atom()) else {
                        return syntax(line, SHAPE);
                    };
                    rows.push((self.builder.key(name), value));
                }
            }
            Form::Atom(Atom::NIL) => {}
            _ => return syntax(line, SHAPE),
        }
        let read = PredicateRead { predicate, matched: rows, unmatched: Vec::new() };
        let limit = |error: BuildError| InputError::Limit { line, limit: error.to_string() };
        self.builder.push_predicate(read).map_err(limit)
    }

    /// Invocations that were never answered: nobody knows their outcome.
    fn finish(mut self) -> Result<(), InputError> {
        let mut open: Vec<_> = std::mem::take(&mut self.pending).into_iter().collect();
        open.sort_by_key(|(_, (time, _, _))| *time);
        for (process, (time, value, label)) in open {
            let session = self.builder.session(process);
            self.builder.begin(session, label, Outcome::Unknown, (time, NO_TIME));
            for step in value.seq().unwrap_or(&[]) {
                self.step(step, Outcome::Unknown, 0)?;
            }
        }
        Ok(())
    }
}
