//! Reads: the courses in which one sees what it returned.

use std::collections::BTreeMap;

use anchorite_claims::{ReadKind, ReadView, SnapshotTaken};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Outcome, RunError, Value};

use super::course::{Failure, Following, Next, Place};
use super::seen::{Choices, Course, HalfDone, Needed, Sight, Unawaited};
use super::sight::{MOST_VIEWS, Reading};
use super::statement::Traits;
use super::unjudged::Unjudged;
use crate::evidence::difference::{AnswerDifference, answers};
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::{Contents, Evaluator, Question};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::Writer;
use crate::laboratory::Laboratory;

/// What came of trying a read on its views.
#[derive(Default)]
struct Found {
    /// The courses in which it sees what it returned.
    next: Vec<Course>,
    /// The first view that gives something else.
    first: Option<(Sight, AnswerDifference)>,
    /// Whether all of them could be put into tables.
    is_filled: bool,
    /// Why what it returned cannot have been seen without waiting.
    unawaited: Option<Unawaited>,
}

/// Whether a locking read has a query inside, which need not lock.
fn is_nested(read: &Performed<'_>, traits: &Traits) -> bool {
    read.kind == StatementKind::Select { locking: true } && traits.has_subquery
}

impl Course {
    /// The same, after a read that may have taken a snapshot.
    fn with_snapshot_of(mut self, writer: Writer, sight: &Sight) -> Self {
        self.snapshots.extend(sight.snapshot.map(|moment| (writer, moment)));
        self
    }
}

impl<'r> Following<'_, 'r> {
    /// The courses in which a read sees what it returned.
    pub(super) fn read(
        &self,
        course: Course,
        place: Place,
        read: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Next, RunError> {
        if read.reply.is_err() {
            return Ok(Next::Courses(vec![course]));
        }
        let traits = self.known.traits(read.sql);
        let half_done =
            match self.dirty_writes(&course, place, read, &traits, evaluator, laboratory)? {
                Some(half_done) => half_done,
                None => return Ok(Next::Unjudged(Unjudged::UnderWay)),
            };
        let met = self.met(&course, place, read, &traits, evaluator, laboratory)?;
        let rows = (&half_done, met.as_ref());
        let sights = match self.sights(&course, place, read, &traits, rows) {
            Ok(sights) => sights,
            Err(reason) => return Ok(Next::Unjudged(reason)),
        };
        let is_one = sights.len() == 1;
        let all = if traits.takes_some { sights.clone() } else { Vec::new() };
        let found = self.tried(&course, place, read, sights, evaluator, laboratory)?;
        let is_nested = is_nested(read, &traits);
        let is_wrong = found.next.is_empty() && found.unawaited.is_none();
        if is_wrong && found.is_filled && !all.is_empty() && !(is_nested || traits.skips_locked) {
            return self.some_of(course, place, read, (all, found.first), evaluator, laboratory);
        }
        if !found.next.is_empty() {
            return Ok(Next::Courses(found.next));
        }
        Ok(match (found.unawaited, found.first) {
            (Some(because), _) => Next::Nowhere(Box::new(Failure::of_lock(place, course, because))),
            _ if !found.is_filled => Next::Unjudged(Unjudged::Filling),
            _ if is_nested && !is_one => Next::Unjudged(Unjudged::Nested),
            _ if traits.skips_locked && met.is_none() => Next::Unjudged(Unjudged::SkipsLocked),
            (None, Some(first)) if !traits.takes_some => nowhere(course, place, first),
            _ => Next::Unjudged(Unjudged::SomeRows),
        })
    }

    /// Tries a read on each of its views.
    fn tried(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
        sights: Vec<Sight>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Found, RunError> {
        let traits = self.known.traits(read.sql);
        let session = self.transactions[place.writer].session;
        let question =
            |sight: &Sight| Question { session, sql: read.sql, contents: sight.contents.clone() };
        evaluator.find_out_all(&sights.iter().map(question).collect::<Vec<_>>(), laboratory)?;
        let mut found = Found { is_filled: true, ..Found::default() };
        let Some(observed) = last_event(self.run, read.n) else {
            found.next.push(course.clone());
            return Ok(found);
        };
        for sight in sights {
            let tried = evaluator.tried(session, read.sql, &sight.contents, laboratory)?;
            let Some((outcome, _)) = tried.filter(|(outcome, _)| matches!(outcome, Outcome::Ok(_)))
            else {
                found.is_filled = false;
                continue;
            };
            if let Some(difference) = answers(read.sql, &observed.outcome, &outcome) {
                found.first.get_or_insert((sight, difference));
                continue;
            }
            let taken =
                self.taken_from_others(course, place, read, &sight, evaluator, laboratory)?;
            if taken.is_some() {
                found.unawaited = taken;
                continue;
            }
            if is_nested(read, &traits) {
                found.next.extend(self.perhaps_with_snapshot(course, place, read));
                break;
            }
            let is_first = sight.snapshot.is_some() && self.takes_at_read(place.writer);
            let mut next = course.clone().with_snapshot_of(place.writer, &sight);
            let needed =
                self.kept_from_snapshot(course, place, read, &sight, evaluator, laboratory)?;
            next.needed = Needed::worse(next.needed, needed);
            found.next.push(next);
            // A read that need not look at rows may leave the snapshot to the next one.
            if is_first && !self.has_looked(read, &traits, evaluator, laboratory)? {
                found.next.push(course.clone());
            }
        }
        Ok(found)
    }

    /// The courses in which a read that takes some of its rows sees those that it returned.
    fn some_of(
        &self,
        course: Course,
        place: Place,
        read: &Performed<'r>,
        (sights, first): (Vec<Sight>, Option<(Sight, AnswerDifference)>),
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Next, RunError> {
        let parts = self.part_of(place, read, &sights, evaluator, laboratory)?;
        Ok(match (parts, first) {
            (Some(parts), Some(first)) if parts.is_empty() => nowhere(course, place, first),
            (Some(parts), _) => {
                let with = |sight: &Sight| course.clone().with_snapshot_of(place.writer, sight);
                Next::Courses(parts.iter().map(with).collect())
            }
            (None, _) => Next::Unjudged(Unjudged::SomeRows),
        })
    }

    /// What a read that sees uncommitted versions may see of writes that wait; `None` if that is not known.
    fn dirty_writes(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
        traits: &Traits,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<HalfDone>, RunError> {
        let claim = kind_of(read).and_then(|kind| self.claim(place.writer, kind));
        match claim {
            Some(claim) if claim.sees == ReadView::Uncommitted => {
                self.half_done(course, read, &traits.tables, evaluator, laboratory)
            }
            _ => Ok(Some(HalfDone::default())),
        }
    }

    /// Whether the snapshot is that of the first plain read.
    fn takes_at_read(&self, writer: Writer) -> bool {
        let claim = self.claim(writer, ReadKind::Plain);
        claim.is_some_and(|claim| claim.taken == Some(SnapshotTaken::FirstRead))
    }

    /// Whether a read cannot have given its answer without looking at any row, so that it has taken a snapshot.
    fn has_looked(
        &self,
        read: &Performed<'r>,
        traits: &Traits,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<bool, RunError> {
        let Some(observed) = last_event(self.run, read.n) else { return Ok(true) };
        if traits.tables.is_empty() {
            return Ok(false);
        }
        let is_empty = matches!(&observed.outcome, Outcome::Ok(answer) | Outcome::Resumed(answer)
            if answer.results.iter().all(|rows| rows.rows.is_empty()));
        if is_empty {
            return Ok(false);
        }
        let none = BTreeMap::new();
        let session = observed.session;
        let tried = evaluator.tried(session, read.sql, &none, laboratory)?;
        Ok(tried
            .is_none_or(|(outcome, _)| answers(read.sql, &observed.outcome, &outcome).is_some()))
    }

    /// What a locking read with a query inside may have seen, which need not lock its tables: each table as of the
    /// statement or of the snapshot, the latest first.
    fn nested(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
        tables: &[usize],
    ) -> Vec<Sight> {
        let state = &course.world.state;
        let mut moments = vec![read.end];
        moments.extend(state.commits_between(read.start, read.end).into_iter().rev());
        moments.push(read.start);
        moments.extend(course.snapshots.get(&place.writer));
        let mut all = vec![Contents::new()];
        for &table in tables {
            let mut choices: Vec<Vec<Vec<Value>>> = Vec::new();
            for &moment in &moments {
                let rows = state.rows.iter().filter(|row| row.table == table);
                let seen = rows.filter_map(|row| row.visible(place.writer, moment).cloned());
                let seen: Vec<Vec<Value>> = seen.collect();
                if !choices.contains(&seen) {
                    choices.push(seen);
                }
            }
            let with = |known: &Contents| {
                let one = |rows: &Vec<Vec<Value>>| {
                    let mut contents = known.clone();
                    contents.insert(table, rows.clone());
                    contents
                };
                choices.iter().map(one).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        all.truncate(MOST_VIEWS);
        let sight = |contents| Sight { contents, snapshot: None, moment: None, is_exact: true };
        all.into_iter().map(sight).collect()
    }

    /// The courses after a read with a query inside, which may have taken the snapshot of its transaction.
    fn perhaps_with_snapshot(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
    ) -> Vec<Course> {
        let mut all = vec![course.clone()];
        if self.takes_at_read(place.writer) && !course.snapshots.contains_key(&place.writer) {
            let later = course.world.state.commits_between(read.start, read.end);
            for moment in std::iter::once(read.start).chain(later) {
                let mut with = course.clone();
                with.snapshots.insert(place.writer, moment);
                all.push(with);
            }
        }
        all
    }

    pub(super) fn sights(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
        traits: &Traits,
        (half_done, met): (&HalfDone, Option<&Choices>),
    ) -> Result<Vec<Sight>, Unjudged> {
        if !traits.is_of_rows {
            return Err(Unjudged::NotOnlyRows);
        }
        if traits.tables.iter().any(|table| course.unknown.contains(table)) {
            return Err(Unjudged::UnknownTable);
        }
        let is_locking = read.kind == StatementKind::Select { locking: true };
        if is_nested(read, traits) {
            return Ok(self.nested(course, place, read, &self.known.filled_for(traits)));
        }
        let kind = if is_locking { ReadKind::Locking } else { ReadKind::Plain };
        let claim = self.claim(place.writer, kind).ok_or(Unjudged::NoClaim)?;
        let reading = Reading {
            course,
            claim,
            writes: self.documented(place.writer).claims.sees,
            transactions: self.transactions,
            writer: place.writer,
            statement: read,
            tables: &self.known.filled_for(traits),
            keys: &self.known.keys,
            half_done,
            waits_for_rows: self.known.waits_for_rows,
            met,
        };
        reading.sights()
    }
}

/// The kind of a read.
pub fn kind_of(statement: &Performed<'_>) -> Option<ReadKind> {
    match statement.kind {
        StatementKind::Select { locking: true } => Some(ReadKind::Locking),
        StatementKind::Select { locking: false } => Some(ReadKind::Plain),
        _ => None,
    }
}

/// The end of a course: the read returned something else than what it should have seen.
fn nowhere(course: Course, place: Place, (sight, difference): (Sight, AnswerDifference)) -> Next {
    let Place { at, writer, statement } = place;
    let (sight, difference, because) = (Some(sight), Some(difference), None);
    let (place, name) = (Some((writer, statement)), None);
    let failure = Failure { at, place, name, course, sight, difference, because, cause: None };
    Next::Nowhere(Box::new(failure))
}
