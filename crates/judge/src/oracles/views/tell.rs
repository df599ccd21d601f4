//! What is wrong with a statement, in words: what it saw, what it should have seen, and which other view gives what it
//! returned.

use anchorite_model::{Cause, Deed, Doer, Expected, Judgement, RunError, Verdict};

use super::course::{Failure, Following};
use super::read::kind_of;
use crate::evidence::difference::{AnswerDifference, answers};
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{Row, Version};
use crate::evidence::words::{abridged, tuple};
use crate::evidence::world::View;
use crate::laboratory::Laboratory;

/// A read saw what nobody had committed.
pub const DIRTY: &str = "dirty read";
/// A read saw an older state than it should.
pub const STALE: &str = "stale read";
/// A read saw what was committed after its snapshot.
pub const LATER: &str = "non-repeatable read";
/// A read did not see what its own transaction had written.
pub const OWN: &str = "own write not seen";
/// A read did not return a row that every view of it has.
pub const MISSED: &str = "row missed";
/// A read returned what no state gives.
pub const WRONG_ROWS: &str = "wrong rows";
/// A write did what no view gives.
pub const WRONG_WRITE: &str = "wrong write";

impl<'r> Following<'_, 'r> {
    /// The judgement on a statement that no view explains.
    pub(super) fn judgement(
        &self,
        oracle: &str,
        failure: &Failure,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, RunError> {
        let transaction = &self.transactions[failure.writer];
        let statement = &transaction.statements[failure.statement];
        let step =
            format!("step {} of {} ({})", statement.n, transaction.name, abridged(statement.sql));
        let told = failure.difference.as_ref().map_or_else(
            || "failed when it was tried".to_owned(),
            |difference| difference.to_string(),
        );
        let first = failure.because.clone().unwrap_or_else(|| {
            format!("{step}: {told}; that is what the only view that it may have gives")
        });
        let (name, more) = match failure.sight {
            Some(_) => self.diagnosis(failure, statement, evaluator, laboratory)?,
            None => (WRONG_WRITE, Vec::new()),
        };
        let mut because: Vec<String> = std::iter::once(first).chain(more).collect();
        because.extend(self.promise(failure));
        let expected = failure.sight.as_ref().map(|_| Expected {
            title: format!("what {} should have seen at step {}", transaction.name, statement.n),
            differences: failure.difference.iter().map(AnswerDifference::to_string).collect(),
            final_state: Vec::new(),
        });
        let mut judgement = Judgement::new(oracle, Verdict::broken(name, because));
        judgement.expected = expected.into_iter().collect();
        judgement.causes = self.cause(name, failure).into_iter().collect();
        Ok(judgement)
    }

    /// What went wrong, where a view says it; for writes the run is followed once more.
    fn cause(&self, name: &str, failure: &Failure) -> Option<Cause> {
        let deed = match name {
            DIRTY => Deed::UncommittedVersionUsed,
            STALE => Deed::StaleVersionUsed,
            LATER => Deed::LaterVersionUsed,
            OWN => Deed::OwnWriteUnseen,
            MISSED => Deed::RowMissed,
            _ => return None,
        };
        let transaction = &self.transactions[failure.writer];
        let statement = &transaction.statements[failure.statement];
        let word = statement.sql.split_whitespace().next().unwrap_or_default();
        let doer = Doer {
            n: statement.n,
            transaction: transaction.name.clone(),
            kind: word.to_uppercase(),
            path: None,
        };
        Some(Cause { statement: Some(doer), ..Cause::of(deed) })
    }

    /// What the vendor promises about the read.
    fn promise(&self, failure: &Failure) -> Option<String> {
        let statement = &self.transactions[failure.writer].statements[failure.statement];
        let claim = self.claim(failure.writer, kind_of(statement)?)?;
        let quote = &claim.quote.words;
        Some(format!("promised: {} \u{201c}{quote}\u{201d} ({})", claim.says, claim.url))
    }

    /// Which other view gives what a read returned.
    fn diagnosis(
        &self,
        failure: &Failure,
        read: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(&'static str, Vec<String>), RunError> {
        let Some(observed) = last_event(self.run, read.n) else {
            return Ok((WRONG_ROWS, Vec::new()));
        };
        let reach = self.known.filled_for(&self.known.traits(read.sql));
        let session = self.transactions[failure.writer].session;
        let others = self.other_views(failure, read);
        let contents: Vec<Contents> = others
            .iter()
            .map(|(_, _, view)| {
                let mut contents = failure.course.world.contents(view);
                contents.retain(|table, _| reach.contains(table));
                contents
            })
            .collect();
        evaluator.find_out(session, read.sql, &contents, laboratory)?;
        for ((name, because, _), contents) in others.into_iter().zip(contents) {
            let tried = evaluator.tried(session, read.sql, &contents, laboratory)?;
            if tried.is_some_and(|(outcome, _)| {
                answers(read.sql, &observed.outcome, &outcome).is_none()
            }) {
                return Ok((name, vec![because]));
            }
        }
        Ok((WRONG_ROWS, Vec::new()))
    }

    /// Views that it should not have had, the most telling first.
    fn other_views(
        &self,
        failure: &Failure,
        read: &Performed<'r>,
    ) -> Vec<(&'static str, String, View)> {
        let world = &failure.course.world;
        let writer = failure.writer;
        let right = failure.sight.as_ref().and_then(|sight| sight.moment).unwrap_or(read.end);
        let mut found = Vec::new();
        for at in world.commits().into_iter().rev().filter(|at| *at != right) {
            let (name, told) = match at < right {
                true => (STALE, "an earlier state gives what it returned"),
                false => (LATER, "what was committed after its snapshot gives what it returned"),
            };
            found.push((name, told.to_owned(), world.seen_at(writer, at)));
        }
        let without_own = world.view(|_, row| row.committed_at(right)?.values.as_ref());
        found.push((
            OWN,
            "without what its own transaction has written, it gives what it returned".to_owned(),
            without_own,
        ));
        let dirty = world.view(|_, row| row.versions.last()?.values.as_ref());
        found.push((
            DIRTY,
            "what others have not committed gives what it returned".to_owned(),
            dirty,
        ));
        let view = world.seen_at(writer, right);
        for (at, row) in world.state.rows.iter().enumerate() {
            let undone = row.undone.iter().map(|(version, _)| version);
            for version in row.versions.iter().chain(undone) {
                let mut other = view.clone();
                match &version.values {
                    Some(values) => drop(other.0.insert(at, values.clone())),
                    None => drop(other.0.remove(&at)),
                }
                let name = self.name_of(version, row, failure, right);
                found.push((name, self.told(version), other));
            }
            let mut other = view.clone();
            other.0.remove(&at);
            let values = row.versions.last().and_then(|version| version.values.as_ref());
            let told =
                values.map_or_else(String::new, |values| format!("{} is missing", tuple(values)));
            found.push((MISSED, told, other));
        }
        found
    }

    fn name_of(
        &self,
        version: &Version,
        row: &Row,
        failure: &Failure,
        right: usize,
    ) -> &'static str {
        let is_own = version.writer == Some(failure.writer);
        match version.committed {
            None if is_own => OWN,
            None => DIRTY,
            Some(_) if row.own(failure.writer).is_some() => OWN,
            Some(at) if at <= right => STALE,
            Some(_) => LATER,
        }
    }

    fn told(&self, version: &Version) -> String {
        let values =
            version.values.as_ref().map_or_else(|| "no row".to_owned(), |values| tuple(values));
        let by =
            version.writer.map_or("the set-up", |writer| self.transactions[writer].name.as_str());
        format!("it saw {values}, by {by}")
    }
}
