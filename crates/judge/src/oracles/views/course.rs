//! Follows a run through every course that its level permits.
//!
//! A course is one way in which everything may have happened: the rows with all their versions, and the snapshots. A
//! write leads to the states that it may have made, a read keeps the courses in which it sees what it returned. If at
//! least one course comes to the end, the run is right; if none does, the statement at which the last one ended is
//! wrong.

use anchorite_claims::{Claims, DocumentedWrites, ReadClaim, ReadKind, SnapshotTaken};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Cause, Run, RunError};

use super::names::{MISSING_LOCK, WRONG_END};
use super::seen::{Course, HalfDone, Needed, Sight, Unawaited};
use super::sight::snapshot_moments;
use super::statement::Known;
use super::unjudged::Unjudged;
use crate::evidence::actions::{Action, actions};
use crate::evidence::difference::AnswerDifference;
use crate::evidence::evaluator::{Evaluator, Question, Successive};
use crate::evidence::level_of_session;
use crate::evidence::transactions::{Performed, Transaction, is_optimistic};
use crate::evidence::versions::Writer;
use crate::evidence::words::spelled;
use crate::evidence::world::World;
use crate::laboratory::Laboratory;

/// The most steps of all courses together.
const STEPS_MAX: usize = 2_000;

/// A statement that no view explains.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The place of the action.
    pub at: usize,
    /// Whose statement it is, and its place in the transaction; `None`: the tables at the end.
    pub place: Option<(Writer, usize)>,
    /// What it is called, unless it is to be found out.
    pub name: Option<&'static str>,
    /// The course in which it was expected to do otherwise.
    pub course: Course,
    /// What it should have seen, for a read.
    pub sight: Option<Sight>,
    /// How the answer differs from what that gives.
    pub difference: Option<AnswerDifference>,
    /// Why, for a write that met others.
    pub because: Option<String>,
    /// What went wrong, where that is known already.
    pub cause: Option<Cause>,
}

impl Failure {
    /// The tables end otherwise than by what was done.
    fn of_end(at: usize, course: Course, because: String) -> Self {
        let name = Some(WRONG_END);
        let (place, sight, difference, because) = (None, None, None, Some(because));
        Self { at, place, name, course, sight, difference, because, cause: None }
    }

    /// A statement that had to wait.
    pub(super) fn of_lock(place: Place, course: Course, unawaited: Unawaited) -> Self {
        let Place { at, writer, statement } = place;
        let (place, name) = (Some((writer, statement)), Some(MISSING_LOCK));
        let (sight, difference) = (None, None);
        let (because, cause) = (Some(unawaited.told), Some(unawaited.cause));
        Self { at, place, name, course, sight, difference, because, cause }
    }
}

/// What following has come to.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// Whether a course came to the end, with everything judged.
    pub arrived: bool,
    /// What a course needs that comes to the end otherwise than promised.
    pub needed: Option<Needed>,
    /// Why others did not.
    pub unjudged: Option<Unjudged>,
    /// Where all others ended.
    pub failure: Option<Failure>,
}

impl Outcomes {
    /// Adds where one more course ended: the one that came furthest is told.
    fn note(&mut self, failure: Failure) {
        self.unjudged = self.unjudged.or(failure.course.unjudged);
        if self.failure.as_ref().is_none_or(|known| known.at < failure.at) {
            self.failure = Some(failure);
        }
    }
}

/// Who follows.
pub struct Following<'f, 'r> {
    pub run: &'r Run,
    pub claims: &'f Claims,
    /// What is documented about the writes of each session.
    pub documented: &'f [DocumentedWrites<'f>],
    pub transactions: &'f [Transaction<'r>],
    pub known: &'f Known<'r>,
}

/// Where a statement may lead.
pub enum Next {
    /// To these courses.
    Courses(Vec<Course>),
    /// Nowhere.
    Nowhere(Box<Failure>),
    /// It is not known where.
    Unjudged(Unjudged),
}

impl<'r> Following<'_, 'r> {
    /// Follows every course.
    pub fn outcomes(
        &self,
        initial: World,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Outcomes, RunError> {
        let all: Vec<&Transaction<'r>> = self.transactions.iter().collect();
        let actions = actions(&all, |statement| {
            statement.kind.writes() || matches!(statement.kind, StatementKind::Select { .. })
        });
        let first = Course::new(initial);
        self.look_ahead(first.clone(), &actions, evaluator, laboratory)?;
        let mut outcomes = Outcomes::default();
        let mut open = vec![(first, 0)];
        let mut steps = 0;
        while let Some((course, at)) = open.pop() {
            steps += 1;
            if steps > STEPS_MAX {
                outcomes.unjudged = Some(Unjudged::Courses);
                break;
            }
            let Some(action) = actions.get(at) else {
                if self.arrives(course, actions.len(), &mut outcomes) {
                    break;
                }
                continue;
            };
            match self.next(course.clone(), *action, at, evaluator, laboratory)? {
                Next::Courses(next) => {
                    open.extend(next.into_iter().rev().map(|course| (course, at + 1)));
                }
                Next::Unjudged(reason) => {
                    let course = self.without(course, *action, reason);
                    open.push((course, at + 1));
                }
                Next::Nowhere(failure) => outcomes.note(*failure),
            }
        }
        Ok(outcomes)
    }

    /// Whether a course ends as the run did, and everything in it was judged.
    fn arrives(&self, course: Course, at: usize, outcomes: &mut Outcomes) -> bool {
        let tables = self.run.final_state.iter().enumerate();
        let known = tables.filter(|(table, _)| !course.unknown.contains(table));
        let differing = known.filter_map(|(table, (name, rows))| {
            let mut seen: Vec<_> = rows.rows.iter().collect();
            seen.sort();
            let expected = course.world.state.committed_rows(table);
            (seen != expected).then(|| {
                let expected: Vec<_> = expected.into_iter().cloned().collect();
                let (rows, expected) = (spelled(&rows.rows), spelled(&expected));
                format!("table {name} ends with {rows}; by what was done, it has to be {expected}")
            })
        });
        let told: Vec<String> = differing.collect();
        let is_right = told.is_empty();
        match course.unjudged.or(course.doubt.filter(|_| !is_right)) {
            None if is_right && course.needed.is_some() => {
                outcomes.needed = Needed::milder(outcomes.needed.take(), course.needed);
            }
            None if is_right => outcomes.arrived = true,
            None => outcomes.note(Failure::of_end(at, course, told.join("; "))),
            Some(reason) => drop(outcomes.unjudged.get_or_insert(reason)),
        }
        outcomes.arrived
    }

    /// The course after a statement that is not judged: what it may have written is not known any more.
    fn without(&self, mut course: Course, action: Action, reason: Unjudged) -> Course {
        if let Action::Perform { writer, statement } = action {
            let performed = &self.transactions[writer].statements[statement];
            if performed.kind.writes() {
                course.unknown.extend(self.known.reach(performed.sql));
            }
        }
        course.unjudged.get_or_insert(reason);
        course
    }

    fn next(
        &self,
        mut course: Course,
        action: Action,
        at: usize,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Next, RunError> {
        match action {
            Action::Commit { writer } => {
                course.world.state.commit(writer, self.transactions[writer].ended);
                Ok(Next::Courses(vec![course]))
            }
            Action::TakeBack { writer, since, moment } => {
                course.world.state.take_back(writer, since, moment);
                Ok(Next::Courses(vec![course]))
            }
            Action::Perform { writer, statement } => {
                let performed = &self.transactions[writer].statements[statement];
                let place = Place { at, writer, statement };
                match performed.kind {
                    StatementKind::Select { .. } => {
                        self.read(course, place, performed, evaluator, laboratory)
                    }
                    _ => self.write(course, place, performed, evaluator, laboratory),
                }
            }
        }
    }

    /// What is documented about the writes of a transaction.
    pub fn documented(&self, writer: Writer) -> &DocumentedWrites<'_> {
        &self.documented[self.transactions[writer].session]
    }

    /// What is promised about reads of this kind.
    pub fn claim(&self, writer: Writer, kind: ReadKind) -> Option<&ReadClaim> {
        let transaction = &self.transactions[writer];
        let session = &self.run.sessions[transaction.session];
        let level = level_of_session(session)?;
        let kind = match (kind, transaction.begin) {
            (ReadKind::Plain, None) => ReadKind::Single,
            (ReadKind::Plain, Some(begin)) if is_optimistic(begin) => ReadKind::Optimistic,
            (kind, _) => kind,
        };
        let read_back = Some(session.level_read_back.as_str());
        self.claims.read_of_session(&self.run.target, level, read_back, kind)
    }

    /// Asks what will be asked on the most likely course, so that all reads are found out at once.
    fn look_ahead(
        &self,
        mut course: Course,
        actions: &[Action],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(), RunError> {
        self.perform_in_a_row(&course, actions, evaluator, laboratory)?;
        let mut questions = Vec::new();
        for (at, action) in actions.iter().enumerate() {
            if let Action::Perform { writer, statement } = *action {
                let read = &self.transactions[writer].statements[statement];
                let place = Place { at, writer, statement };
                if matches!(read.kind, StatementKind::Select { .. }) {
                    let traits = self.known.traits(read.sql);
                    let session = self.transactions[writer].session;
                    let sights = self
                        .sights(&course, place, read, &traits, (&HalfDone::default(), None))
                        .unwrap_or_default();
                    if let Some(moment) = sights.first().and_then(|sight| sight.snapshot) {
                        course.snapshots.insert(writer, moment);
                    }
                    questions.extend(sights.into_iter().take(2).map(|sight| Question {
                        session,
                        sql: read.sql,
                        contents: sight.contents,
                    }));
                    continue;
                }
            }
            match self.next(course.clone(), *action, at, evaluator, laboratory)? {
                Next::Courses(mut next) if !next.is_empty() => course = next.swap_remove(0),
                Next::Courses(_) | Next::Nowhere(_) => break,
                Next::Unjudged(reason) => course = self.without(course, *action, reason),
            }
        }
        evaluator.find_out_all(&questions, laboratory)
    }

    /// Performs what lasts in a row, which is how most statements saw it.
    fn perform_in_a_row(
        &self,
        course: &Course,
        actions: &[Action],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(), RunError> {
        let successive = actions.iter().filter_map(|action| {
            let Action::Perform { writer, statement } = *action else { return None };
            let transaction = &self.transactions[writer];
            let performed = &transaction.statements[statement];
            let traits = self.known.traits(performed.sql);
            let writes = performed.kind.writes();
            let lasts = transaction.committed || !writes;
            (lasts && performed.reply.is_ok() && traits.is_of_rows).then(|| Successive {
                session: transaction.session,
                sql: performed.sql,
                reach: self.known.filled_for(&traits),
                writes,
            })
        });
        let succession: Vec<Successive<'_>> = successive.collect();
        let all = course.world.view(|_, row| row.versions.last()?.values.as_ref());
        evaluator.find_out_in_a_row(&course.world.contents(&all), &succession, laboratory)
    }

    /// The snapshots that a transaction may have when a write needs one.
    pub fn with_snapshot(
        &self,
        course: &Course,
        place: Place,
        write: &Performed<'r>,
    ) -> Vec<Course> {
        let claim = self.claim(place.writer, ReadKind::Plain);
        let takes = claim.filter(|claim| {
            use SnapshotTaken::{Begin, FirstStatement};
            matches!(claim.taken, Some(Begin | FirstStatement))
        });
        let Some(claim) = takes.filter(|_| !course.snapshots.contains_key(&place.writer)) else {
            return vec![course.clone()];
        };
        let transaction = &self.transactions[place.writer];
        let moments = |from: usize, until: usize| {
            let later = course.world.state.commits_between(from, until);
            std::iter::once(from).chain(later).collect()
        };
        let moments =
            snapshot_moments(claim, transaction, write, self.known.waits_for_rows, &moments);
        let with = |moment: usize| {
            let mut course = course.clone();
            course.snapshots.insert(place.writer, moment);
            course
        };
        moments.into_iter().map(with).collect()
    }
}

/// Where a statement is.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The place of its action.
    pub at: usize,
    /// Whose it is.
    pub writer: Writer,
    /// Its place in the transaction.
    pub statement: usize,
}
