//! Reads: the courses in which one sees what it returned.

use std::collections::BTreeMap;

use anchorite_claims::{ReadKind, ReadView, SnapshotTaken};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Outcome, RunError};

use super::course::{Failure, Following, Next, Place};
use super::seen::{Course, HalfDone, Sight};
use super::sight::Reading;
use super::statement::Traits;
use super::unjudged::Unjudged;
use crate::evidence::difference::{AnswerDifference, answers};
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::{Evaluator, Question};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::Writer;
use crate::laboratory::Laboratory;

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
        let sights = match self.sights(&course, place, read, &traits, &half_done) {
            Ok(sights) => sights,
            Err(reason) => return Ok(Next::Unjudged(reason)),
        };
        let session = self.transactions[place.writer].session;
        let question =
            |sight: &Sight| Question { session, sql: read.sql, contents: sight.contents.clone() };
        evaluator.find_out_all(&sights.iter().map(question).collect::<Vec<_>>(), laboratory)?;
        let Some(observed) = last_event(self.run, read.n) else {
            return Ok(Next::Courses(vec![course]));
        };
        let (mut next, mut first, mut is_filled) = (Vec::new(), None, true);
        for sight in sights {
            let tried = evaluator.tried(session, read.sql, &sight.contents, laboratory)?;
            let Some((outcome, _)) = tried.filter(|(outcome, _)| matches!(outcome, Outcome::Ok(_)))
            else {
                is_filled = false;
                continue;
            };
            match answers(read.sql, &observed.outcome, &outcome) {
                None => {
                    let is_first = sight.snapshot.is_some() && self.takes_at_read(place.writer);
                    next.push(course.clone().with_snapshot_of(place.writer, &sight));
                    // A read that need not look at rows may leave the snapshot to the next one.
                    if is_first && !self.has_looked(read, &traits, evaluator, laboratory)? {
                        next.push(course.clone());
                    }
                }
                Some(difference) => drop(first.get_or_insert((sight, difference))),
            }
        }
        if !next.is_empty() {
            return Ok(Next::Courses(next));
        }
        Ok(match first {
            Some(first) if is_filled && !traits.takes_some => nowhere(course, place, first),
            Some(_) if is_filled => Next::Unjudged(Unjudged::SomeRows),
            _ => Next::Unjudged(Unjudged::Filling),
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
            _ => Ok(Some(HalfDone::new())),
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

    pub(super) fn sights(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
        traits: &Traits,
        half_done: &HalfDone,
    ) -> Result<Vec<Sight>, Unjudged> {
        if !traits.is_of_rows {
            return Err(Unjudged::NotOnlyRows);
        }
        if traits.tables.iter().any(|table| course.unknown.contains(table)) {
            return Err(Unjudged::UnknownTable);
        }
        if self.known.commit_under_way(read) {
            return Err(Unjudged::CommitUnderWay);
        }
        let is_locking = read.kind == StatementKind::Select { locking: true };
        if is_locking && traits.skips_locked {
            return Err(Unjudged::SkipsLocked);
        }
        if is_locking && traits.has_subquery {
            return Err(Unjudged::Nested);
        }
        let kind = if is_locking { ReadKind::Locking } else { ReadKind::Plain };
        let claim = self.claim(place.writer, kind).ok_or(Unjudged::NoClaim)?;
        let reading = Reading {
            course,
            claim,
            writes: self.documented.claims.sees,
            transactions: self.transactions,
            writer: place.writer,
            statement: read,
            tables: &self.known.filled_for(traits),
            keys: &self.known.keys,
            half_done,
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
    let failure = Failure { at, writer, statement, course, sight, difference, because };
    Next::Nowhere(Box::new(failure))
}
