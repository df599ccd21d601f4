//! What a read may have seen, by what its level promises.
//!
//! A plain read has exactly one view, as soon as the moment of its snapshot is known; where that is not certain, there
//! is one for each moment. A read that locks its rows and waited may have met each row before or after the wait.
//!
//! Where writes see more than the snapshot of plain reads, a transaction may have written over rows that the snapshot
//! has in an older version. What it sees of them afterwards is hardly documented, so several views count there.

use anchorite_claims::{ReadClaim, ReadView, SnapshotTaken, WriteView};
use anchorite_model::Value;
use anchorite_model::sql::Dialect;
use anchorite_sql::tokens::significant;

use super::seen::{Choices, Course, HalfDone, Sight};
use super::unjudged::Unjudged;
use crate::evidence::evaluator::Contents;
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::versions::{Row, Writer};

/// The most views that are tried for one statement.
pub const MOST_VIEWS: usize = 32;

/// A read, and who reads.
#[derive(Clone, Copy)]
pub struct Reading<'s, 'r> {
    pub course: &'s Course,
    pub claim: &'s ReadClaim,
    /// What writes of the level see.
    pub writes: WriteView,
    pub transactions: &'s [Transaction<'r>],
    pub writer: Writer,
    pub statement: &'s Performed<'r>,
    /// The tables that it names.
    pub tables: &'s [usize],
    /// The primary key of each table.
    pub keys: &'s [Vec<usize>],
    /// What waiting writes may have done.
    pub half_done: &'s HalfDone,
    /// Whether waits are for rows only, and not for whole tables or the database.
    pub waits_for_rows: bool,
    /// How a locking read may have met each row, where that is known.
    pub met: Option<&'s Choices>,
}

impl<'r> Reading<'_, 'r> {
    fn transaction(&self) -> &Transaction<'r> {
        &self.transactions[self.writer]
    }

    /// Everything that it may have seen, the most likely first.
    pub fn sights(&self) -> Result<Vec<Sight>, Unjudged> {
        let Performed { start, end, waited, .. } = *self.statement;
        let at = |moment: usize| self.at(moment, None);
        if let Some(met) = self.met.filter(|_| self.claim.taken.is_none()) {
            return self.as_met(met);
        }
        let mut sights = match self.claim.sees {
            ReadView::Uncommitted => self.uncommitted()?,
            ReadView::StatementSnapshot | ReadView::Retried => {
                self.moments(start, end).into_iter().map(at).collect()
            }
            ReadView::TransactionSnapshot => return self.of_snapshot(),
            ReadView::Refreshed => {
                let mut moments = self.moments(self.transaction().began, end);
                moments.reverse();
                moments.into_iter().map(at).collect()
            }
            ReadView::Latest | ReadView::CheckedAgain if !waited => vec![at(end)],
            ReadView::Latest => {
                let mut sights = vec![at(end)];
                sights.extend(self.row_by_row(false)?);
                sights
            }
            ReadView::CheckedAgain => {
                let mut sights = vec![at(start)];
                sights.extend(self.row_by_row(true)?);
                sights
            }
        };
        dedup(&mut sights);
        Ok(sights)
    }

    /// A moment, and those of the commits after it until another one.
    fn moments(&self, from: usize, until: usize) -> Vec<usize> {
        let later = self.course.world.state.commits_between(from, until);
        std::iter::once(from).chain(later).collect()
    }

    /// What was committed at a moment, and its own.
    fn at(&self, moment: usize, snapshot: Option<usize>) -> Sight {
        let pick = |row: &Row| row.visible(self.writer, moment).cloned().into_iter().collect();
        let contents = self.contents(pick);
        Sight { contents, snapshot, moment: Some(moment), is_exact: true }
    }

    /// The latest versions; a row that a waiting write changes may be changed already.
    fn uncommitted(&self) -> Result<Vec<Sight>, Unjudged> {
        let blank =
            Sight { contents: Contents::new(), snapshot: None, moment: None, is_exact: true };
        let mut sights = vec![blank];
        let rows = self.course.world.state.rows.iter().enumerate();
        for (at, row) in rows.filter(|(_, row)| self.tables.contains(&row.table)) {
            let last = row.versions.last().and_then(|version| version.values.clone());
            let mut choices = vec![last];
            choices.extend(self.half_done.rows.get(&at).cloned().unwrap_or_default());
            choices.dedup();
            if sights.len() * choices.len() > MOST_VIEWS {
                return Err(Unjudged::UnderWay);
            }
            sights = sights.iter().flat_map(|known| known.with_row(row.table, &choices)).collect();
        }
        for (table, values) in &self.half_done.new {
            if sights.len() * 2 > MOST_VIEWS {
                return Err(Unjudged::UnderWay);
            }
            let choices = [None, Some(values.clone())];
            sights = sights.iter().flat_map(|known| known.with_row(*table, &choices)).collect();
        }
        Ok(sights)
    }

    /// The rows of the tables that matter, each in the versions that `pick` gives.
    fn contents(&self, pick: impl Fn(&Row) -> Vec<Vec<Value>>) -> Contents {
        let mut contents = Contents::new();
        for row in &self.course.world.state.rows {
            if self.tables.contains(&row.table) {
                contents.entry(row.table).or_default().extend(pick(row));
            }
        }
        contents
    }

    /// The views of a transaction's snapshot.
    fn of_snapshot(&self) -> Result<Vec<Sight>, Unjudged> {
        let known = self.course.snapshots.get(&self.writer).copied();
        let moments = match known {
            Some(moment) => vec![moment],
            None => self.snapshot_moments(),
        };
        let mut sights = Vec::new();
        for moment in moments {
            let snapshot = Some(moment).filter(|_| known.is_none());
            if self.writes == WriteView::Latest || self.writes == WriteView::Retried {
                sights.extend(self.over_snapshot(moment, snapshot)?);
            } else {
                sights.push(self.at(moment, snapshot));
            }
        }
        dedup(&mut sights);
        Ok(sights)
    }

    /// When the snapshot may be taken, if this is the first statement that needs it.
    fn snapshot_moments(&self) -> Vec<usize> {
        let statement = self.statement;
        let transaction = self.transaction();
        snapshot_moments(self.claim, transaction, statement, self.waits_for_rows, &|from, until| {
            self.moments(from, until)
        })
    }

    /// Own versions hide what the snapshot has of the same rows; but if others have changed such a row in between, or
    /// an own write met a newer version and left it as it was, both may show.
    fn over_snapshot(
        &self,
        moment: usize,
        snapshot: Option<usize>,
    ) -> Result<Vec<Sight>, Unjudged> {
        let rows = &self.course.world.state.rows;
        let own_keys: Vec<(usize, Vec<&Value>)> =
            rows.iter().filter_map(|row| self.own_key(row)).collect();
        let mut choices: Vec<Vec<Vec<Vec<Value>>>> = Vec::new();
        let mut count = 1;
        for row in rows.iter().filter(|row| self.tables.contains(&row.table)) {
            let of_row = self.versions_over(row, moment, &own_keys);
            count *= of_row.len();
            if count > MOST_VIEWS {
                return Err(Unjudged::OverSnapshot);
            }
            choices.push(of_row);
        }
        let tables: Vec<usize> =
            rows.iter().map(|row| row.table).filter(|table| self.tables.contains(table)).collect();
        let mut sights = vec![Sight {
            contents: Contents::new(),
            snapshot,
            moment: Some(moment),
            is_exact: true,
        }];
        for (table, of_row) in tables.into_iter().zip(choices) {
            let extend = |known: &Sight| {
                let with = |(at, versions): (usize, &Vec<Vec<Value>>)| {
                    let mut sight = known.clone();
                    sight.contents.entry(table).or_default().extend(versions.iter().cloned());
                    sight.is_exact &= at == 0;
                    sight
                };
                of_row.iter().enumerate().map(with).collect::<Vec<Sight>>()
            };
            sights = sights.iter().flat_map(extend).collect();
        }
        sights.sort_by_key(|sight| !sight.is_exact);
        Ok(sights)
    }

    fn own_key<'v>(&self, row: &'v Row) -> Option<(usize, Vec<&'v Value>)> {
        let values = row.own(self.writer)?.values.as_ref()?;
        let key = &self.keys[row.table];
        (!key.is_empty()).then(|| (row.table, key.iter().map(|&at| &values[at]).collect()))
    }

    /// What may show of one row: versions that show together, the most likely first.
    fn versions_over(
        &self,
        row: &Row,
        moment: usize,
        own_keys: &[(usize, Vec<&Value>)],
    ) -> Vec<Vec<Vec<Value>>> {
        let old = row.committed_at(moment).and_then(|version| version.values.clone());
        let list = |values: Option<Vec<Value>>| values.into_iter().collect::<Vec<_>>();
        let own_writes = self.transaction().statements.iter().filter(|write| {
            write.kind.writes() && write.end < self.statement.end && write.reply.is_ok()
        });
        let mut choices = Vec::new();
        if let Some(own) = row.own(self.writer) {
            choices.push(list(own.values.clone()));
            if !row.committed_between(moment, own.made).is_empty() {
                choices
                    .push(list(own.values.clone()).into_iter().chain(list(old.clone())).collect());
                choices.push(list(old));
            }
            return choices;
        }
        let key = |values: &Vec<Value>| {
            self.keys[row.table].iter().map(|&at| values[at].clone()).collect::<Vec<_>>()
        };
        let is_hidden = old.as_ref().is_some_and(|old| {
            let key = key(old);
            own_keys
                .iter()
                .any(|(table, own)| *table == row.table && own.iter().copied().eq(key.iter()))
        });
        choices.push(if is_hidden { Vec::new() } else { list(old) });
        for write in own_writes {
            for version in row.committed_between(moment, write.end) {
                choices.push(list(version.values.clone()));
            }
        }
        choices.dedup();
        choices
    }

    /// Each row in one of the ways in which a locking read may have met it.
    fn as_met(&self, met: &Choices) -> Result<Vec<Sight>, Unjudged> {
        let blank =
            Sight { contents: Contents::new(), snapshot: None, moment: None, is_exact: true };
        let mut sights = vec![blank];
        for (at, row) in self.course.world.state.rows.iter().enumerate() {
            if !self.tables.contains(&row.table) {
                continue;
            }
            let usual = vec![row.visible(self.writer, self.statement.end).cloned()];
            let choices = met.get(&at).unwrap_or(&usual);
            if sights.len() * choices.len() > MOST_VIEWS {
                return Err(Unjudged::Rows);
            }
            sights = sights.iter().flat_map(|known| known.with_row(row.table, choices)).collect();
        }
        Ok(sights)
    }

    /// Each row that changed while the statement ran in each of its versions; what is checked again may also vanish.
    fn row_by_row(&self, may_vanish: bool) -> Result<Vec<Sight>, Unjudged> {
        let Performed { start, end, .. } = *self.statement;
        let blank =
            Sight { contents: Contents::new(), snapshot: None, moment: None, is_exact: true };
        let mut sights = vec![blank];
        for row in &self.course.world.state.rows {
            if !self.tables.contains(&row.table) {
                continue;
            }
            let mut choices: Vec<Option<Vec<Value>>> = vec![row.visible(self.writer, end).cloned()];
            if row.own(self.writer).is_none() {
                let versions = row.committed_between(start, end);
                choices.extend(versions.iter().map(|version| version.values.clone()));
                choices.push(row.visible(self.writer, start).cloned());
                if may_vanish && !versions.is_empty() {
                    choices.push(None);
                }
            }
            choices.sort();
            choices.dedup();
            if sights.len() * choices.len() > MOST_VIEWS {
                return Err(Unjudged::Rows);
            }
            sights = sights.iter().flat_map(|known| known.with_row(row.table, &choices)).collect();
        }
        Ok(sights)
    }
}

/// When the snapshot of a transaction may be taken, if this is the first statement that needs it; who waits for rows
/// only has begun by then.
pub fn snapshot_moments(
    claim: &ReadClaim,
    transaction: &Transaction<'_>,
    statement: &Performed<'_>,
    waits_for_rows: bool,
    moments: &dyn Fn(usize, usize) -> Vec<usize>,
) -> Vec<usize> {
    let Performed { start, end, waited, .. } = *statement;
    let begins_at_once = !waited || waits_for_rows;
    let is_requested = transaction.begin.is_some_and(asks_for_snapshot);
    let first = transaction.first_look().map_or(start, |first| first.start);
    match claim.taken {
        Some(SnapshotTaken::FirstStatement) if first == start && begins_at_once => vec![start],
        _ if transaction.begin.is_none() => moments(start, end),
        _ if is_requested => vec![transaction.began],
        Some(SnapshotTaken::Begin) => vec![transaction.began],
        Some(SnapshotTaken::FirstStatement | SnapshotTaken::Late) => moments(first, end),
        Some(SnapshotTaken::FirstRead) | None => moments(start, end),
    }
}

/// `START TRANSACTION WITH CONSISTENT SNAPSHOT`
fn asks_for_snapshot(begin: &str) -> bool {
    let tokens = significant(begin, Dialect::Mysql);
    tokens.windows(2).any(|two| two[0].is_word("CONSISTENT") && two[1].is_word("SNAPSHOT"))
}

fn dedup(sights: &mut Vec<Sight>) {
    let mut known: Vec<Sight> = Vec::new();
    for sight in sights.drain(..) {
        let is_known =
            |other: &Sight| other.contents == sight.contents && other.snapshot == sight.snapshot;
        if !known.iter().any(is_known) {
            known.push(sight);
        }
    }
    *sights = known;
}
