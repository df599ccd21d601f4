//! What a write may have done.
//!
//! If nothing else happened around it, there is one view that it can have seen: it is executed on that, as a whole.
//! Where others have committed while it ran, or hold rows, it is taken apart row by row, as the mechanism of the
//! final-state oracle does.

use anchorite_claims::{Deviation, DocumentedWrites, SerialOrder, WriteView, WriteWord};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Outcome, RunError};

use super::course::{Failure, Following, Next, Place};
use super::names::WRONG_WRITE;
use super::seen::{Course, Needed};
use super::unjudged::Unjudged;
use crate::evidence::difference::{AnswerDifference, answers};
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::{Performed, Transaction, is_optimistic};
use crate::evidence::versions::{Row, Writer};
use crate::evidence::world::{Change, View, World, changes};
use crate::laboratory::Laboratory;
use crate::oracles::final_state::mechanism::simulate::{LeftAlone, Simulation};

impl<'r> Following<'_, 'r> {
    /// The courses after a write.
    pub(super) fn write(
        &self,
        course: Course,
        place: Place,
        write: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Next, RunError> {
        let traits = self.known.traits(write.sql);
        let reach = self.known.filled_for(&traits);
        if write.reply.is_err() {
            return self.failed(course, place, write, &reach, evaluator, laboratory);
        }
        if !traits.is_of_rows {
            return Ok(Next::Unjudged(Unjudged::NotOnlyRows));
        }
        if reach.iter().any(|table| course.unknown.contains(table)) {
            return Ok(Next::Unjudged(Unjudged::UnknownTable));
        }
        let (mut courses, mut failure, mut unjudged) = (Vec::new(), None, None);
        for course in self.with_snapshot(&course, place, write) {
            let next = match self.only_view(&course, place, write, &reach) {
                Some(view) => self.whole(course, &view, place, write, evaluator, laboratory)?,
                None if self.known.has_programs => Next::Unjudged(Unjudged::SetUp),
                None if self.known.meets_ddl => Next::Unjudged(Unjudged::Ddl),
                None => self.row_by_row(course, place, write, evaluator, laboratory)?,
            };
            match next {
                Next::Courses(next) => {
                    for after in next {
                        match self.unawaited(&after, place, write, evaluator, laboratory)? {
                            None => courses.push(after),
                            Some(because) => {
                                failure = Some(Box::new(Failure::of_lock(place, after, because)));
                            }
                        }
                    }
                }
                Next::Nowhere(found) => failure = Some(found),
                Next::Unjudged(reason) => unjudged = Some(reason),
            }
        }
        Ok(match (courses.is_empty(), unjudged, failure) {
            (true, Some(reason), _) => Next::Unjudged(reason),
            (true, None, Some(failure)) => Next::Nowhere(failure),
            (_, Some(reason), _) => {
                courses.push(self.without_write(course, write, reason));
                Next::Courses(courses)
            }
            (_, None, _) => Next::Courses(courses),
        })
    }

    fn without_write(&self, mut course: Course, write: &Performed<'r>, reason: Unjudged) -> Course {
        course.unknown.extend(self.known.reach(write.sql));
        course.unjudged.get_or_insert(reason);
        course
    }

    /// The view of a write, if there is only one that it can have had.
    pub(super) fn only_view(
        &self,
        course: &Course,
        place: Place,
        write: &Performed<'r>,
        reach: &[usize],
    ) -> Option<View> {
        let transaction = &self.transactions[place.writer];
        let optimistic = transaction.begin.is_some_and(is_optimistic);
        let sees = self.documented(place.writer).claims.sees;
        let from = match sees {
            _ if optimistic => transaction.began,
            WriteView::TransactionSnapshot | WriteView::LateSnapshot => {
                course.snapshots.get(&place.writer).copied().unwrap_or(write.start)
            }
            WriteView::Latest | WriteView::Retried | WriteView::StatementSnapshot => write.start,
        };
        let World { state, .. } = &course.world;
        let of_reach = |row: &&Row| reach.contains(&row.table);
        let is_held = state
            .rows
            .iter()
            .filter(of_reach)
            .any(|row| row.held_by_others(place.writer).next().is_some());
        let has_changed = state.rows.iter().filter(of_reach).any(|row| {
            row.own(place.writer).is_none() && !row.committed_between(from, write.end).is_empty()
        });
        let seen = |_: usize, row: &'_ Row| {
            reach.contains(&row.table) && row.visible(place.writer, write.end).is_some()
        };
        // What does its work only when nothing is in its way any more, does it at its end.
        let is_late = self.run.target.product.descriptor().transactions.waits_before_work;
        // What may look at rows that a waiting statement has changed has several views.
        let looks_dirty = self.sees_uncommitted(place.writer, write)
            && !self.known.writes_under_way(write, reach).is_empty();
        (is_late || !(is_held || has_changed || looks_dirty)).then(|| {
            course.world.view(|at, row| {
                seen(at, row).then(|| row.visible(place.writer, write.end)).flatten()
            })
        })
    }

    /// Executes a write on the only view that it can have had.
    fn whole(
        &self,
        mut course: Course,
        view: &View,
        place: Place,
        write: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Next, RunError> {
        let contents = course.world.contents(view);
        let session = self.transactions[place.writer].session;
        let Some((outcome, tables)) = evaluator.tried(session, write.sql, &contents, laboratory)?
        else {
            return Ok(Next::Unjudged(Unjudged::Filling));
        };
        let Some(observed) = last_event(self.run, write.n) else {
            return Ok(Next::Courses(vec![course]));
        };
        let difference = answers(write.sql, &observed.outcome, &outcome);
        let takes_some = self.known.traits(write.sql).takes_some;
        if difference.is_some() || !matches!(outcome, Outcome::Ok(_)) {
            if takes_some {
                return Ok(Next::Unjudged(Unjudged::SomeRows));
            }
            if matches!(outcome, Outcome::Error(_)) && self.known.defers {
                return Ok(Next::Unjudged(Unjudged::Deferred));
            }
            return Ok(wrong(place, course, difference, None));
        }
        let after: Contents =
            tables.into_iter().enumerate().map(|(at, (_, rows))| (at, rows.rows)).collect();
        let may_update = write.kind != StatementKind::Replace;
        let mut changed = changes(&course.world, view, &after, &self.known.unique_keys, may_update);
        changed.extend(self.untouched(
            &course,
            (view, &changed),
            place,
            write,
            evaluator,
            laboratory,
        )?);
        course.world.apply(&changed, place.writer, write.end);
        course.doubt = course.doubt.or(takes_some.then_some(Unjudged::SomeRows));
        Ok(Next::Courses(vec![course]))
    }

    /// The rows that an UPDATE has counted and left as they were: where those are counted, they have a new version.
    fn untouched(
        &self,
        course: &Course,
        (view, changed): (&View, &[Change]),
        place: Place,
        write: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Vec<Change>, RunError> {
        let counted = write.reply.ok().and_then(|answer| answer.affected).unwrap_or(0);
        let shape = evaluator.shape(write.sql);
        let shape = shape.filter(|shape| {
            write.kind == StatementKind::Update && !shape.has_subquery && !shape.names_table_again
        });
        let Some(shape) = shape.filter(|_| counted > changed.len() as u64) else {
            return Ok(Vec::new());
        };
        let session = self.transactions[place.writer].session;
        let others = course.world.contents(view);
        let state = &course.world.state;
        let mut found = Vec::new();
        for (&at, values) in &view.0 {
            let table = state.rows[at].table;
            let is_changed =
                changed.iter().any(|one| matches!(one, Change::Row(row, _) if *row == at));
            if is_changed || !state.tables[table].eq_ignore_ascii_case(&shape.table) {
                continue;
            }
            let effect =
                evaluator.on_row(session, write.sql, table, values, &others, laboratory)?;
            if effect.is_ok_and(|effect| effect.affected > 0) {
                found.push(Change::Row(at, Some(values.clone())));
            }
        }
        Ok(found)
    }

    /// Whether a write may look at versions that are not committed, which are not all followed.
    fn sees_uncommitted(&self, writer: Writer, write: &Performed<'_>) -> bool {
        let excuse = |deviation| {
            let word = WriteWord::of(&write.kind)?;
            self.documented(writer).excuse(word, deviation)
        };
        let has_subquery = self.known.traits(write.sql).has_subquery;
        excuse(Deviation::Held).is_some()
            || (has_subquery && excuse(Deviation::Uncommitted).is_some())
    }

    /// What explains that a write has left these rows alone, if no page of the vendor does.
    fn needs(&self, documented: &DocumentedWrites<'_>, left: &[LeftAlone]) -> Option<Needed> {
        left.iter().find_map(|one| {
            let exception = documented.excuse(one.word, one.kind)?;
            let is_documented = exception.is_documented();
            (!is_documented).then(|| Needed::of(exception, one.sentence(self.run), false))
        })
    }

    /// Follows a write by the versions that it may have met.
    fn row_by_row(
        &self,
        course: Course,
        place: Place,
        write: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Next, RunError> {
        let all: Vec<&Transaction<'r>> = self.transactions.iter().collect();
        let snapshots = (0..all.len()).map(|writer| {
            let first = all[writer].first_look().map_or(all[writer].began, |first| first.start);
            course.snapshots.get(&writer).copied().unwrap_or(first)
        });
        let looks_dirty = self.sees_uncommitted(place.writer, write);
        let documented = self.documented(place.writer);
        let simulation = Simulation::new(self.run, &all, documented, looks_dirty);
        let simulation = simulation.with_snapshots(snapshots.collect());
        let state = &course.world.state;
        let branches =
            match simulation.branches(state, place.writer, write, evaluator, laboratory)? {
                Ok(branches) => branches,
                Err(reason) => return Ok(Next::Unjudged(reason.into())),
            };
        let mut next: Vec<Course> = Vec::new();
        if branches.next.is_empty() {
            if let Some(reason) = branches.other {
                return Ok(Next::Unjudged(reason.into()));
            }
            if looks_dirty {
                return Ok(Next::Unjudged(Unjudged::MetOthers));
            }
            let because = Some(branches.failure(write));
            return Ok(wrong(place, course, None, because));
        }
        let (right, passed): (Vec<_>, Vec<_>) =
            branches.next.into_iter().partition(|(_, left)| !forbids(documented, left));
        if let (true, Some((_, left))) = (right.is_empty(), passed.first()) {
            let told: Vec<String> = left.iter().map(|one| one.sentence(self.run)).collect();
            let reason = branches.other.map(|reason| Next::Unjudged(reason.into()));
            return Ok(reason.unwrap_or_else(|| wrong(place, course, None, Some(told.join("; ")))));
        }
        for (state, left) in right {
            let needed = Needed::worse(course.needed.clone(), self.needs(documented, &left));
            let world = World { state };
            next.push(Course { world, needed, ..course.clone() });
        }
        next.sort_by_key(|course| course.needed.is_some());
        if let Some(reason) = branches.other {
            next.push(self.without_write(course, write, reason.into()));
        }
        Ok(Next::Courses(next))
    }
}

/// The end of a course: the write did what no view gives.
fn wrong(
    place: Place,
    course: Course,
    difference: Option<AnswerDifference>,
    because: Option<String>,
) -> Next {
    let (Place { at, writer, statement }, sight) = (place, None);
    let (place, name) = (Some((writer, statement)), Some(WRONG_WRITE));
    let failure = Failure { at, place, name, course, sight, difference, because, cause: None };
    Next::Nowhere(Box::new(failure))
}

/// Whether a write cannot have left these rows alone: what it examines stays locked, gaps included, and nothing else is
/// documented.
fn forbids(documented: &DocumentedWrites<'_>, left: &[LeftAlone]) -> bool {
    let is_passed =
        |kind| matches!(kind, Deviation::Inserted | Deviation::Released | Deviation::Locked);
    documented.claims.order == SerialOrder::Commit
        && left
            .iter()
            .any(|one| is_passed(one.kind) && documented.excuse(one.word, one.kind).is_none())
}
