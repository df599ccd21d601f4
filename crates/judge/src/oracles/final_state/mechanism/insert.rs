//! What an INSERT or REPLACE may have done. It is executed on everything that it can see: keys are always checked
//! against the latest versions, while a query inside may have read earlier ones.

use anchorite_claims::WriteView;
use anchorite_model::Value;

use super::dirty::uncommitted;
use super::simulate::{Branches, LeftAlone, Outer, Simulation, made};
use super::successors::exchanged;
use super::unfollowed::Unfollowed;
use super::whole::earlier;
use crate::evidence::evaluator::{Contents, Evaluator, Untried};
use crate::evidence::transactions::{Performed, is_optimistic};
use crate::evidence::versions::{Row, State, Writer};
use crate::laboratory::Laboratory;
use anchorite_sql::WriteShape;

impl<'r> Simulation<'_, 'r> {
    /// The states that an INSERT or REPLACE may lead to.
    pub(super) fn insert(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'r>,
        shape: &WriteShape,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Branches> {
        let table = state.tables.iter().position(|name| *name == shape.table);
        let Some(table) = table else { return Ok(Err(Unfollowed::NoTable)) };
        let session = self.followed[writer].session;
        let mut branches = Branches::default();
        let (sees, begin) = self.view_of(writer, statement);
        // The rows are those of the snapshot, and they were inserted: so they met no keys.
        let mut is_read_once = shape.names_table_again
            && !shape.yields_to_keys
            && matches!(sees, WriteView::StatementSnapshot | WriteView::TransactionSnapshot);
        let sights = self.sights(state, writer, statement, shape, table);
        let dirty = self.dirty(state, writer, statement, evaluator);
        let is_one =
            if self.reads_dirty(statement) { !dirty.is_changing } else { sights.len() == 1 };
        let latest = state.view(writer, statement.end);
        let dirty_ones = dirty.views.iter().map(|view| {
            let view = view.clone();
            let view = if shape.names_table_again { view } else { with(view, &latest, table) };
            (view, vec![uncommitted(statement)])
        });
        for (before, left) in sights.into_iter().chain(dirty_ones) {
            let after = evaluator.on(session, statement.sql, &before, laboratory)?;
            let after = match after {
                Ok(after) => after,
                Err(Untried::Statement) => {
                    is_read_once = false;
                    continue;
                }
                Err(_) => return Ok(Err(Unfollowed::Untried)),
            };
            if !statement.reply.is_ok_and(|answer| after.agrees(answer)) {
                continue;
            }
            let old = before.get(&table).cloned().unwrap_or_default();
            let (gone, added) = exchanged(old, &after.tables[table].1.rows);
            let updates = shape.updates_on_conflict;
            let change = Change { table, gone, added, updates };
            if let Some(next) = change.apply(state, writer, statement, evaluator) {
                branches.next.push((next, left));
            }
        }
        let met = |moment| state.view(writer, moment).remove(&table);
        let is_quiet = met(begin) == met(statement.end) || is_read_once;
        branches.other = match () {
            // It checks keys in its snapshot, and again when it commits.
            () if self.followed[writer].begin.is_some_and(is_optimistic) => {
                Some(Unfollowed::Optimistic)
            }
            // Keys are those of the end, while its query may have found others.
            () if shape.has_subquery && !(is_one && (is_quiet || !shape.names_table_again)) => {
                Some(Unfollowed::InsertRead)
            }
            () if shape.several_rows && !is_quiet => Some(Unfollowed::InsertRows),
            () if shape.names_table_again && !dirty.views.is_empty() => {
                Some(Unfollowed::DirtyTable)
            }
            () => dirty.other,
        };
        Ok(Ok(branches))
    }

    /// The contents that the statement may have worked on, latest first: keys are those of its end, what its query
    /// finds is of some moment while it ran.
    fn sights(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
        shape: &WriteShape,
        table: usize,
    ) -> Vec<(Contents, Vec<LeftAlone>)> {
        let latest = state.view(writer, statement.end);
        if !shape.has_subquery {
            return vec![(latest, Vec::new())];
        }
        let (sees, _) = self.view_of(writer, statement);
        let is_locking = matches!(sees, WriteView::Latest | WriteView::Retried);
        let mut sights: Vec<(Contents, Vec<LeftAlone>)> = Vec::new();
        for mut view in self.views(state, writer, statement) {
            if !shape.names_table_again {
                view = with(view, &latest, table);
            }
            let is_earlier = is_locking && view != latest;
            let left = is_earlier.then(|| earlier(statement)).into_iter().collect();
            if !sights.iter().any(|(known, _)| *known == view) {
                sights.push((view, left));
            }
        }
        sights
    }
}

/// A view with one table of another.
fn with(mut view: Contents, other: &Contents, table: usize) -> Contents {
    match other.get(&table) {
        Some(rows) => drop(view.insert(table, rows.clone())),
        None => drop(view.remove(&table)),
    }
    view
}

/// The changes to a table.
struct Change {
    table: usize,
    gone: Vec<Vec<Value>>,
    added: Vec<Vec<Value>>,
    /// Whether what is gone was changed into what is new, and not replaced by it.
    updates: bool,
}

impl Change {
    /// The state after it; `None` if it would change what another transaction has not committed yet, or what is not
    /// there any more.
    fn apply(
        mut self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
        evaluator: &Evaluator<'_>,
    ) -> Option<State> {
        let mut next = state.clone();
        let key = evaluator.primary_key(self.table);
        let is_single = self.gone.len() == 1 && self.added.len() == 1;
        for values in &self.gone {
            let seen = |row: &Row| row.visible(writer, statement.end) == Some(values);
            let row = next.rows.iter_mut().find(|row| row.table == self.table && seen(row))?;
            if row.held_by_others(writer).next().is_some() {
                return None;
            }
            let same = |new: &Vec<Value>| {
                is_single || !key.is_empty() && key.iter().all(|&at| new[at] == values[at])
            };
            let successor = self.added.iter().position(same).filter(|_| self.updates);
            let successor = successor.map(|at| self.added.swap_remove(at));
            row.versions.push(made(successor, writer, statement));
        }
        for values in self.added {
            next.rows.push(Row::new(self.table, made(Some(values), writer, statement)));
        }
        Some(next)
    }
}
