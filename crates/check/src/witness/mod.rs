//! Witnesses: what was found, with a sentence for every step.
//!
//! Idea: an anomaly is a cycle of dependencies or a few operations; each edge gets a because-sentence
//! from the two operations that make it, so that a reader can check it by hand.

pub mod dot;
mod explain;
mod layout;
pub(crate) mod picture;

pub use explain::{Explainer, op_text, value_text};

use crate::graph::Kind;
use crate::model::{OpId, TxnId};

/// One edge of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// From this transaction …
    pub from: TxnId,
    /// … to this one.
    pub to: TxnId,
    /// What kind of dependency.
    pub kind: Kind,
    /// The two operations that make it, where there are any.
    pub ops: Vec<OpId>,
    /// Why, as a sentence without its end.
    pub because: String,
}

/// An anomaly with its witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Elle's name, or ours where Elle has none.
    pub name: &'static str,
    /// Names under which textbooks know this shape.
    pub also: Vec<&'static str>,
    /// The cycle, if it is one.
    pub steps: Vec<Step>,
    /// The transactions that take part.
    pub transactions: Vec<TxnId>,
    /// The operations that matter.
    pub ops: Vec<OpId>,
    /// Sentences.
    pub because: Vec<String>,
}

/// The short name of a dependency.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Ww => "ww",
        Kind::Wr => "wr",
        Kind::Rw => "rw",
        Kind::WwPredicate => "ww (predicate)",
        Kind::WrPredicate => "wr (predicate)",
        Kind::RwPredicate => "rw (predicate)",
        Kind::Session => "session",
        Kind::RealTime => "real time",
    }
}

/// The kind behind a bit.
pub fn kind_of(bit: u8) -> Kind {
    [
        Kind::Ww,
        Kind::Wr,
        Kind::Rw,
        Kind::WwPredicate,
        Kind::WrPredicate,
        Kind::RwPredicate,
        Kind::Session,
        Kind::RealTime,
    ]
    .into_iter()
    .find(|kind| *kind as u8 == bit)
    .unwrap_or(Kind::Ww)
}
