//! The rows of a run while all of its transactions are followed: who wrote which version, and what was taken back.
//!
//! In contrast to the mechanism of the final-state oracle, every transaction is followed, also one that is rolled
//! back: what it wrote may be what somebody wrongly saw.

use std::collections::BTreeMap;

use anchorite_model::Value;

use super::evaluator::Contents;
use super::versions::{Row, State, Version, Writer};

/// The rows.
#[derive(Debug, Clone)]
pub struct World {
    /// Every version.
    pub state: State,
}

/// What a statement may have looked at: rows by their numbers, with their values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct View(pub BTreeMap<usize, Vec<Value>>);

/// What a statement did to one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A row has other values, or is gone.
    Row(usize, Option<Vec<Value>>),
    /// There is one more row in a table.
    New(usize, Vec<Value>),
}

impl World {
    /// The rows that `pick` gives values for.
    pub fn view<'s>(&'s self, pick: impl Fn(usize, &'s Row) -> Option<&'s Vec<Value>>) -> View {
        let rows = self.state.rows.iter().enumerate();
        View(rows.filter_map(|(at, row)| Some((at, pick(at, row)?.clone()))).collect())
    }

    /// What a transaction sees at a moment: its own versions, and what was committed by then.
    pub fn seen_at(&self, writer: Writer, moment: usize) -> View {
        self.view(|_, row| row.visible(writer, moment))
    }

    /// The moments at which something was committed, oldest first; the first one is the set-up.
    pub fn commits(&self) -> Vec<usize> {
        let versions = self.state.rows.iter().flat_map(|row| &row.versions);
        let mut moments: Vec<usize> = versions.filter_map(|version| version.committed).collect();
        moments.push(0);
        moments.sort_unstable();
        moments.dedup();
        moments
    }

    /// The contents of a view, by table.
    pub fn contents(&self, view: &View) -> Contents {
        let mut contents = Contents::new();
        for (row, values) in &view.0 {
            contents.entry(self.state.rows[*row].table).or_default().push(values.clone());
        }
        contents
    }

    /// Adds what a statement did.
    pub fn apply(&mut self, changes: &[Change], writer: Writer, made: usize) {
        for change in changes {
            let version = |values| Version { values, writer: Some(writer), made, committed: None };
            match change {
                Change::Row(row, values) => {
                    self.state.rows[*row].versions.push(version(values.clone()));
                }
                Change::New(table, values) => {
                    self.state.rows.push(Row::new(*table, version(Some(values.clone()))));
                }
            }
        }
    }

    /// Takes out what others have committed after a moment, in the tables that `is_meant` chooses.
    pub fn forget(&mut self, writer: Writer, moment: usize, is_meant: impl Fn(usize) -> bool) {
        for row in self.state.rows.iter_mut().filter(|row| is_meant(row.table)) {
            row.versions.retain(|version| {
                version.writer == Some(writer) || version.committed.is_none_or(|at| at <= moment)
            });
        }
    }

    /// The rows that a transaction has written and not committed.
    pub fn written_by(&self, writer: Writer) -> Vec<usize> {
        let rows = self.state.rows.iter().enumerate();
        rows.filter(|(_, row)| row.own(writer).is_some()).map(|(at, _)| at).collect()
    }
}

/// What turned the contents of a view into what stands there afterwards. A row that changed is told from others by a
/// key that it keeps (`keys`: those of each table), or else by how many values it keeps.
pub fn changes(
    world: &World,
    view: &View,
    after: &Contents,
    keys: &[Vec<Vec<usize>>],
    may_update: bool,
) -> Vec<Change> {
    let mut found = Vec::new();
    for (table, keys) in keys.iter().enumerate() {
        let mut added = after.get(&table).cloned().unwrap_or_default();
        let mut gone: Vec<(usize, &Vec<Value>)> = Vec::new();
        for (row, values) in view.0.iter().filter(|(row, _)| world.state.rows[**row].table == table)
        {
            match added.iter().position(|new| new == values) {
                Some(at) => drop(added.swap_remove(at)),
                None => gone.push((*row, values)),
            }
        }
        for (row, values) in gone {
            let alike = |new: &Vec<Value>| {
                let keeps = |key: &Vec<usize>| key.iter().all(|at| new[*at] == values[*at]);
                let same = new.iter().zip(values).filter(|(a, b)| a == b).count();
                (keys.iter().any(keeps), same)
            };
            let nearest = (0..added.len()).max_by_key(|at| alike(&added[*at]));
            let successor = nearest.filter(|_| may_update).map(|at| added.swap_remove(at));
            found.push(Change::Row(row, successor));
        }
        found.extend(added.into_iter().map(|values| Change::New(table, values)));
    }
    found
}
