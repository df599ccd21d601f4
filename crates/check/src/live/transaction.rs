//! What is fed to the judge, and what it finds.

use super::versions::Version;
use crate::graph::Kind;
use crate::model::Outcome;

/// A version that a transaction read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The row.
    pub row: u64,
    /// Its version.
    pub version: Version,
}

/// A version that a transaction wrote; a deletion writes one, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write {
    /// The row.
    pub row: u64,
    /// Which of the transaction's writes of the row, counted from 0.
    pub write: u32,
    /// The version before.
    pub replaced: Version,
}

impl Write {
    /// The version that a transaction made by this.
    pub fn version(&self, txn: u64) -> Version {
        Version { txn, write: self.write }
    }
}

/// A transaction that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// Its number, as at its begin.
    pub number: u64,
    /// Its session.
    pub session: u32,
    /// When it was answered.
    pub ended: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What it read, in program order.
    pub reads: Vec<Read>,
    /// What it wrote, in program order.
    pub writes: Vec<Write>,
}

/// One dependency of a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// From this transaction …
    pub from: u64,
    /// … to this one.
    pub to: u64,
    /// What kind of dependency.
    pub kind: Kind,
    /// The row that it is about, if it is about data.
    pub row: Option<u64>,
}

/// An anomaly with its witness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Elle's name, as in the reports of whole histories.
    pub name: &'static str,
    /// A cycle; or one step from the writer to the reader, for what a single read or write shows.
    pub steps: Vec<Step>,
}

impl Found {
    /// What one read, or one write on top of another, shows.
    pub(super) fn read(name: &'static str, reader: u64, writer: u64, row: u64) -> Found {
        let step = Step { from: writer, to: reader, kind: Kind::Wr, row: Some(row) };
        Found { name, steps: vec![step] }
    }

    /// A read of a version that had been replaced before the reader began.
    pub(super) fn settled(reader: u64, writer: u64, row: u64) -> Found {
        Found::read("G-single-item-realtime", reader, writer, row)
    }

    /// The transactions that take part.
    pub fn transactions(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self
            .steps
            .iter()
            .flat_map(|step| [step.from, step.to])
            .filter(|one| *one > 0)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// A sentence per step; `row` names rows.
    pub fn because(&self, row: impl Fn(u64) -> String) -> Vec<String> {
        let writer = |txn: u64| match txn {
            0 => "the initial state".to_owned(),
            txn => format!("T{txn}"),
        };
        let told = |step: &Step| {
            let (a, b) = (writer(step.from), writer(step.to));
            let key = step.row.map_or_else(String::new, &row);
            match (self.name, step.kind) {
                ("G1a", _) => format!("{b} read {key} as {a} wrote it, but {a} aborted"),
                ("G1b", _) => format!("{b} read {key} as {a} wrote it before it wrote it again"),
                ("thin-air-read", _) => {
                    format!("{b} read {key} as {a} is said to have written it, but it did not")
                }
                ("dirty-update", _) => format!("{b} replaced {key} of {a}, which aborted"),
                ("incompatible-order", _) => {
                    format!(
                        "{b} replaced a version of {key} that {a} has to do with, and that was replaced before"
                    )
                }
                _ if self.steps.len() == 1 => format!(
                    "{b} read {key} from {a}, although another version had replaced it before {b} was invoked"
                ),
                (_, Kind::Ww | Kind::WwPredicate) => {
                    format!("{a} < {b}, because {b} replaced {key} of {a}")
                }
                (_, Kind::Wr | Kind::WrPredicate) => {
                    format!("{a} < {b}, because {b} read {key} from {a}")
                }
                (_, Kind::Rw | Kind::RwPredicate) => {
                    format!("{a} < {b}, because {a} read the version of {key} that {b} replaced")
                }
                (_, Kind::Session) => {
                    format!("{a} < {b}, because {b} came after it in its session")
                }
                (_, Kind::RealTime) => {
                    format!("{a} < {b}, because {a} had been answered before {b} was invoked")
                }
            }
        };
        self.steps.iter().map(told).collect()
    }
}
