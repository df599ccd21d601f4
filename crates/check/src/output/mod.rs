//! Writing histories in every format that can be read.
//!
//! Idea: [`losses`] says what a format cannot represent of a history; conversion is then refused, unless the caller
//! accepts the loss. Everything else is written so that reading it back gives the same history.

mod composite;
mod elle;
mod plain;

use crate::input::Format;
use crate::model::{Atom, History, NO_TIME, OpKind, Outcome, Workload};
use std::io::Write;

/// Why a history could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The format cannot represent it.
    #[error("{format} cannot hold {}", what.join(", "))]
    Loses {
        /// The format.
        format: &'static str,
        /// What would be lost.
        what: Vec<&'static str>,
    },
    /// The bytes could not be written.
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
}

/// What a format would lose of a history, and (second part) what makes writing it impossible.
pub fn losses(history: &History, format: Format) -> (Vec<&'static str>, Vec<&'static str>) {
    let mut lost = Vec::new();
    let mut impossible = Vec::new();
    let has = |wanted: &[OpKind]| history.ops.iter().any(|op| wanted.contains(&op.kind));
    let outcome = |wanted: Outcome| history.txns.iter().any(|txn| txn.outcome == wanted);
    if format == Format::Anchorite {
        return (lost, impossible);
    }
    if !history.texts.is_empty() {
        lost.push("SQL texts");
    }
    if !history.version_numbers.is_empty() {
        lost.push("version numbers");
    }
    if matches!(format, Format::ElleEdn | Format::ElleJson) {
        if history.predicates.iter().any(|read| {
            matches!(read.predicate, crate::model::Predicate::Text(_)) || !read.unmatched.is_empty()
        }) {
            impossible.push("predicates given as text or with what they did not match");
        }
        if history
            .txns
            .iter()
            .any(|txn| txn.completed != NO_TIME && txn.outcome == Outcome::Unknown)
        {
            lost.push("end times of transactions of unknown outcome");
        }
        let has_rows = has(&[OpKind::ReadPredicate, OpKind::Insert, OpKind::Delete]);
        if format == Format::ElleJson && (has_rows || history.workload == Workload::Predicates) {
            impossible.push("predicates and rows, whose keys need not be strings");
        }
        return (lost, impossible);
    }
    if history.has_real_time() {
        lost.push("real time");
    }
    if has(&[OpKind::Append, OpKind::ReadList]) {
        impossible.push("lists");
    }
    if has(&[OpKind::ReadPredicate, OpKind::Insert, OpKind::Delete]) {
        impossible.push("predicates and rows");
    }
    if has(&[OpKind::ReadUnknown]) {
        lost.push("reads without result");
    }
    if outcome(Outcome::Unknown) && format != Format::Cobra {
        lost.push("unknown outcomes");
    }
    if format == Format::Cobra && outcome(Outcome::Aborted) {
        lost.push("aborted transactions");
    }
    if format == Format::Plume && aborted_reads(history) {
        lost.push("reads of aborted transactions");
    }
    if history.ops.iter().any(|op| !fits(history, format, op.key, op.value)) {
        impossible.push("keys or values that are not numbers");
    }
    (lost, impossible)
}

fn aborted_reads(history: &History) -> bool {
    (0..history.txns.len() as u32).any(|txn| {
        history.txns[txn as usize].outcome == Outcome::Aborted
            && history.ops[history.range(txn)].iter().any(|op| !op.kind.is_write())
    })
}

/// Whether key and value can be written as numbers of the format; the initial value always can.
fn fits(history: &History, format: Format, key: u32, value: Atom) -> bool {
    if key == crate::model::NONE {
        return true;
    }
    let name = history.keys[key as usize];
    let natural = |atom: Atom| atom.as_int().is_some_and(|number| number >= 0);
    let text = history.symbols.get(name).map_or("", |(_, text)| text);
    let named = natural(name) || format == Format::DbcopHist && crate::model::is_plain_name(text);
    let initial = value == history.initial_value(key) || value.is_nil();
    // Plume's 0 and Cobra's two magic numbers mean the initial value and cannot be written.
    let free = match format {
        Format::Plume => value.as_int() != Some(0),
        _ => true,
    };
    named && (initial || natural(value) && free)
}

/// Writes the history; refuses if something would be lost and `lossy` is not set. For formats with a file per session,
/// `session` restricts the output to one session.
pub fn write(
    history: &History,
    format: Format,
    lossy: bool,
    session: Option<u32>,
    out: &mut dyn Write,
) -> Result<(), OutputError> {
    let (lost, impossible) = losses(history, format);
    let what: Vec<&'static str> =
        if lossy { impossible } else { impossible.into_iter().chain(lost).collect() };
    if !what.is_empty() {
        return Err(OutputError::Loses { format: format.name(), what });
    }
    match format {
        Format::ElleEdn => elle::write(history, false, out)?,
        Format::ElleJson => elle::write(history, true, out)?,
        Format::Plume => plain::plume(history, out)?,
        Format::DbcopJson => plain::dbcop_json(history, out)?,
        Format::DbcopHist => plain::dbcop_hist(history, out)?,
        Format::Cobra => plain::cobra(history, session, out)?,
        Format::Anchorite => plain::lines(history, out)?,
    }
    Ok(())
}
