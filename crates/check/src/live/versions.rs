//! The versions that can still be read or replaced without it being an anomaly by itself.
//!
//! Idea: of every row the newest settled version, and all that came after it. A version that was replaced by a settled
//! transaction is forgotten: who reads it later reads something old (see the page of [`super`]).

use crate::hash::WordMap;

/// A version of a row: who wrote it, and as which of its writes of the row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Version {
    /// The number of the transaction that wrote it; 0 for what was there before all of them.
    pub txn: u64,
    /// Which of the transaction's writes of the row, counted from 0.
    pub write: u32,
}

impl Version {
    /// What was there before the first transaction: a row, or none.
    pub const INITIAL: Version = Version { txn: 0, write: 0 };
}

/// Who wrote a version, as far as the graph is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writer {
    /// It has not ended.
    Pending,
    /// It is kept.
    Kept,
    /// It was dropped, or it is the initial state.
    Settled,
}

/// What is known about one version.
#[derive(Debug)]
pub(super) struct Known {
    pub writer: Writer,
    /// Its writer replaced it itself.
    pub is_intermediate: bool,
    /// The committed transaction that replaced it.
    pub next: Option<u64>,
    /// Committed transactions that read it and are kept.
    pub readers: Vec<u64>,
}

/// All versions that matter.
#[derive(Default)]
pub(super) struct Versions {
    known: WordMap<(u64, Version), Known>,
    /// The newest settled version of every row that has been written.
    newest_settled: WordMap<u64, Version>,
}

impl Versions {
    /// Nothing but the newest settled version of these rows.
    pub(super) fn starting_at(rows: impl Iterator<Item = (u64, Version)>) -> Self {
        Versions { newest_settled: rows.collect(), ..Versions::default() }
    }

    /// The newest version of a row whose writer has been dropped.
    pub(super) fn newest_settled(&self, row: u64) -> Version {
        self.newest_settled.get(&row).copied().unwrap_or(Version::INITIAL)
    }

    /// The rows of which a version has settled.
    pub(super) fn settled_rows(&self) -> impl Iterator<Item = u64> {
        self.newest_settled.keys().copied()
    }

    /// Who replaced a version.
    pub(super) fn next(&self, row: u64, version: Version) -> Option<u64> {
        self.known.get(&(row, version))?.next
    }

    /// The version, unless it is neither known nor the newest settled one of its row.
    pub(super) fn get(&mut self, row: u64, version: Version) -> Option<&mut Known> {
        if self.newest_settled(row) == version {
            return Some(self.enter(row, version, Writer::Settled));
        }
        self.known.get_mut(&(row, version))
    }

    /// The version, which is entered if it is not known.
    pub(super) fn enter(&mut self, row: u64, version: Version, writer: Writer) -> &mut Known {
        self.known.entry((row, version)).or_insert_with(|| Known {
            writer,
            is_intermediate: false,
            next: None,
            readers: Vec::new(),
        })
    }

    /// Forgets a version that was undone; what was known about it.
    pub(super) fn undo(&mut self, row: u64, version: Version) -> Option<Known> {
        self.known.remove(&(row, version))
    }

    /// Whether a committed transaction read or replaced a version.
    pub(super) fn has_dependents(&self, row: u64, version: Version) -> bool {
        let known = self.known.get(&(row, version));
        known.is_some_and(|known| known.next.is_some() || !known.readers.is_empty())
    }

    /// Whether a version has no writer yet.
    pub(super) fn is_pending(&self, row: u64, version: Version) -> bool {
        self.known.get(&(row, version)).is_some_and(|known| known.writer == Writer::Pending)
    }

    /// A reader is dropped.
    pub(super) fn drop_reader(&mut self, row: u64, version: Version, reader: u64) {
        if let Some(known) = self.known.get_mut(&(row, version)) {
            known.readers.retain(|one| *one != reader);
            self.forget_if_idle(row, version);
        }
    }

    /// The writer of a version is dropped: it is the newest settled one now, and what it replaced is old. Those that
    /// are dropped together come in any order, because answers can arrive in another order than that of the commits:
    /// one whose successor is dropped as well is not the newest.
    pub(super) fn settle(
        &mut self,
        row: u64,
        version: Version,
        replaced: Version,
        is_kept: impl Fn(u64) -> bool,
    ) {
        self.known.remove(&(row, replaced));
        // Otherwise the one that replaced it was dropped before.
        if let Some(known) = self.known.get_mut(&(row, version)) {
            known.writer = Writer::Settled;
            if !known.is_intermediate && known.next.is_none_or(is_kept) {
                self.newest_settled.insert(row, version);
            }
            self.forget_if_idle(row, version);
        }
    }

    /// A settled version without kept readers and without a successor can be entered again when it is needed.
    fn forget_if_idle(&mut self, row: u64, version: Version) {
        let is_idle = |known: &Known| {
            known.writer == Writer::Settled && known.next.is_none() && known.readers.is_empty()
        };
        if self.known.get(&(row, version)).is_some_and(is_idle) {
            self.known.remove(&(row, version));
        }
    }

    /// How many versions are known beyond the newest settled one of each row.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }
}
