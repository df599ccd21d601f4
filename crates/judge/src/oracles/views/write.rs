//! What a write may have done.
//!
//! If nothing else happened around it, there is one view that it can have seen: it is executed on that, as a whole.
//! Where others have committed while it ran, or hold rows, it is taken apart row by row, as the mechanism of the
//! final-state oracle does.

use anchorite_claims::{Deviation, WriteView};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Outcome, RunError};

use super::course::{Failure, Following, Next, Place};
use super::seen::Course;
use super::unjudged::Unjudged;
use crate::evidence::difference::answers;
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::{Performed, Transaction, is_optimistic};
use crate::evidence::versions::Row;
use crate::evidence::world::{View, World, changes};
use crate::laboratory::Laboratory;
use crate::oracles::final_state::mechanism::simulate::Simulation;

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
        if write.reply.is_err() {
            return Ok(Next::Courses(vec![course]));
        }
        let traits = self.known.traits(write.sql);
        let reach = self.known.filled_for(&traits);
        if !traits.is_of_rows {
            return Ok(Next::Unjudged(Unjudged::NotOnlyRows));
        }
        if reach.iter().any(|table| course.unknown.contains(table)) {
            return Ok(Next::Unjudged(Unjudged::UnknownTable));
        }
        if self.known.commit_under_way(write) {
            return Ok(Next::Unjudged(Unjudged::CommitUnderWay));
        }
        let (mut courses, mut failure, mut unjudged) = (Vec::new(), None, None);
        for course in self.with_snapshot(&course, place, write) {
            let next = match self.only_view(&course, place, write, &reach) {
                Some(view) => self.whole(course, &view, place, write, evaluator, laboratory)?,
                None => self.row_by_row(course, place, write, evaluator, laboratory)?,
            };
            match next {
                Next::Courses(next) => courses.extend(next),
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
    fn only_view(
        &self,
        course: &Course,
        place: Place,
        write: &Performed<'r>,
        reach: &[usize],
    ) -> Option<View> {
        let transaction = &self.transactions[place.writer];
        let optimistic = transaction.begin.is_some_and(is_optimistic);
        let sees = self.documented.claims.sees;
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
        (!is_held && !has_changed).then(|| {
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
        if difference.is_some() || !matches!(outcome, Outcome::Ok(_)) {
            if self.known.traits(write.sql).takes_some {
                return Ok(Next::Unjudged(Unjudged::SomeRows));
            }
            let Place { at, writer, statement } = place;
            let failure =
                Failure { at, writer, statement, course, sight: None, difference, because: None };
            return Ok(Next::Nowhere(Box::new(failure)));
        }
        let after: Contents =
            tables.into_iter().enumerate().map(|(at, (_, rows))| (at, rows.rows)).collect();
        let may_update = write.kind != StatementKind::Replace;
        let changed = changes(&course.world, view, &after, &self.known.unique_keys, may_update);
        course.world.apply(&changed, place.writer, write.end);
        Ok(Next::Courses(vec![course]))
    }

    /// Whether writes of the level may look at versions that are not committed, which are not all followed.
    fn sees_uncommitted(&self) -> bool {
        let mut excused = self.documented.exceptions.iter().flat_map(|exception| &exception.rows);
        excused.any(|row| matches!(row, Deviation::Uncommitted | Deviation::Held))
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
        let simulation = Simulation::new(self.run, &all, self.documented, self.sees_uncommitted());
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
            if self.sees_uncommitted() {
                return Ok(Next::Unjudged(Unjudged::MetOthers));
            }
            let because = Some(branches.failure(write));
            let Place { at, writer, statement } = place;
            let (sight, difference) = (None, None);
            let failure = Failure { at, writer, statement, course, sight, difference, because };
            return Ok(Next::Nowhere(Box::new(failure)));
        }
        for (state, _) in branches.next {
            next.push(Course { world: World { state }, ..course.clone() });
        }
        if let Some(reason) = branches.other {
            next.push(self.without_write(course, write, reason.into()));
        }
        Ok(Next::Courses(next))
    }
}
