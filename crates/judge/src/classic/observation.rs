//! A row as a statement saw it, and what shows that it did.

use anchorite_sql::formula::Formula;

/// What a read may have seen of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The row did not exist yet.
    Unborn,
    /// This version.
    Version(usize),
}

/// A row as a statement saw it.
#[derive(Debug, Clone)]
pub struct Observation {
    /// The transaction that saw it.
    pub reader: usize,
    /// The number of the statement.
    pub n: usize,
    /// The row.
    pub row: usize,
    /// What it may have seen, one of these; never empty.
    pub seen: Vec<Seen>,
    /// Whether the row was returned, or did not match the condition.
    pub returned: bool,
    /// The condition, for rows that did not match it.
    pub filter: Option<Formula>,
    /// Whether a write or a locking read saw it: these may see other versions than plain reads.
    pub by_write: bool,
    /// What shows it.
    pub proof: Proof,
}

/// What shows what a statement saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The rows that it returned, and those that it did not.
    Rows,
    /// How many rows it changed.
    Count,
    /// The version that it made, which must be observed somewhere to prove what it was made from.
    Made(usize),
}

impl Observation {
    /// What a write saw of a row.
    pub(super) fn of_write(
        reader: usize,
        n: usize,
        row: usize,
        seen: Vec<Seen>,
        proof: Proof,
    ) -> Self {
        Self { reader, n, row, seen, returned: true, filter: None, by_write: true, proof }
    }
}
