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
//! Where versions count that nobody has committed (read uncommitted), and what is committed explains nothing, the run
//! is followed once more with all transactions, each until what it wrote is taken back.
//!
//! Assumption: a write's effect on a row depends on that row and, through subqueries, on other tables. Blind spot:
//! subqueries on the written table itself, several written tables, cascades, DDL in the schedule: there it is
//! undecided.

mod asked;
mod change;
mod dirty;
mod held;
mod insert;
mod own_table;
mod plan;
mod retried;
mod scan;
mod scanned;
pub(in crate::oracles) mod simulate;
mod snapshots;
mod successors;
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

use std::collections::BTreeSet;

use anchorite_claims::{Deviation, DocumentedWrites, Exception, WriteView};
use anchorite_model::sql::StatementKind;
use anchorite_model::{Rows, Run, RunError};
use anchorite_sql::search::Search;

use crate::evidence::Evidence;
use crate::evidence::evaluator::Evaluator;
use crate::evidence::index_ddl::is_of_index;
use crate::evidence::together;
use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::words::abridged;
use crate::laboratory::Laboratory;
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
    // Only a scan of the latest versions depends on the way by which rows are found.
    let passes_over = |statement: &Performed<'_>| {
        documented.claims.sees == WriteView::StatementSnapshot && is_of_index(run, statement)
    };
    let is_ddl =
        |statement: &Performed<'_>| statement.kind == StatementKind::Ddl && !passes_over(statement);
    if writes.any(|transaction| transaction.statements.iter().any(is_ddl)) {
        return Ok(Explanation::CannotTell(Unfollowed::Ddl));
    }
    let Ok(mut evaluator) = evidence.evaluator() else {
        return Ok(Explanation::CannotTell(Unfollowed::SetUp));
    };
    let Some(alternatives) = together::alternatives(run, transactions) else {
        return Ok(Explanation::CannotTell(Unfollowed::Together));
    };
    let initial = evidence.initial(laboratory)?;
    let course = Followed { run, documented, alternatives: &alternatives, initial };
    let by_committed = course.explanation(false, &mut evaluator, laboratory)?;
    let counts = |deviation| documented.exceptions.iter().any(|it| it.rows.contains(&deviation));
    let is_dirty = counts(Deviation::Uncommitted) || counts(Deviation::Held);
    if !is_dirty || matches!(by_committed, Explanation::Documented { .. }) {
        return Ok(by_committed);
    }
    course.explanation(true, &mut evaluator, laboratory)
}

/// What is followed.
struct Followed<'f, 'r, 'c> {
    run: &'r Run,
    documented: &'f DocumentedWrites<'c>,
    /// The transactions, with each order in which they may have done their work.
    alternatives: &'f [Vec<Transaction<'r>>],
    initial: &'f [(String, Rows)],
}

impl<'r, 'c> Followed<'_, 'r, 'c> {
    /// What the mechanism says, with the versions that nobody committed or without them.
    fn explanation(
        &self,
        is_dirty: bool,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Explanation<'c>, RunError> {
        let mut courses = Vec::new();
        let mut unfollowed = None;
        for transactions in self.alternatives {
            let followed: Vec<&Transaction<'_>> =
                transactions.iter().filter(|one| is_dirty || one.committed).collect();
            let mut simulation = Simulation::new(self.run, &followed, self.documented, is_dirty);
            match simulation.courses(self.initial, evaluator, laboratory)? {
                Ok(more) => courses.extend(more),
                Err(reason) => unfollowed = Some(reason),
            }
        }
        let scans = self.scans(&courses, evaluator, laboratory)?;
        let ending = Ending { run: self.run, documented: self.documented, evaluator, scans };
        Ok(match (ending.conclude(&courses), unfollowed) {
            (documented @ Explanation::Documented { .. }, _) => documented,
            (_, Some(reason)) => Explanation::CannotTell(reason),
            (explanation, None) => explanation,
        })
    }
}

/// What the courses of a run are compared with.
struct Ending<'e, 'r, 'c> {
    run: &'r Run,
    documented: &'e DocumentedWrites<'c>,
    evaluator: &'e Evaluator<'r>,
    /// The statements of which the DBMS says that they scan their table.
    scans: BTreeSet<usize>,
}

/// What explains a course.
struct Excuse<'c> {
    /// The decisive exception: of several, one that no page documents.
    exception: &'c Exception,
    because: Vec<String>,
    /// Why it may not explain it, after all.
    doubt: Option<Unfollowed>,
}

impl<'c> Ending<'_, '_, 'c> {
    fn conclude(&self, courses: &[Course]) -> Explanation<'c> {
        let arrived = courses.iter().filter(|course| course.failure.is_none());
        let excuses: Vec<Excuse<'c>> =
            arrived.clone().filter_map(|course| self.excuse(course)).collect();
        let doubt = excuses.iter().find_map(|excuse| excuse.doubt);
        let certain = excuses.into_iter().filter(|excuse| excuse.doubt.is_none());
        if let Some(Excuse { exception, because, .. }) =
            certain.min_by_key(|excuse| !excuse.exception.is_documented())
        {
            return Explanation::Documented { exception, because };
        }
        let unfollowed = || courses.iter().find_map(|course| course.unfollowed);
        if let Some(reason) = doubt.or_else(unfollowed) {
            return Explanation::CannotTell(reason);
        }
        let sentences = |course: &Course| {
            course.deviations.iter().map(|deviation| deviation.sentence(self.run)).collect()
        };
        if let Some(course) = arrived.clone().next() {
            return Explanation::Impossible(sentences(course));
        }
        let because = courses.iter().filter_map(|course| course.failure.clone()).take(1).collect();
        Explanation::Impossible(because)
    }

    /// The exception for every deviation of a course; if there are no deviations, the cause is that another transaction
    /// committed between two statements, which no serial order gives.
    fn excuse(&self, course: &Course) -> Option<Excuse<'c>> {
        if course.deviations.is_empty() {
            let between = self.documented.exceptions.iter().copied();
            let between = between.filter(|exception| exception.rows.contains(&Deviation::Between));
            let exception = between.min_by_key(|exception| !exception.is_documented())?;
            let because = "each statement by itself did what it should, but a transaction committed between two \
                 statements of another one";
            let because = vec![because.to_owned(), exception_sentence(exception)];
            return Some(Excuse { exception, because, doubt: None });
        }
        let mut exceptions = Vec::new();
        let mut doubt = None;
        for deviation in &course.deviations {
            let (exception, of_path) = self.excuse_of(deviation)?;
            exceptions.push(exception);
            doubt = doubt.or(of_path).or((!deviation.is_certain).then_some(Unfollowed::ScanOrder));
        }
        let mut because: Vec<String> =
            course.deviations.iter().map(|deviation| deviation.sentence(self.run)).collect();
        let exception = exceptions.into_iter().min_by_key(|exception| exception.is_documented())?;
        because.push(exception_sentence(exception));
        Some(Excuse { exception, because, doubt })
    }

    /// The exception for one deviation, and whether it is in doubt because of the path to the row.
    fn excuse_of(
        &self,
        deviation: &simulate::LeftAlone,
    ) -> Option<(&'c Exception, Option<Unfollowed>)> {
        let exception = self.documented.excuse(deviation.word, deviation.kind)?;
        let sql = &self.run.case.steps[deviation.n - 1].statement.sql;
        match self.evaluator.search(sql) {
            Search::Unique if exception.scan => None,
            Search::Unknown if exception.scan && !self.scans.contains(&deviation.n) => {
                Some((exception, Some(Unfollowed::Search)))
            }
            _ => Some((exception, None)),
        }
    }
}

/// What the vendor says, and where; or that it does not.
pub(in crate::oracles) fn exception_sentence(exception: &Exception) -> String {
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
    /// What was left alone, and how it came to that.
    pub fn sentence(&self, run: &Run) -> String {
        let sql = &run.case.steps[self.n - 1].statement.sql;
        if self.kind == Deviation::Uncommitted {
            let did = format!("step {} ({})", self.n, abridged(sql));
            return format!("a query inside {did} read what another transaction had not committed");
        }
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
            Deviation::Nested
            | Deviation::Unkept
            | Deviation::Failed
            | Deviation::Emptied
            | Deviation::Unchanged => "which it did not lock",
        };
        format!("step {} ({}) left {} alone, {when}", self.n, abridged(sql), self.row)
    }
}
