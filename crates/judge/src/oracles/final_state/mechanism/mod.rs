//! Whether the documented mechanism explains, row by row, a run that no serial order explains.
//!
//! Idea: below serializable a write may see some rows as they were before another transaction and some as
//! they are after it, and the vendors document how. So the run is followed once more, statement by
//! statement in the order in which they ended, with the versions of every row. For each row that a write
//! could see, the versions that it could see while it ran are known:
//!
//! * it matches all of them: the write must change the row, whatever the timing;
//! * it matches none of them: the write must leave it unchanged;
//! * it matches some: either may happen, and leaving it unchanged is a *deviation* that needs a documented exception
//!   (`semi-consistent-read`, `no-gap-locks`, …).
//!
//! A new version is always made from the latest one, because the row is locked by then. If some choice
//! gives the affected counts and the final state that were observed, the deviations in it are the
//! explanation; if none does, the run is wrong. So an exception excuses only what it is about.
//!
//! Source: Troc's views, reduced to writes; the must/may rule is ours. The DBMS itself is asked what a statement does
//! with a row, by running the statement on a table with just that row.
//!
//! Assumption: a write's effect on a row depends on that row and, through subqueries, on other tables. Blind spot:
//! subqueries on the written table itself, several written tables, cascades, DDL in the schedule: there it is
//! undecided.

mod change;
mod insert;
mod retried;
mod scan;
mod simulate;
mod snapshots;
mod together;
mod treatment;
mod unfollowed;
mod whole;

/// Takes the value out of a double result, or returns the inner error.
macro_rules! inner {
    ($value:expr) => {
        match $value? {
            Ok(value) => value,
            Err(reason) => return Ok(Err(reason)),
        }
    };
}
use inner;

use anchorite_claims::{Deviation, DocumentedWrites, Exception, WriteWord};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Run, RunError};

use crate::evidence::Evidence;
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::words::abridged;
use crate::laboratory::Laboratory;
use anchorite_sql::write_shape;
use simulate::{Course, Simulation};
pub use unfollowed::Unfollowed;

/// What the mechanism says.
pub enum Explanation<'c> {
    /// It gives exactly what was observed.
    Documented {
        /// The exception that is needed; of several, one that no page documents.
        exception: &'c Exception,
        /// Where it is needed, a sentence each.
        because: Vec<String>,
    },
    /// It cannot give what was observed.
    Impossible(Vec<String>),
    /// The run contains something that is not followed.
    CannotTell(Unfollowed),
}

/// Looks for a course of events within the documented mechanism that ends as the run did.
pub fn explain<'a, 'c>(
    evidence: &Evidence<'a>,
    transactions: &[Transaction<'a>],
    documented: &DocumentedWrites<'c>,
    laboratory: &mut Laboratory<'_>,
) -> Result<Explanation<'c>, RunError> {
    let run = evidence.run;
    let mut writes = transactions.iter().filter(|transaction| transaction.committed);
    let is_ddl = |statement: &Performed<'_>| statement.kind == StatementKind::Ddl;
    if writes.any(|transaction| transaction.statements.iter().any(is_ddl)) {
        return Ok(Explanation::CannotTell(Unfollowed::Ddl));
    }
    if may_read_dirty(run, transactions, documented) {
        return Ok(Explanation::CannotTell(Unfollowed::DirtyQuery));
    }
    let Ok(mut evaluator) = evidence.evaluator() else {
        return Ok(Explanation::CannotTell(Unfollowed::SetUp));
    };
    let Some(alternatives) = together::alternatives(run, transactions) else {
        return Ok(Explanation::CannotTell(Unfollowed::Together));
    };
    let initial = evidence.initial(laboratory)?;
    let mut courses = Vec::new();
    let mut unfollowed = None;
    for transactions in &alternatives {
        let committed: Vec<&Transaction<'_>> =
            transactions.iter().filter(|transaction| transaction.committed).collect();
        let mut simulation = Simulation::new(run, &committed, documented);
        match simulation.courses(initial, &mut evaluator, laboratory)? {
            Ok(more) => courses.extend(more),
            Err(reason) => unfollowed = Some(reason),
        }
    }
    Ok(match (conclude(run, &courses, documented), unfollowed) {
        (documented @ Explanation::Documented { .. }, _) => documented,
        (_, Some(reason)) => Explanation::CannotTell(reason),
        (Explanation::Impossible(_), _) if unseen_versions(run, transactions, documented) => {
            Explanation::CannotTell(Unfollowed::UnseenVersions)
        }
        (explanation, _) => explanation,
    })
}

/// If an UPDATE may check rows by uncommitted versions: whether some that are not followed were in its table while it
/// ran. They are made by writes that are undone later, and by those that have done a part of their work and wait.
fn unseen_versions(
    run: &Run,
    transactions: &[Transaction<'_>],
    documented: &DocumentedWrites<'_>,
) -> bool {
    if documented.excuse(WriteWord::Update, Deviation::Held).is_none() {
        return false;
    }
    let dialect = run.target.product.dialect();
    let table = |statement: &Performed<'_>| write_shape(statement.sql, dialect).map(|it| it.table);
    let is_elsewhere =
        |a: &Performed<'_>, b: &Performed<'_>| table(a).zip(table(b)).is_some_and(|(a, b)| a != b);
    let makes_none = |write: &Performed<'_>| write.reply.is_ok_and(|it| it.affected == Some(0));
    let mut updates = transactions.iter().filter(|own| own.committed).flat_map(|own| {
        let is_update = |statement: &&Performed<'_>| statement.kind == StatementKind::Update;
        own.statements.iter().filter(is_update).map(move |update| (own.session, update))
    });
    updates.any(|(session, update)| {
        let others = transactions.iter().filter(|other| other.session != session);
        others.into_iter().any(|other| {
            other.statements.iter().filter(|write| write.is_write()).any(|write| {
                let until = match write.undone || !other.committed {
                    true => Some(other.ended),
                    false => write.waited.then_some(write.end),
                };
                let overlaps =
                    write.start < update.end && until.is_some_and(|end| end > update.start);
                overlaps && !makes_none(write) && !is_elsewhere(write, update)
            })
        })
    })
}

/// Whether there are queries inside writes that may read uncommitted data: what they read is not known.
fn may_read_dirty(
    run: &Run,
    transactions: &[Transaction<'_>],
    documented: &DocumentedWrites<'_>,
) -> bool {
    let dialect = run.target.product.dialect();
    let committed = transactions.iter().filter(|transaction| transaction.committed);
    let mut writes = committed.flat_map(|transaction| &transaction.statements);
    writes.any(|statement| {
        let queries = || write_shape(statement.sql, dialect).is_none_or(|shape| shape.has_subquery);
        let excuse = |word| documented.excuse(word, Deviation::Uncommitted);
        WriteWord::of(&statement.kind).and_then(excuse).is_some() && queries()
    })
}

fn conclude<'c>(
    run: &Run,
    courses: &[Course],
    documented: &DocumentedWrites<'c>,
) -> Explanation<'c> {
    let arrived = courses.iter().filter(|course| course.failure.is_none());
    let is_certain = |course: &&Course| course.deviations.iter().all(|left| left.is_certain);
    let excused = arrived.clone().filter(is_certain);
    let excused = excused.filter_map(|course| excuse(run, course, documented));
    if let Some((exception, because)) = excused.min_by_key(|(found, _)| !found.is_documented()) {
        return Explanation::Documented { exception, because };
    }
    if arrived.clone().any(|course| excuse(run, course, documented).is_some()) {
        return Explanation::CannotTell(Unfollowed::ScanOrder);
    }
    if let Some(reason) = courses.iter().find_map(|course| course.unfollowed) {
        return Explanation::CannotTell(reason);
    }
    if let Some(course) = arrived.clone().next() {
        return Explanation::Impossible(
            course.deviations.iter().map(|deviation| deviation.sentence(run)).collect(),
        );
    }
    let because = courses.iter().filter_map(|course| course.failure.clone()).take(1).collect();
    Explanation::Impossible(because)
}

/// The exception for every deviation of a course; if there are no deviations, the cause is that another transaction
/// committed between two statements, which no serial order gives.
fn excuse<'c>(
    run: &Run,
    course: &Course,
    documented: &DocumentedWrites<'c>,
) -> Option<(&'c Exception, Vec<String>)> {
    if course.deviations.is_empty() {
        let between = documented.exceptions.iter().copied();
        let between = between.filter(|exception| exception.rows.contains(&Deviation::Between));
        let exception = between.min_by_key(|exception| !exception.is_documented())?;
        let because = "each statement by itself did what it should, but a transaction committed between two \
             statements of another one";
        return Some((exception, vec![because.to_owned(), exception_sentence(exception)]));
    }
    let mut exceptions = Vec::new();
    for deviation in &course.deviations {
        exceptions.push(documented.excuse(deviation.word, deviation.kind)?);
    }
    let mut because: Vec<String> =
        course.deviations.iter().map(|deviation| deviation.sentence(run)).collect();
    let decisive = exceptions.into_iter().min_by_key(|exception| exception.is_documented())?;
    because.push(exception_sentence(decisive));
    Some((decisive, because))
}

/// What the vendor says, and where; or that it does not.
pub(super) fn exception_sentence(exception: &Exception) -> String {
    let Exception { name, says, url, .. } = exception;
    match &exception.quote {
        Some(quote) => {
            format!("documented as {name}: {says} \u{201c}{}\u{201d} ({url})", quote.words)
        }
        None => {
            format!("explained as {name}, which no page of the vendor documents: {says} ({url})")
        }
    }
}

impl simulate::LeftAlone {
    fn sentence(&self, run: &Run) -> String {
        let sql = &run.case.steps[self.n - 1].statement.sql;
        let when = match self.kind {
            Deviation::Locked => {
                "which another transaction had changed and not yet committed when it began"
            }
            Deviation::Inserted => "which was not there when it began",
            Deviation::Released => "which another transaction changed after it had not matched",
            Deviation::Earlier => "which another transaction committed while it ran",
            Deviation::Between => "which another transaction committed in between",
            Deviation::Uncommitted => "which another transaction had not committed",
            Deviation::Held => {
                "of which another transaction had made a version that does not match"
            }
            Deviation::Nested | Deviation::Unkept | Deviation::Failed => "which it did not lock",
        };
        format!("step {} ({}) left {} alone, {when}", self.n, abridged(sql), self.row)
    }
}
