//! What an INSERT or REPLACE may have done. It is executed on everything that it can see: keys are always checked
//! against the latest versions, while a query inside may have read earlier ones.

use anchorite_claims::WriteView;
use anchorite_model::{Rows, Value};

use super::dirty::{Dirty, uncommitted};
use super::simulate::{Branches, LeftAlone, Outer, Simulation, made};
use super::successors::{Turned, exchanged};
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
        let (sql, shape) = &self.apart(state, writer, statement, shape, table);
        let (sees, begin) = self.view_of(writer, statement);
        // The rows are those of the snapshot, and they were inserted: so they met no keys.
        let mut is_read_once = shape.names_table_again
            && !shape.yields_to_keys
            && matches!(sees, WriteView::StatementSnapshot | WriteView::TransactionSnapshot);
        let sights = self.sights(state, writer, statement, shape, table);
        let dirty = self.dirty(state, writer, statement, evaluator);
        let is_one =
            if self.reads_dirty(statement) { !dirty.is_changing } else { sights.len() == 1 };
        let mut acts = false;
        let latest = state.view(writer, statement.end);
        let dirty_ones = dirty.views.iter().map(|view| {
            let view = view.clone();
            let view = if shape.names_table_again { view } else { with(view, &latest, table) };
            (view, vec![uncommitted(statement)])
        });
        for (before, left) in sights.into_iter().chain(dirty_ones) {
            let after = evaluator.on(session, sql, &before, laboratory)?;
            let after = match after {
                Ok(after) => after,
                // By itself it may fail on what its transaction has mended before the COMMIT.
                Err(Untried::Statement) if !evaluator.checks_late() => {
                    is_read_once = false;
                    continue;
                }
                Err(_) => return Ok(Err(Unfollowed::Untried)),
            };
            if !statement.reply.is_ok_and(|answer| after.agrees(answer)) {
                continue;
            }
            let change = Change::between(&before, &after.tables, table, shape);
            acts |= change.acts();
            let Some(next) = change.applied(state, writer, statement, evaluator) else {
                return Ok(Err(Unfollowed::WholeTables));
            };
            branches.next.extend(next.into_iter().map(|next| (next, left.clone())));
        }
        let met = |moment| state.view(writer, moment).remove(&table);
        let is_quiet = met(begin) == met(statement.end) || is_read_once;
        branches.other = self.in_doubt(writer, shape, &dirty, (is_one, is_quiet));
        if acts && !state.commits_between(begin, statement.end).is_empty() {
            branches.other = branches.other.or(Some(Unfollowed::WholeTables));
        }
        Ok(Ok(branches))
    }

    /// Why it may have done otherwise. `is_one`: its query had one view; `is_quiet`: nobody changed the table.
    fn in_doubt(
        &self,
        writer: Writer,
        shape: &WriteShape,
        dirty: &Dirty,
        (is_one, is_quiet): (bool, bool),
    ) -> Option<Unfollowed> {
        match () {
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
        }
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
    /// Other tables that it has changed, before and after: a row that gives way takes others with it, by foreign keys.
    elsewhere: (Contents, Contents),
}

impl Change {
    /// What a statement that was executed on these contents has changed.
    fn between(
        before: &Contents,
        after: &[(String, Rows)],
        table: usize,
        shape: &WriteShape,
    ) -> Self {
        let old = |table: usize| before.get(&table).cloned().unwrap_or_default();
        let (gone, added) = exchanged(old(table), &after[table].1.rows);
        let mut elsewhere = (Contents::new(), Contents::new());
        for (other, (_, rows)) in after.iter().enumerate().filter(|(other, _)| *other != table) {
            if exchanged(old(other), &rows.rows) != (Vec::new(), Vec::new()) {
                elsewhere.0.insert(other, old(other));
                elsewhere.1.insert(other, rows.rows.clone());
            }
        }
        Self { table, gone, added, updates: shape.updates_on_conflict, elsewhere }
    }

    /// Whether foreign keys have changed other tables.
    fn acts(&self) -> bool {
        !self.elsewhere.1.is_empty()
    }

    /// The states that this may mean; none if it would change what another transaction has not committed yet, or what
    /// is not there any more. A row that was changed keeps one of its keys; if it does not, any of the new rows may be
    /// what it has become. `None` if there are too many.
    fn applied(
        self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
        evaluator: &Evaluator<'_>,
    ) -> Option<Vec<State>> {
        let keys = evaluator.unique_keys(self.table);
        let mut ways = vec![(state.clone(), self.added)];
        for values in &self.gone {
            let seen = |row: &Row| {
                row.table == self.table && row.visible(writer, statement.end) == Some(values)
            };
            let mut next = Vec::new();
            for (state, added) in ways {
                let row = state.rows.iter().position(seen);
                let is_free =
                    |row: &usize| state.rows[*row].held_by_others(writer).next().is_none();
                let Some(row) = row.filter(is_free) else { continue };
                for successor in successors(values, &added, &keys, self.updates) {
                    let (mut state, mut added) = (state.clone(), added.clone());
                    let successor = successor.map(|at| added.swap_remove(at));
                    state.rows[row].versions.push(made(successor, writer, statement));
                    next.push((state, added));
                }
            }
            ways = next;
        }
        let finished = ways.into_iter().map(|(mut state, added)| {
            let new = |values| Row::new(self.table, made(Some(values), writer, statement));
            state.rows.extend(added.into_iter().map(new));
            state
        });
        let turned = Turned { before: &self.elsewhere.0, after: &self.elsewhere.1 };
        let next = finished.map(|state| turned.replaced(&state, writer, statement, evaluator));
        Some(next.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
    }
}

/// Which of the new rows may be what a row has become; `None` = it was deleted.
fn successors(
    values: &[Value],
    added: &[Vec<Value>],
    keys: &[Vec<usize>],
    updates: bool,
) -> Vec<Option<usize>> {
    if !updates || added.is_empty() {
        return vec![None];
    }
    let keeps = |new: &Vec<Value>| {
        let same = |column: &usize| new[*column] == values[*column] && new[*column] != Value::Null;
        keys.iter().any(|key| key.iter().all(same))
    };
    let all = 0..added.len();
    let kept: Vec<Option<usize>> = all.clone().filter(|at| keeps(&added[*at])).map(Some).collect();
    if kept.is_empty() { all.map(Some).collect() } else { kept }
}
