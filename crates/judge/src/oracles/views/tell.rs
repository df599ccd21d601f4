//! What is wrong with a statement, in words: what it saw, what it should have seen, and which other view gives what it
//! returned.

use anchorite_model::{Cause, Deed, Doer, Expected, Judgement, Rows, RunError, Verdict};

use super::course::{Failure, Following};
use super::names::{
    DIRTY, LATER, MISSED, MISSING_LOCK, OWN, STALE, WRONG_END, WRONG_FAILURE, WRONG_ROWS,
    WRONG_WRITE,
};
use super::read::kind_of;
use crate::evidence::difference::{AnswerDifference, answers};
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{Row, Version, Writer};
use crate::evidence::words::{abridged, tuple};
use crate::evidence::world::View;
use crate::laboratory::Laboratory;

impl<'r> Following<'_, 'r> {
    /// The judgement on a statement that no view explains.
    pub(super) fn judgement(
        &self,
        oracle: &str,
        failure: &Failure,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Judgement, RunError> {
        let Some((writer, statement)) = self.statement(failure) else {
            let because = failure.because.iter().cloned().collect();
            let mut judgement = Judgement::new(oracle, Verdict::broken(WRONG_END, because));
            judgement.expected = vec![self.right_end(failure)];
            return Ok(judgement);
        };
        let transaction = &self.transactions[writer];
        let step =
            format!("step {} of {} ({})", statement.n, transaction.name, abridged(statement.sql));
        let told = failure.difference.as_ref().map_or_else(
            || "failed when it was tried".to_owned(),
            |difference| difference.to_string(),
        );
        let first = failure.because.clone().unwrap_or_else(|| {
            format!("{step}: {told}; that is what the only view that it may have gives")
        });
        let (name, more, view) = match (failure.name, &failure.sight) {
            (Some(name), _) => (name, Vec::new(), None),
            (None, Some(_)) => self.diagnosis(failure, writer, statement, evaluator, laboratory)?,
            (None, None) => (WRONG_WRITE, Vec::new(), None),
        };
        let mut because: Vec<String> = std::iter::once(first).chain(more).collect();
        because.extend(self.promise(writer, statement));
        let expected = failure.sight.as_ref().map(|_| Expected {
            title: format!("what {} should have seen at step {}", transaction.name, statement.n),
            differences: failure.difference.iter().map(AnswerDifference::to_string).collect(),
            final_state: Vec::new(),
        });
        let mut judgement = Judgement::new(oracle, Verdict::broken(name, because));
        judgement.expected = expected.into_iter().collect();
        judgement.causes = self.cause(name, failure, writer, statement).into_iter().collect();
        if let (MISSED, Some(view), [cause]) = (name, &view, judgement.causes.as_mut_slice()) {
            cause.meanwhile = self.meanwhile(failure, (writer, statement), view, evaluator);
        }
        judgement.seen = view.map(|view| Box::new(self.seen(failure, writer, statement, &view)));
        Ok(judgement)
    }

    /// The statement that is wrong, and whose it is.
    fn statement(&self, failure: &Failure) -> Option<(Writer, &Performed<'r>)> {
        let (writer, statement) = failure.place?;
        Some((writer, &self.transactions[writer].statements[statement]))
    }

    /// The tables as they have to end.
    fn right_end(&self, failure: &Failure) -> Expected {
        let state = &failure.course.world.state;
        let tables = self.run.final_state.iter().enumerate().map(|(table, (name, shape))| {
            let rows = state.committed_rows(table).into_iter().cloned().collect();
            (name.clone(), Rows { rows, ..shape.clone() })
        });
        Expected {
            title: "what the statements have left".to_owned(),
            differences: failure.because.iter().cloned().collect(),
            final_state: tables.collect(),
        }
    }

    /// What went wrong, where a view says it; for writes the run is followed once more.
    fn cause(
        &self,
        name: &str,
        failure: &Failure,
        writer: Writer,
        statement: &Performed<'_>,
    ) -> Option<Cause> {
        let deed = match name {
            DIRTY => Deed::UncommittedVersionUsed,
            STALE => Deed::StaleVersionUsed,
            LATER => Deed::LaterVersionUsed,
            OWN => Deed::OwnWriteUnseen,
            MISSED => Deed::RowMissed,
            MISSING_LOCK => Deed::DidNotWait,
            WRONG_FAILURE => Deed::FailedWithoutCause,
            _ => return None,
        };
        let word = statement.sql.split_whitespace().next().unwrap_or_default();
        let doer = Doer {
            n: statement.n,
            transaction: self.transactions[writer].name.clone(),
            kind: word.to_uppercase(),
            path: None,
        };
        Some(Cause { statement: Some(doer), ..failure.cause.clone().unwrap_or(Cause::of(deed)) })
    }

    /// What the vendor promises about the read.
    fn promise(&self, writer: Writer, statement: &Performed<'_>) -> Option<String> {
        let claim = self.claim(writer, kind_of(statement)?)?;
        let quote = &claim.quote.words;
        Some(format!("promised: {} \u{201c}{quote}\u{201d} ({})", claim.says, claim.url))
    }

    /// Which other view gives what a read returned.
    fn diagnosis(
        &self,
        failure: &Failure,
        writer: Writer,
        read: &Performed<'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<(&'static str, Vec<String>, Option<View>), RunError> {
        let Some(observed) = last_event(self.run, read.n) else {
            return Ok((WRONG_ROWS, Vec::new(), None));
        };
        let reach = self.known.filled_for(&self.known.traits(read.sql));
        let session = self.transactions[writer].session;
        let others = self.other_views(failure, writer, read);
        let contents: Vec<Contents> = others
            .iter()
            .map(|(_, _, view)| {
                let mut contents = failure.course.world.contents(view);
                contents.retain(|table, _| reach.contains(table));
                contents
            })
            .collect();
        evaluator.find_out(session, read.sql, &contents, laboratory)?;
        for ((name, because, view), contents) in others.into_iter().zip(contents) {
            let tried = evaluator.tried(session, read.sql, &contents, laboratory)?;
            if tried.is_some_and(|(outcome, _)| {
                answers(read.sql, &observed.outcome, &outcome).is_none()
            }) {
                return Ok((name, vec![because], Some(view)));
            }
        }
        Ok((WRONG_ROWS, Vec::new(), None))
    }

    /// Views that it should not have had, the most telling first.
    fn other_views(
        &self,
        failure: &Failure,
        writer: Writer,
        read: &Performed<'r>,
    ) -> Vec<(&'static str, String, View)> {
        let world = &failure.course.world;
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
                let name = name_of(version, row, writer, right);
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

    fn told(&self, version: &Version) -> String {
        let values =
            version.values.as_ref().map_or_else(|| "no row".to_owned(), |values| tuple(values));
        let by =
            version.writer.map_or("the set-up", |writer| self.transactions[writer].name.as_str());
        format!("it saw {values}, by {by}")
    }
}

/// What it is called to have seen this version.
fn name_of(version: &Version, row: &Row, writer: Writer, right: usize) -> &'static str {
    let is_own = version.writer == Some(writer);
    match version.committed {
        None if is_own => OWN,
        None => DIRTY,
        Some(_) if row.own(writer).is_some() => OWN,
        Some(at) if at <= right => STALE,
        Some(_) => LATER,
    }
}
