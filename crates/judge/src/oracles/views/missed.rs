//! What had happened to a row that a read missed.
//!
//! Idea: a row whose key another transaction moves while a read scans may be passed where it went to. That is another
//! fault than to miss a row that nobody touched, so it is part of the cause.
//!
//! Blind spot: of several rows that are missing, only the first is looked at.

use anchorite_model::{Meanwhile, Value};

use super::course::{Failure, Following};
use crate::evidence::evaluator::Evaluator;
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{Row, Version, Writer};
use crate::evidence::world::View;

/// What can happen to a row, that which can hide it best from a scan first.
const STRONGEST: [Meanwhile; 6] = [
    Meanwhile::PrimaryKeyMoved,
    Meanwhile::UniqueKeyMoved,
    Meanwhile::IndexEntryMoved,
    Meanwhile::Inserted,
    Meanwhile::Deleted,
    Meanwhile::Changed,
];

impl<'r> Following<'_, 'r> {
    /// What others did, while a read ran, to the row that is not in the view that it had.
    pub(super) fn meanwhile(
        &self,
        failure: &Failure,
        (writer, read): (Writer, &Performed<'_>),
        view: &View,
        evaluator: &Evaluator<'r>,
    ) -> Meanwhile {
        let world = &failure.course.world;
        let right = failure.sight.as_ref().and_then(|sight| sight.moment).unwrap_or(read.end);
        let mut seen = world.seen_at(writer, right).0.into_keys();
        let Some(row) = seen.find(|row| !view.0.contains_key(row)) else {
            return Meanwhile::Nothing;
        };
        let row = &world.state.rows[row];
        let is_met = |version: &Version| {
            version.writer.is_some_and(|other| other != writer)
                && version.made < read.end
                && version.committed.is_none_or(|at| at > read.start)
        };
        let changes = row.versions.iter().enumerate().filter(|(_, version)| is_met(version));
        let changes = changes.map(|(at, version)| {
            let before = at.checked_sub(1).and_then(|at| row.versions[at].values.as_ref());
            match (before, &version.values) {
                (Some(before), Some(after)) => self.moved(row, before, after, evaluator),
                (Some(_), None) => Meanwhile::Deleted,
                (None, _) => Meanwhile::Inserted,
            }
        });
        let strength = |change: &Meanwhile| STRONGEST.iter().position(|it| it == change);
        changes.min_by_key(strength).unwrap_or_default()
    }

    /// Which key a change moves.
    fn moved(
        &self,
        row: &Row,
        before: &[Value],
        after: &[Value],
        evaluator: &Evaluator<'r>,
    ) -> Meanwhile {
        let differ = |columns: &[usize]| columns.iter().any(|&at| before[at] != after[at]);
        let indexes = evaluator.indexes(row.table);
        if differ(&self.known.keys[row.table]) {
            Meanwhile::PrimaryKeyMoved
        } else if self.known.unique_keys[row.table].iter().any(|key| differ(key)) {
            Meanwhile::UniqueKeyMoved
        } else if indexes.iter().any(|(_, columns)| differ(columns)) {
            Meanwhile::IndexEntryMoved
        } else {
            Meanwhile::Changed
        }
    }
}
