//! Failures that nobody else can have caused.
//!
//! Idea: a write that fails although no other transaction was open beside it has one view, like one that succeeds. It
//! is tried on that, and has to fail there with an error of the same class.
//!
//! Blind spot: why a statement failed while others were open; see the errors oracle.

use anchorite_model::{ErrorClass, Outcome, RunError};

use super::course::{Failure, Following, Next, Place};
use super::names::WRONG_FAILURE;
use super::seen::Course;
use super::unjudged::Unjudged;
use crate::evidence::difference::answers;
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::Evaluator;
use crate::evidence::transactions::{Performed, Transaction, is_optimistic};
use crate::evidence::versions::Writer;
use crate::laboratory::Laboratory;

impl<'r> Following<'_, 'r> {
    /// The course after a write that failed.
    pub(super) fn failed(
        &self,
        course: Course,
        place: Place,
        write: &Performed<'r>,
        reach: &[usize],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Next, RunError> {
        let unchanged = |course| Ok(Next::Courses(vec![course]));
        // A transaction that only reads refuses what is right outside of it.
        let only_reads = self.only_reads(place.writer);
        let is_own = matches!(write.reply, Err(error) if error.class == ErrorClass::Constraint
            || (error.class == ErrorClass::Other && !only_reads));
        let is_known = reach.iter().all(|table| !course.unknown.contains(table));
        let traits = self.known.traits(write.sql);
        if self.known.meets_ddl
            || !is_own
            || !is_known
            || !traits.is_of_rows
            || !self.is_alone(place.writer, write)
        {
            return unchanged(course);
        }
        let session = self.transactions[place.writer].session;
        let view = self.only_view(&course, place, write, reach);
        let Some((view, observed)) = view.zip(last_event(self.run, write.n)) else {
            return unchanged(course);
        };
        let contents = course.world.contents(&view);
        let tried = evaluator.tried(session, write.sql, &contents, laboratory)?;
        let difference =
            tried.as_ref().and_then(|(outcome, _)| answers(write.sql, &observed.outcome, outcome));
        Ok(match tried {
            _ if difference.is_none() => Next::Courses(vec![course]),
            Some((Outcome::Ok(_), _)) if self.known.defers => Next::Unjudged(Unjudged::Deferred),
            _ => {
                let Place { at, writer, statement } = place;
                let (place, name) = (Some((writer, statement)), Some(WRONG_FAILURE));
                let (sight, because, cause) = (None, None, None);
                let failure =
                    Failure { at, place, name, course, sight, difference, because, cause };
                Next::Nowhere(Box::new(failure))
            }
        })
    }

    /// Whether no other transaction was open beside a statement or since its own transaction began, nor did anything
    /// outside of one.
    fn is_alone(&self, writer: Writer, write: &Performed<'_>) -> bool {
        let own = &self.transactions[writer];
        let mut others = self.transactions.iter().enumerate().filter(|(at, _)| *at != writer);
        let is_beside =
            |other: &Transaction<'_>| other.began < write.end && other.ended > own.began;
        !own.begin.is_some_and(is_optimistic) && !others.any(|(_, other)| is_beside(other))
    }
}
