//! Elle histories: EDN or JSON operations, one after the other or in one vector.
//!
//! Idea: every completion (`ok`, `fail`, `info`) is a transaction; its invocation gives the begin in
//! real time, which is the position in the history, as in Elle. Appends make it a list-append
//! history, predicate reads a closed-predicate one, everything else is a register history.
//! Assumption: an invocation without completion may have committed. Operations of processes that are
//! not numbers (the nemesis) are skipped.

use super::form::{Form, Node};
use super::reader::{FormReader, Notation};
use super::source::{InputError, Source};
use crate::hash::WordMap;
use crate::model::{
    Atom, BuildError, HistoryBuilder, KeyId, NO_TIME, OpKind, Outcome, Predicate, PredicateRead,
    Workload,
};
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
    let mut elle = Elle { builder, pending: WordMap::default(), list: Vec::new(), clock: 0 };
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
                elle.event(form, line)?;
            }
        }
    }
    elle.finish()
}

struct Elle<'b> {
    builder: &'b mut HistoryBuilder,
    /// Open invocations by process: time, value, label.
    pending: WordMap<Atom, (u64, Vec<Node>, i64)>,
    /// The list that is being read.
    list: Vec<Atom>,
    clock: u64,
}

/// What a micro-operation does.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Read,
    Write(OpKind),
    Delete,
    Predicate,
}

fn syntax<T>(line: u64, expected: &str) -> Result<T, InputError> {
    Err(InputError::Syntax { line, expected: expected.to_owned() })
}

fn limit(line: u64, error: &BuildError) -> InputError {
    InputError::Limit { line, limit: error.to_string() }
}

impl Elle<'_> {
    fn event(&mut self, form: Form<'_>, line: u64) -> Result<(), InputError> {
        const NAMES: [&str; 6] = ["type", "process", "index", "value", "txn", "f"];
        let symbols = self.builder.symbols();
        let Some([kind, process, index, value, txn, f]) = form.fields(NAMES, symbols) else {
            return syntax(line, "an operation, which is a map");
        };
        self.clock += 1;
        let outcome = match kind.and_then(|kind| kind.word(symbols)) {
            Some("invoke") => None,
            Some("ok") => Some(Outcome::Committed),
            Some("fail") => Some(Outcome::Aborted),
            Some("info") => Some(Outcome::Unknown),
            _ => return syntax(line, "a :type of :invoke, :ok, :fail or :info"),
        };
        let process = process.and_then(Form::atom);
        if process.is_some_and(|name| name.as_int().is_none() && !name.is_nil()) {
            return Ok(());
        }
        let clock = self.clock;
        let label = index.and_then(Form::int).unwrap_or(clock as i64 - 1);
        let value = value.or(txn);
        let f = f.and_then(|f| f.word(symbols));
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
                self.pending.insert(process, (clock, value.nodes().to_vec(), label));
            }
            return Ok(());
        };
        let invoked = process.and_then(|name| self.pending.remove(&name));
        let value = match (value, &invoked) {
            (Some(given), _) if given.items().is_some() => value,
            (_, Some((_, at_invocation, _))) => Some(Form::new(at_invocation)),
            _ => value,
        };
        let began = invoked.as_ref().map_or(NO_TIME, |(time, _, _)| *time);
        let ended = if outcome == Outcome::Unknown || began == NO_TIME { NO_TIME } else { clock };
        // An operation without a process is in no session, so it gets a separate one.
        let alone = || Atom::int(-1 - clock as i64).unwrap_or(Atom::NIL);
        let session = self.builder.session(process.unwrap_or_else(alone));
        self.builder.begin(session, label, outcome, (began, ended));
        let Some(value) = value.filter(|value| value.atom() != Some(Atom::NIL)) else {
            return Ok(());
        };
        let Some(mut steps) = value.items() else {
            return syntax(line, "a :value that is a vector of micro-operations");
        };
        steps.try_for_each(|step| self.step(step, outcome, line))
    }

    fn init(&mut self, value: Option<Form<'_>>, line: u64) -> Result<(), InputError> {
        let Some(entries) = value.and_then(Form::entries) else {
            return syntax(line, "a map of keys and values in the :init operation");
        };
        self.builder.set_workload(Workload::Predicates);
        for (name, value) in entries {
            let Some(value) = value.atom() else {
                return syntax(line, "plain values in the :init operation");
            };
            let key = self.key(name);
            self.builder.set_initial_of(key, value);
        }
        Ok(())
    }

    /// The key of this name, which may be any value.
    #[inline]
    fn key(&mut self, name: Form<'_>) -> KeyId {
        let name = name.name(self.builder.symbols());
        self.builder.key(name)
    }

    fn step(&mut self, step: Form<'_>, outcome: Outcome, line: u64) -> Result<(), InputError> {
        const STEP: &str =
            "a micro-operation like [:r x 1], [:w x 1], [:append x 1], [:rp :true {x 1}]";
        let Some([Some(what), Some(first), second, third]) = step.first() else {
            return syntax(line, STEP);
        };
        let what = match what.word(self.builder.symbols()) {
            Some("r") => Step::Read,
            Some("w") => Step::Write(OpKind::Write),
            Some("append") => Step::Write(OpKind::Append),
            Some("insert") => Step::Write(OpKind::Insert),
            Some("delete") => Step::Delete,
            Some("rp") => Step::Predicate,
            _ => return syntax(line, STEP),
        };
        match (what, second, third) {
            (Step::Read, _, None) => self.read(first, second, outcome, line),
            (Step::Write(kind), Some(value), None) => {
                let Some(value) = value.atom() else { return syntax(line, STEP) };
                self.write(kind, first, value, line)
            }
            (Step::Delete, ..) => self.write(OpKind::Delete, first, Atom::NIL, line),
            (Step::Predicate, Some(matched), None) => self.predicate(first, matched, line),
            _ => syntax(line, STEP),
        }
    }

    fn write(
        &mut self,
        kind: OpKind,
        name: Form<'_>,
        value: Atom,
        line: u64,
    ) -> Result<(), InputError> {
        match kind {
            OpKind::Append => self.builder.set_workload(Workload::ListAppend),
            OpKind::Insert | OpKind::Delete => self.builder.set_workload(Workload::Predicates),
            _ => {}
        }
        let key = self.key(name);
        self.builder.push(kind, key, value).map_err(|error| limit(line, &error))
    }

    fn read(
        &mut self,
        name: Form<'_>,
        value: Option<Form<'_>>,
        outcome: Outcome,
        line: u64,
    ) -> Result<(), InputError> {
        let key = self.key(name);
        if let Some(items) = value.and_then(Form::items) {
            self.builder.set_workload(Workload::ListAppend);
            self.list.clear();
            for item in items {
                let Some(atom) = item.atom() else {
                    return syntax(line, "a list of plain values");
                };
                self.list.push(atom);
            }
            return self.builder.push_list(key, &self.list).map_err(|error| limit(line, &error));
        }
        let (kind, value) = match value.map(Form::atom) {
            Some(Some(value)) if outcome == Outcome::Committed || !value.is_nil() => {
                (OpKind::Read, value)
            }
            None | Some(Some(_)) => (OpKind::ReadUnknown, Atom::NIL),
            Some(None) => return syntax(line, "a plain value or a list"),
        };
        self.builder.push(kind, key, value).map_err(|error| limit(line, &error))
    }

    fn predicate(
        &mut self,
        form: Form<'_>,
        matched: Form<'_>,
        line: u64,
    ) -> Result<(), InputError> {
        const SHAPE: &str = "a predicate :true, [:= v] or [:mod m r] and a map of what it matched";
        self.builder.set_workload(Workload::Predicates);
        let symbols = self.builder.symbols();
        let predicate = match (form.word(symbols), form.first()) {
            (Some("true"), _) => Predicate::True,
            (_, Some([Some(what), Some(value), None, None])) if what.word(symbols) == Some("=") => {
                let Some(value) = value.atom() else { return syntax(line, SHAPE) };
                Predicate::Equals(value)
            }
            (_, Some([Some(what), Some(modulus), Some(rest), None]))
                if what.word(symbols) == Some("mod") =>
            {
                match (modulus.int(), rest.int()) {
                    (Some(modulus), Some(rest)) if modulus != 0 => Predicate::Modulo(modulus, rest),
                    _ => return syntax(line, SHAPE),
                }
            }
            _ => return syntax(line, SHAPE),
        };
        let mut rows = Vec::new();
        match matched.entries() {
            Some(entries) => {
                for (name, value) in entries {
                    let Some(value) = value.atom() else { return syntax(line, SHAPE) };
                    rows.push((self.key(name), value));
                }
            }
            None if matched.atom() == Some(Atom::NIL) => {}
            None => return syntax(line, SHAPE),
        }
        let read =
            PredicateRead { predicate, matched: rows, unmatched: Vec::new(), others: Vec::new() };
        self.builder.push_predicate(read).map_err(|error| limit(line, &error))
    }

    /// Invocations that were never answered: their outcome is unknown.
    fn finish(mut self) -> Result<(), InputError> {
        let mut open: Vec<_> = std::mem::take(&mut self.pending).into_iter().collect();
        open.sort_by_key(|(_, (time, _, _))| *time);
        for (process, (time, value, label)) in open {
            let session = self.builder.session(process);
            self.builder.begin(session, label, Outcome::Unknown, (time, NO_TIME));
            let mut steps = Form::new(&value).items().into_iter().flatten();
            steps.try_for_each(|step| self.step(step, Outcome::Unknown, 0))?;
        }
        Ok(())
    }
}
