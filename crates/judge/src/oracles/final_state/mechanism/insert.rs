//! What an INSERT or REPLACE may have done. It is executed on everything that it can see: keys are always checked
//! against the latest versions, while a query inside may have read earlier ones.

use anchorite_claims::{Deviation, WriteView, WriteWord};
use anchorite_model::Value;

use super::simulate::{Branches, LeftAlone, Outer, Simulation, made};
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::{Performed, is_optimistic};
use crate::evidence::versions::{Row, State, Writer};
use crate::evidence::words::abridged;
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
        let Some(table) = state.tables.iter().position(|name| *name == shape.table) else {
            return Ok(Err(format!("there is no table {} at the end", shape.table)));
        };
        let session = self.committed[writer].session;
        let observed = statement.reply.ok().and_then(|answer| answer.affected);
        let mut branches = Branches::default();
        let Some(sights) = self.sights(state, writer, statement, shape, table) else {
            let sql = abridged(statement.sql);
            return Ok(Err(format!("an INSERT reads the table that it writes: {sql}")));
        };
        for (before, left) in sights {
            let after = evaluator.on(session, statement.sql, &before, laboratory)?;
            let Ok((affected, after)) = after else { continue };
            if observed.is_some_and(|observed| observed != affected) {
                continue;
            }
            let old = before.get(&table).cloned().unwrap_or_default();
            let (gone, added) = exchanged(old, &after[table].1.rows);
            let updates = shape.updates_on_conflict;
            let change = Change { table, gone, added, updates };
            match change.apply(state, writer, statement) {
                Ok(Some(next)) => branches.next.push((next, left)),
                Ok(None) => {}
                Err(reason) => return Ok(Err(reason)),
            }
        }
        // An optimistic transaction checks keys in its snapshot, and again when it commits.
        let is_optimistic = self.committed[writer].begin.is_some_and(is_optimistic);
        if branches.next.is_empty() && (shape.has_subquery || is_optimistic) {
            let sql = abridged(statement.sql);
            return Ok(Err(format!("what an INSERT read is not known: {sql}")));
        }
        let met = |moment| state.view(writer, moment).remove(&table);
        if branches.next.is_empty()
            && shape.several_rows
            && met(statement.start) != met(statement.end)
        {
            let reason = "the rows of an INSERT that waited may have met others at different times";
            return Ok(Err(reason.to_owned()));
        }
        Ok(Ok(branches))
    }

    /// The contents that the statement may have worked on, latest first; `None` if it checks keys and reads in one
    /// table that has changed meanwhile.
    fn sights(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
        shape: &WriteShape,
        table: usize,
    ) -> Option<Vec<(Contents, Vec<LeftAlone>)>> {
        let latest = state.view(writer, statement.end);
        let (sees, begin) = self.view_of(writer, statement);
        if !shape.has_subquery {
            return Some(vec![(latest, Vec::new())]);
        }
        let mut earlier = state.view(writer, begin);
        if earlier != latest && shape.names_table_again {
            return None;
        }
        match latest.get(&table) {
            Some(rows) => drop(earlier.insert(table, rows.clone())),
            None => drop(earlier.remove(&table)),
        }
        Some(match sees {
            WriteView::StatementSnapshot
            | WriteView::TransactionSnapshot
            | WriteView::LateSnapshot => vec![(earlier, Vec::new())],
            WriteView::Latest if earlier == latest => vec![(latest, Vec::new())],
            WriteView::Latest => {
                let left = LeftAlone {
                    n: statement.n,
                    word: WriteWord::Insert,
                    kind: Deviation::Passed,
                    row: "rows that its query would find".to_owned(),
                };
                vec![(latest, Vec::new()), (earlier, vec![left])]
            }
        })
    }
}

/// The rows that are gone and those that are new.
fn exchanged(mut old: Vec<Vec<Value>>, new: &[Vec<Value>]) -> (Vec<Vec<Value>>, Vec<Vec<Value>>) {
    let mut added = Vec::new();
    for values in new {
        match old.iter().position(|known| known == values) {
            Some(at) => drop(old.swap_remove(at)),
            None => added.push(values.clone()),
        }
    }
    (old, added)
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
    /// The state after it; `None` if it would change what another transaction has not committed yet.
    fn apply(
        mut self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
    ) -> Result<Option<State>, String> {
        let mut next = state.clone();
        let updates = self.updates && !self.gone.is_empty();
        if updates && (self.gone.len() > 1 || self.added.len() > 1) {
            return Err("an INSERT that updates several rows is not followed".to_owned());
        }
        for values in &self.gone {
            let seen = |row: &Row| row.visible(writer, statement.end) == Some(values);
            let row = next.rows.iter_mut().find(|row| row.table == self.table && seen(row));
            let Some(row) = row else { return Err("a replaced row was not found".to_owned()) };
            if row.held_by_others(writer).next().is_some() {
                return Ok(None);
            }
            let successor = if updates { self.added.pop() } else { None };
            row.versions.push(made(successor, writer, statement));
        }
        for values in self.added {
            next.rows.push(Row::new(self.table, made(Some(values), writer, statement)));
        }
        Ok(Some(next))
    }
}
