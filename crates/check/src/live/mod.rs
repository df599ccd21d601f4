//! Judges a history while it is being made, in bounded memory.
//!
//! Idea: transactions are fed as they end, each with the versions of rows that it read and wrote; a write names the
//! version that it replaced. So every dependency between two transactions follows from what the two say themselves, and
//! is known when the later of them has ended. A new cycle passes through the transaction that was fed last, and is
//! looked for there.
//!
//! **What is dropped.** A transaction is *settled* when it ended before the begin of every transaction that is still
//! open or yet to begin. A settled transaction is dropped if no unsettled one reaches it along dependencies.
//!
//! **Why no cycle is lost.** Let D be all that has been dropped.
//! 1. When transactions are dropped, no dependency leads to them from what is kept: kept is what unsettled ones reach,
//!    which includes all successors of what is kept.
//! 2. No dependency from a transaction F outside of D to an N in D appears later. Both ends of a dependency say all
//!    that it follows from, so F had not ended when N was dropped; N was settled, so F began after N had ended. N
//!    cannot have read or replaced what F wrote later (no wr or ww), nor come after F in time or in a session. What
//!    is left is rw: F read a version that N had replaced before F began. That is an anomaly by itself and reported
//!    at once: N was answered before F was invoked, and F read what was there before N (`G-single-item-realtime`).
//! 3. So a cycle with a transaction of D that is not one of those in (2) has no dependency that leads into D from
//!    outside: all of it is in D. It was complete, and found, when the last of its transactions ended. ∎
//!
//! How much is kept: what ended since the oldest open transaction began, and what such transactions reach, which in a
//! history without long cycles is as much again; of every row the newest settled version (one word), and a quarter of a
//! byte per transaction for how it ended. The sweep runs when as many have ended as it left, so the number of kept
//! transactions is at most about twice what is needed. [`Options::keep`] keeps more, so that the reads of (2) get their
//! names from data where the transactions between are still there.
//!
//! Assumptions: begins and ends are fed in the order of their times; a begin is fed before any later end; a version's
//! number is unique. Transactions of unknown outcome stay open until a committed one reads or replaces what they wrote,
//! or [`Live::resolve`] says how they ended. Blind spots: predicate reads are not fed; a read of what is settled and
//! replaced is named by real time even if data alone would close its cycle.

mod outcomes;
mod transaction;
mod versions;
mod window;

pub use self::transaction::{Found, Read, Step, Transaction, Write};
pub use self::versions::Version;

use self::outcomes::{Ending, Endings};
use self::versions::{Versions, Writer};
use self::window::{Node, Window};
use crate::graph::Kind;
use crate::hash::WordMap;
use crate::model::Outcome;
use std::collections::BTreeSet;

/// Kept transactions below which no sweep is worth it.
const FEW: usize = 32;

/// What counts besides data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether session order counts.
    pub session: bool,
    /// Whether real time counts.
    pub real_time: bool,
    /// How many of the last transactions are kept although they could be dropped.
    pub keep: u64,
}

/// A transaction that has begun.
struct Open {
    began: u64,
    /// Those that were answered before it began, without what follows from others.
    after: Vec<u64>,
}

/// The judge.
pub struct Live {
    options: Options,
    open: WordMap<u64, Open>,
    /// Begin and number of everything open, oldest first.
    begins: BTreeSet<(u64, u64)>,
    /// Ended with unknown outcome; still open.
    doubtful: WordMap<u64, Transaction>,
    window: Window,
    versions: Versions,
    endings: Endings,
    /// Ended transactions that none began after: number, end.
    frontier: Vec<(u64, u64)>,
    /// The last committed transaction of every session.
    last: WordMap<u32, u64>,
    /// How many have ended.
    places: u64,
    /// How many were kept after the last sweep.
    swept: usize,
    found: Vec<Found>,
}

impl Live {
    /// A judge that has seen nothing.
    pub fn new(options: Options) -> Live {
        Live {
            options,
            open: WordMap::default(),
            begins: BTreeSet::new(),
            doubtful: WordMap::default(),
            window: Window::default(),
            versions: Versions::default(),
            endings: Endings::default(),
            frontier: Vec::new(),
            last: WordMap::default(),
            places: 0,
            swept: 0,
            found: Vec::new(),
        }
    }

    /// A transaction begins; its number is greater than 0 and its own.
    pub fn begin(&mut self, number: u64, at: u64) {
        let before =
            self.frontier.iter().filter(|(_, ended)| self.options.real_time && *ended < at);
        let after = before.map(|(number, _)| *number).collect();
        self.open.insert(number, Open { began: at, after });
        self.begins.insert((at, number));
    }

    /// A transaction that had begun has ended; the anomalies that this completes.
    pub fn end(&mut self, transaction: Transaction) -> Vec<Found> {
        match transaction.outcome {
            Outcome::Committed => self.commit(transaction),
            Outcome::Aborted => self.abort(&transaction),
            Outcome::Unknown => {
                let number = transaction.number;
                let was_read = transaction
                    .writes
                    .iter()
                    .any(|write| self.versions.has_dependents(write.row, write.version(number)));
                if was_read {
                    self.commit(transaction);
                } else {
                    self.doubtful.insert(number, transaction);
                }
            }
        }
        self.sweep_if_due();
        std::mem::take(&mut self.found)
    }

    /// How a transaction of unknown outcome ended, as was found out otherwise.
    pub fn resolve(&mut self, number: u64, committed: bool) -> Vec<Found> {
        if let Some(transaction) = self.doubtful.remove(&number) {
            if committed {
                self.commit(transaction);
            } else {
                self.abort(&transaction);
            }
        }
        std::mem::take(&mut self.found)
    }

    /// Nothing follows: those of unknown outcome that nobody read from do not count.
    pub fn finish(mut self) -> Vec<Found> {
        self.begins.clear();
        self.options.keep = 0;
        self.drop_settled();
        self.found
    }

    /// The newest committed version of a row, as far as its writers say.
    pub fn newest(&self, row: u64) -> Version {
        let mut version = self.versions.newest_settled(row);
        while let Some(next) = self.versions.next(row, version) {
            let Some(made) = self.window.last_write(next, row) else { break };
            version = made;
        }
        version
    }

    /// Whether a transaction is kept, or may still count.
    pub fn keeps(&self, number: u64) -> bool {
        self.window.has(number) || self.doubtful.contains_key(&number)
    }

    /// Every row that a committed transaction has written.
    pub fn rows(&self) -> Vec<u64> {
        let mut rows: Vec<u64> = self.versions.settled_rows().chain(self.window.rows()).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Whether a transaction is known to have been rolled back.
    pub fn has_aborted(&self, number: u64) -> bool {
        self.endings.of(number) == Ending::Aborted
    }

    /// Whether a transaction has committed, as far as is known.
    pub fn has_committed(&self, number: u64) -> bool {
        self.endings.of(number) == Ending::Committed
    }

    /// Begins anew from these versions of rows, when nothing is open: what happened before counts no longer, because a
    /// part of it is not there any more. How transactions ended is kept.
    pub fn restart(&mut self, rows: impl Iterator<Item = (u64, Version)>) {
        let endings = std::mem::take(&mut self.endings);
        let versions = Versions::starting_at(rows);
        *self = Live { endings, versions, ..Live::new(self.options) };
    }

    /// Drops what can be dropped now, which happens by itself from time to time.
    pub fn sweep(&mut self) -> Vec<Found> {
        self.drop_settled();
        std::mem::take(&mut self.found)
    }

    /// How many transactions are kept.
    pub fn kept(&self) -> usize {
        self.window.len()
    }

    /// How many versions are kept, besides the newest settled one of each row.
    pub fn kept_versions(&self) -> usize {
        self.versions.count()
    }

    fn close(&mut self, number: u64, ending: Ending) -> Option<Open> {
        self.endings.set(number, ending);
        let open = self.open.remove(&number)?;
        self.begins.remove(&(open.began, number));
        Some(open)
    }

    fn abort(&mut self, transaction: &Transaction) {
        let number = transaction.number;
        self.close(number, Ending::Aborted);
        for write in &transaction.writes {
            let Some(known) = self.versions.undo(write.row, write.version(number)) else {
                continue;
            };
            let mut find =
                |name, later| self.found.push(Found::read(name, later, number, write.row));
            known.readers.iter().for_each(|reader| find("G1a", *reader));
            known.next.iter().for_each(|next| find("dirty-update", *next));
        }
    }

    fn commit(&mut self, transaction: Transaction) {
        let Transaction { number, session, ended, reads, writes, outcome } = transaction;
        let Some(open) = self.close(number, Ending::Committed) else { return };
        self.promote_what_it_saw(number, &reads, &writes);
        self.window.add(number, ended, self.places);
        self.places += 1;
        for before in open.after {
            self.window.depend(before, number, Kind::RealTime, None);
        }
        // The end of one of unknown outcome is not known either.
        if self.options.real_time && outcome == Outcome::Committed {
            self.frontier.retain(|(_, earlier)| *earlier >= open.began);
            self.frontier.push((number, ended));
        }
        // One of unknown outcome may be found to have committed when its session has gone on.
        if self.options.session
            && outcome == Outcome::Committed
            && let Some(before) = self.last.insert(session, number)
        {
            self.window.depend(before, number, Kind::Session, None);
        }
        for write in &writes {
            self.write(number, write);
        }
        let reads: Vec<Read> = reads.into_iter().filter(|read| self.read(number, *read)).collect();
        for (pattern, steps) in self.window.cycles(number) {
            self.found.push(Found { name: pattern.name, steps });
        }
        if let Some(node) = self.window.get_mut(number) {
            node.reads = reads;
            node.writes = writes;
        }
    }

    /// What a committed transaction read from or replaced had committed.
    fn promote_what_it_saw(&mut self, number: u64, reads: &[Read], writes: &[Write]) {
        let seen = reads.iter().map(|read| read.version.txn);
        for writer in seen.chain(writes.iter().map(|write| write.replaced.txn)) {
            if writer != number
                && let Some(doubtful) = self.doubtful.remove(&writer)
            {
                self.commit(doubtful);
            }
        }
    }

    fn write(&mut self, number: u64, write: &Write) {
        let Write { row, replaced, .. } = *write;
        let own = self.versions.enter(row, write.version(number), Writer::Pending);
        own.writer = Writer::Kept;
        let (next, readers) = (own.next, own.readers.clone());
        for reader in readers {
            self.window.depend(number, reader, Kind::Wr, Some(row));
        }
        if let Some(next) = next {
            self.window.depend(number, next, Kind::Ww, Some(row));
        }
        if self.endings.of(replaced.txn) == Ending::Aborted {
            self.found.push(Found::read("dirty-update", number, replaced.txn, row));
            return;
        }
        let known = match self.versions.get(row, replaced) {
            Some(known) => known,
            None if self.endings.of(replaced.txn) == Ending::NotYet && replaced.txn != 0 => {
                self.versions.enter(row, replaced, Writer::Pending)
            }
            // Somebody else had replaced it before this transaction began.
            None => {
                self.found.push(Found::read("incompatible-order", number, replaced.txn, row));
                return;
            }
        };
        let readers = known.readers.clone();
        if replaced.txn == number {
            known.is_intermediate = true;
            for reader in readers {
                self.found.push(Found::read("G1b", reader, number, row));
            }
            return;
        }
        match known.next.replace(number) {
            Some(other) if other != number => {
                self.found.push(Found::read("incompatible-order", number, other, row));
            }
            _ => {}
        }
        if !known.is_intermediate {
            for reader in readers {
                self.window.depend(reader, number, Kind::Rw, Some(row));
            }
        }
        self.window.depend(replaced.txn, number, Kind::Ww, Some(row));
    }

    /// Whether the read is of a version that is known.
    fn read(&mut self, number: u64, read: Read) -> bool {
        let Read { row, version } = read;
        let writer = version.txn;
        if writer == number {
            return false;
        }
        if self.endings.of(writer) == Ending::Aborted {
            self.found.push(Found::read("G1a", number, writer, row));
            return false;
        }
        let known = match self.versions.get(row, version) {
            Some(known) => known,
            None if writer != 0 && self.endings.of(writer) == Ending::NotYet => {
                self.versions.enter(row, version, Writer::Pending)
            }
            None => {
                self.found.push(Found::settled(number, writer, row));
                return false;
            }
        };
        known.readers.push(number);
        let (next, is_intermediate) = (known.next, known.is_intermediate);
        self.window.depend(writer, number, Kind::Wr, Some(row));
        if is_intermediate {
            self.found.push(Found::read("G1b", number, writer, row));
        } else if let Some(next) = next {
            self.window.depend(number, next, Kind::Rw, Some(row));
        }
        true
    }

    fn sweep_if_due(&mut self) {
        if self.window.len() >= FEW.max(2 * self.swept) {
            self.drop_settled();
        }
    }

    /// Drops what can be in no cycle to come.
    fn drop_settled(&mut self) {
        let horizon = self.begins.first().map_or(u64::MAX, |oldest| oldest.0);
        let keep_from = self.places.saturating_sub(self.options.keep);
        let is_settled = |node: &Node| node.ended < horizon && node.place < keep_from;
        for (number, node) in self.window.drop_settled(is_settled) {
            self.forget(number, &node);
        }
        self.swept = self.window.len();
        let window = &self.window;
        self.last.retain(|_, number| window.has(*number));
    }

    fn forget(&mut self, number: u64, node: &Node) {
        for Read { row, version } in &node.reads {
            if self.versions.is_pending(*row, *version) {
                // Everybody who was there when it was read has ended, and nobody is known to have written it; of one
                // that aborted not every write is known.
                let name = match self.endings.of(version.txn) {
                    Ending::Aborted => "G1a",
                    _ => "thin-air-read",
                };
                self.found.push(Found::read(name, number, version.txn, *row));
            }
            self.versions.drop_reader(*row, *version, number);
        }
        for write in &node.writes {
            let is_kept = |txn| self.window.has(txn);
            self.versions.settle(write.row, write.version(number), write.replaced, is_kept);
        }
    }
}
