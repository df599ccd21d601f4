//! What a write that was executed on whole tables has done to single rows.
//!
//! Idea: the tables before and after it tell which rows are gone and which are new. A new row with the key of an old
//! one is the same row. Where an UPDATE has changed keys, any of the old rows may have become any of the new ones, and
//! all these ways are followed. Whether it is the same row matters to those who wait for it: they meet it again with
//! its new key, but not a row that was inserted.

use anchorite_model::Value;
use anchorite_model::sql::StatementKind;

use super::simulate::made;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::together::permutations;
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{Row, State, Writer};

/// The most rows of one table whose successors are looked for by trying: with n rows there are n! ways.
const MOST_SUCCESSORS: usize = 3;

/// What a write has turned tables into.
pub(super) struct Turned<'c> {
    pub before: &'c Contents,
    pub after: &'c Contents,
}

impl Turned<'_> {
    /// The states that this may mean: which old row has become which new one is not told where the key changes. None
    /// if a row is changed that another transaction has not committed, or that is not there any more; `None` if there
    /// are too many.
    pub(super) fn replaced(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
        evaluator: &Evaluator<'_>,
    ) -> Option<Vec<State>> {
        let mut states = vec![state.clone()];
        for (table, rows) in self.after {
            let old = self.before.get(table).cloned().unwrap_or_default();
            let moves = statement.kind == StatementKind::Update;
            let ways = successions(exchanged(old, rows), &evaluator.primary_key(*table), moves)?;
            let follow = |state: &State| {
                let next = ways.iter().map(|way| way.applied(state, *table, writer, statement));
                next.flatten().collect::<Vec<State>>()
            };
            states = states.iter().flat_map(follow).collect();
        }
        Some(states)
    }
}

/// What has become of the rows of one table.
#[derive(Clone, Default)]
struct Succession {
    /// Old rows with what they are now; `None` = deleted.
    changed: Vec<(Vec<Value>, Option<Vec<Value>>)>,
    /// Rows that are new.
    inserted: Vec<Vec<Value>>,
}

/// Every way in which rows may have become others: by their keys, and any of those whose keys are gone. `moves`: rows
/// are not deleted and inserted, only changed. `None` if there are too many ways.
fn successions(
    (gone, mut added): (Vec<Vec<Value>>, Vec<Vec<Value>>),
    key: &[usize],
    moves: bool,
) -> Option<Vec<Succession>> {
    let mut known = Succession::default();
    let mut moved = Vec::new();
    for values in gone {
        let same = |new: &Vec<Value>| {
            !key.is_empty() && key.iter().all(|&column| new[column] == values[column])
        };
        match added.iter().position(same) {
            Some(at) => known.changed.push((values, Some(added.swap_remove(at)))),
            None => moved.push(values),
        }
    }
    let mut exchanged = known.clone();
    exchanged.changed.extend(moved.iter().map(|values| (values.clone(), None)));
    exchanged.inserted.clone_from(&added);
    if moved.is_empty() || moved.len() != added.len() {
        return Some(vec![exchanged]);
    }
    if added.len() > MOST_SUCCESSORS {
        return None;
    }
    let numbers: Vec<usize> = (0..added.len()).collect();
    let ways = permutations(&numbers).into_iter().map(|order| {
        let mut way = known.clone();
        let successors = order.into_iter().map(|at| Some(added[at].clone()));
        way.changed.extend(moved.iter().cloned().zip(successors));
        way
    });
    Some(ways.chain((!moves).then_some(exchanged)).collect())
}

impl Succession {
    /// The state after it; `None` if it cannot be.
    fn applied(
        &self,
        state: &State,
        table: usize,
        writer: Writer,
        statement: &Performed<'_>,
    ) -> Option<State> {
        let mut next = state.clone();
        // Keys may change places, so rows are looked for as they were before any of them is changed.
        let mut found = Vec::new();
        for (values, _) in &self.changed {
            let is_it = |(at, row): &(usize, &Row)| {
                row.table == table
                    && row.visible(writer, statement.end) == Some(values)
                    && !found.contains(at)
            };
            let (at, row) = state.rows.iter().enumerate().find(is_it)?;
            if row.held_by_others(writer).next().is_some() {
                return None;
            }
            found.push(at);
        }
        for (at, (_, successor)) in found.into_iter().zip(&self.changed) {
            next.rows[at].versions.push(made(successor.clone(), writer, statement));
        }
        let new =
            |values: &Vec<Value>| Row::new(table, made(Some(values.clone()), writer, statement));
        next.rows.extend(self.inserted.iter().map(new));
        Some(next)
    }
}

/// The rows that are gone and those that are new.
pub(super) fn exchanged(
    mut old: Vec<Vec<Value>>,
    new: &[Vec<Value>],
) -> (Vec<Vec<Value>>, Vec<Vec<Value>>) {
    let mut added = Vec::new();
    for values in new {
        match old.iter().position(|known| known == values) {
            Some(at) => drop(old.swap_remove(at)),
            None => added.push(values.clone()),
        }
    }
    (old, added)
}
