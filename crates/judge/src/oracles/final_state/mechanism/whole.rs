//! What a write may have done that cannot be taken apart into rows: it reads the table that it writes, or foreign keys
//! change rows of other tables by themselves. It is executed on complete tables.
//!
//! Idea: if nothing was committed while it ran, there is just one state that it can have seen. Otherwise it may have
//! seen each of those in between; if none of them gives what was observed, it may also have seen some of each, and
//! nothing is said.

use anchorite_claims::{Deviation, WriteView, WriteWord};
use anchorite_model::{Rows, RunError};

use super::dirty::uncommitted;
use super::simulate::{Branches, LeftAlone, Outer, Simulation};
use super::successors::{Turned, exchanged};
use super::unfollowed::Unfollowed;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{State, Writer};
use crate::laboratory::Laboratory;

impl<'r> Simulation<'_, 'r> {
    /// The states that a write may lead to which is executed on whole tables. One that is not exact (LIMIT) may change
    /// others of the rows that match, so that nothing is said if none of these states fits.
    pub(super) fn whole(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'r>,
        is_exact: bool,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Branches> {
        let session = self.followed[writer].session;
        let views = self.views(state, writer, statement);
        let dirty = self.dirty(state, writer, statement, evaluator);
        let mut branches = Branches::default();
        let latest = state.view(writer, statement.end);
        let committed = views.iter().map(|view| (view, earlier(statement)));
        let dirty_ones = dirty.views.iter().map(|view| (view, uncommitted(statement)));
        for (view, deviation) in committed.chain(dirty_ones) {
            let Ok(after) = evaluator.on(session, statement.sql, view, laboratory)? else {
                return Ok(Err(Unfollowed::Untried));
            };
            if !statement.reply.is_ok_and(|answer| after.agrees(answer)) {
                continue;
            }
            let after = after.tables.into_iter().enumerate().map(|(at, (_, rows))| (at, rows.rows));
            let left = if *view == latest { Vec::new() } else { vec![deviation] };
            let after = Turned { before: view, after: &after.collect() };
            let Some(next) = after.replaced(state, writer, statement, evaluator) else {
                return Ok(Err(Unfollowed::WholeTables));
            };
            branches.next.extend(next.into_iter().map(|next| (next, left.clone())));
        }
        let begin = self.view_of(writer, statement).1;
        let is_quiet = state.commits_between(begin, statement.end).is_empty();
        branches.other = match () {
            () if !is_exact => Some(Unfollowed::Complex),
            () if !is_quiet => Some(Unfollowed::WholeTables),
            () if !dirty.views.is_empty() => Some(Unfollowed::DirtyTable),
            () => dirty.other,
        };
        Ok(Ok(branches))
    }

    /// Whether a write changes rows of other tables, by foreign keys, in a state that it may have seen.
    pub(super) fn sets_off_actions(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'r>,
        table: usize,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<bool, RunError> {
        let begin = self.view_of(writer, statement).1;
        let later = state.commits_between(begin, statement.end);
        for moment in std::iter::once(begin).chain(later) {
            let view = state.view(writer, moment);
            let session = self.followed[writer].session;
            let Ok(after) = evaluator.on(session, statement.sql, &view, laboratory)? else {
                return Ok(true);
            };
            let is_changed = |(at, rows): (usize, &(String, Rows))| {
                let old = view.get(&at).cloned().unwrap_or_default();
                at != table && exchanged(old, &rows.1.rows) != (Vec::new(), Vec::new())
            };
            if after.tables.iter().enumerate().any(is_changed) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What a write can have seen as a whole, latest first.
    pub(super) fn views(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
    ) -> Vec<Contents> {
        let (sees, begin) = self.view_of(writer, statement);
        let mut moments = vec![begin];
        if matches!(sees, WriteView::Latest | WriteView::Retried) {
            moments.extend(state.commits_between(begin, statement.end));
        }
        let mut views: Vec<Contents> = Vec::new();
        for moment in moments.into_iter().rev() {
            let view = state.view(writer, moment);
            if !views.contains(&view) {
                views.push(view);
            }
        }
        views
    }
}

/// The deviation of a write whose query saw an earlier state.
pub(super) fn earlier(statement: &Performed<'_>) -> LeftAlone {
    let word = WriteWord::of(&statement.kind).unwrap_or(WriteWord::Insert);
    let row = "what its query would find".to_owned();
    LeftAlone { n: statement.n, word, kind: Deviation::Earlier, row, is_certain: true }
}
