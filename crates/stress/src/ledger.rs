//! Whether everything that was committed is still there: rows as they were found, against what was answered. Pure.
//!
//! Idea: at a moment when no transaction is open all rows are read. Every row names its version, and every write told
//! which version it replaced, so from the version that is there a line leads back through all that it came from, to the
//! version at the moment before. A write that is on that line is there; one that is not is gone.
//!
//! * A transaction whose COMMIT was answered must be there with all its writes. If none of them is there it is
//!   *lost*, if only some are, it is *torn*.
//! * One whose outcome is unknown may be there or not, but as a whole. This also settles which.
//! * One that was rolled back, or never asked to commit, must not be there: otherwise it is *back*.
//!
//! How much is kept: two words per row, and the writes since the moment before.
//!
//! Assumption: a write of unknown outcome told what it replaced; so where there are faults, COMMIT is sent after all
//! answers have come. Blind spot: a row that several transactions may have deleted, of which one has an unknown
//! outcome, is left out, and so is what came before a version that nobody is known to have written.

use std::collections::{BTreeMap, HashMap, HashSet};

use anchorite_check::model::Outcome;

use crate::plan::{Op, Plan};
use crate::record::{Record, Way};
use crate::token::version;

/// A version of a row: its token, and its place among the row's versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    token: u64,
    n: u64,
}

/// One write since the moment before.
#[derive(Debug, Clone, Copy)]
struct Write {
    txn: u64,
    replaced: u64,
}

/// What is wrong with a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// Its COMMIT was answered, and nothing of it is there.
    Lost,
    /// Only a part of it is there.
    Torn,
    /// It was not committed, and is there.
    Back,
}

/// A transaction with which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The transaction.
    pub txn: u64,
    /// What is wrong.
    pub wrong: Wrong,
    /// The rows that it wrote and where that is not there.
    pub gone: Vec<u64>,
    /// The rows that it wrote and where that is there.
    pub kept: Vec<u64>,
}

/// What a look at all rows shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// What is wrong.
    pub damages: Vec<Damage>,
    /// Transactions of unknown outcome, and whether they are there.
    pub resolved: Vec<(u64, bool)>,
}

/// What must be there.
#[derive(Debug, Default)]
pub struct Ledger {
    base: HashMap<u64, Held>,
    writes: HashMap<(u64, u64), Write>,
    /// What a transaction left of each row: its last token there.
    transactions: BTreeMap<u64, (Outcome, BTreeMap<u64, u64>)>,
    /// Deletions by row: their tokens.
    deletions: HashMap<u64, Vec<u64>>,
}

impl Ledger {
    /// A transaction has ended.
    pub fn note(&mut self, record: &Record, plan: &Plan) {
        if record.outcome == Outcome::Aborted {
            return;
        }
        let txn = record.number;
        let mut left = BTreeMap::new();
        for seen in record.seen.iter().filter(|seen| seen.way == Way::Replaced && seen.n > 0) {
            let place = version(seen.wrote).write as usize;
            let write = Write { txn, replaced: seen.token };
            self.writes.insert((seen.row, seen.wrote), write);
            if matches!(plan.ops.get(place), Some(Op::Delete(_))) {
                self.deletions.entry(seen.row).or_default().push(seen.wrote);
            }
            left.insert(seen.row, seen.wrote);
        }
        if !left.is_empty() || record.outcome == Outcome::Unknown {
            self.transactions.insert(txn, (record.outcome, left));
        }
    }

    /// Compares with the rows that were found when no transaction was open. What was found holds from here on.
    pub fn settle(&mut self, found: &Record, has_aborted: impl Fn(u64) -> bool) -> Account {
        let held = |seen: &crate::record::Seen| (seen.row, Held { token: seen.token, n: seen.n });
        let there: HashMap<u64, Held> = found.seen.iter().map(held).collect();
        let lines: HashMap<u64, Line> =
            self.touched(&there).into_iter().map(|row| (row, self.line(row, &there))).collect();
        let mut account = Account::default();
        for (txn, (outcome, left)) in &self.transactions {
            let is_clear = |row: &u64| !lines.get(row).is_some_and(|line| line.is_unclear);
            let is_kept = |row: &u64, token: &u64| {
                lines.get(row).is_some_and(|line| line.versions.contains(token))
            };
            let rows = left.iter().filter(|(row, _)| is_clear(row));
            let (kept, gone): (Vec<_>, Vec<_>) = rows.partition(|(row, token)| is_kept(row, token));
            let rows = |these: Vec<(&u64, &u64)>| these.into_iter().map(|(row, _)| *row).collect();
            let (kept, gone): (Vec<u64>, Vec<u64>) = (rows(kept), rows(gone));
            let wrong = match (outcome, kept.is_empty(), gone.is_empty()) {
                (_, false, false) => Wrong::Torn,
                (Outcome::Committed, true, false) => Wrong::Lost,
                // What wrote nothing that could still be seen may count as rolled back.
                (Outcome::Unknown, is_gone, _) => {
                    account.resolved.push((*txn, !is_gone));
                    continue;
                }
                _ => continue,
            };
            account.damages.push(Damage { txn: *txn, wrong, gone, kept });
        }
        self.older(&lines, &mut account);
        self.back(&there, has_aborted, &mut account);
        *self = Self { base: there, ..Self::default() };
        account
    }

    /// Rows that may have changed since the moment before.
    fn touched(&self, there: &HashMap<u64, Held>) -> HashSet<u64> {
        let written = self.writes.keys().map(|(row, _)| *row);
        let changed = self.base.iter().filter(|(row, held)| there.get(row) != Some(held));
        let new = there.iter().filter(|(row, held)| self.base.get(row) != Some(held));
        written.chain(changed.map(|(row, _)| *row)).chain(new.map(|(row, _)| *row)).collect()
    }

    fn line(&self, row: u64, there: &HashMap<u64, Held>) -> Line {
        let base = self.base.get(&row).map(|held| held.token);
        let mut line = Line::default();
        let mut at = match (there.get(&row), &self.deletions_of(row)[..]) {
            (Some(held), _) => held.token,
            (None, [only]) => *only,
            (None, []) => {
                line.lost_base = base.filter(|token| *token > 0);
                return line;
            }
            (None, _) => {
                line.is_unclear = true;
                return line;
            }
        };
        loop {
            line.versions.insert(at);
            if Some(at) == base {
                return line;
            }
            match self.writes.get(&(row, at)) {
                Some(write) if !line.versions.contains(&write.replaced) => at = write.replaced,
                _ => break,
            }
        }
        // What the row was at the moment before is not on the line: it went back further, unless nobody knows who
        // wrote what is there.
        let is_older = at == 0 || self.is_older(row, at, there);
        line.lost_base = base.filter(|token| *token > 0 && is_older);
        line
    }

    /// The deletions that may have taken place: those that were answered, else those of unknown outcome.
    fn deletions_of(&self, row: u64) -> Vec<u64> {
        let all = self.deletions.get(&row).map_or(&[][..], Vec::as_slice);
        let is_sure = |token: &&u64| {
            let write = self.writes.get(&(row, **token));
            let txn = write.and_then(|write| self.transactions.get(&write.txn));
            txn.is_some_and(|(outcome, _)| *outcome == Outcome::Committed)
        };
        let sure: Vec<u64> = all.iter().filter(is_sure).copied().collect();
        if sure.is_empty() { all.to_vec() } else { sure }
    }

    fn is_older(&self, row: u64, token: u64, there: &HashMap<u64, Held>) -> bool {
        let (now, before) = (there.get(&row), self.base.get(&row));
        now.zip(before).is_some_and(|(now, before)| now.token == token && now.n < before.n)
    }

    /// What was there at the moment before and is not any more.
    fn older(&self, lines: &HashMap<u64, Line>, account: &mut Account) {
        let mut lost: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (row, line) in lines {
            if let Some(token) = line.lost_base {
                lost.entry(version(token).txn).or_default().push(*row);
            }
        }
        for (txn, mut gone) in lost {
            gone.sort_unstable();
            account.damages.push(Damage { txn, wrong: Wrong::Lost, gone, kept: Vec::new() });
        }
    }

    /// Versions of transactions that did not commit.
    fn back(
        &self,
        there: &HashMap<u64, Held>,
        has_aborted: impl Fn(u64) -> bool,
        account: &mut Account,
    ) {
        let mut back: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (row, held) in there {
            let txn = version(held.token).txn;
            if held.token > 0 && has_aborted(txn) {
                back.entry(txn).or_default().push(*row);
            }
        }
        for (txn, mut kept) in back {
            kept.sort_unstable();
            account.damages.push(Damage { txn, wrong: Wrong::Back, gone: Vec::new(), kept });
        }
    }
}

/// The versions of a row that led to what is there.
#[derive(Debug, Default)]
struct Line {
    versions: HashSet<u64>,
    lost_base: Option<u64>,
    /// It cannot be said which of several deletions took place.
    is_unclear: bool,
}
