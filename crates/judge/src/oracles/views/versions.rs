//! Which versions a wrong read saw, and which it should have seen.

use anchorite_model::{RowVersions, Value, VersionSeen, VersionsSeen};

use super::course::{Failure, Following};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{Row, Version, Writer};
use crate::evidence::world::View;

impl Following<'_, '_> {
    /// What a read saw that has this view, of the rows of which it should have seen another version.
    pub(super) fn seen(
        &self,
        failure: &Failure,
        writer: Writer,
        read: &Performed<'_>,
        view: &View,
    ) -> VersionsSeen {
        let world = &failure.course.world;
        let moment = failure.sight.as_ref().and_then(|sight| sight.moment).unwrap_or(read.end);
        let right = world.seen_at(writer, moment);
        let rows = world.state.rows.iter().enumerate();
        let differing = rows.filter(|(at, _)| right.0.get(at) != view.0.get(at));
        let of_row = |(at, row): (usize, &Row)| RowVersions {
            table: world.state.tables[row.table].clone(),
            versions: self.versions_of(row, right.0.get(&at), view.0.get(&at)),
        };
        VersionsSeen {
            n: read.n,
            transaction: self.transactions[writer].name.clone(),
            rows: differing.map(of_row).collect(),
        }
    }

    /// The versions of a row, with those that should have been seen and that were.
    fn versions_of(
        &self,
        row: &Row,
        right: Option<&Vec<Value>>,
        seen: Option<&Vec<Value>>,
    ) -> Vec<VersionSeen> {
        let undone = row.undone.iter().map(|(version, _)| (version, true));
        let mut all: Vec<(&Version, bool)> =
            row.versions.iter().map(|version| (version, false)).chain(undone).collect();
        all.sort_by_key(|(version, _)| version.made);
        let told = |(version, is_undone): &(&Version, bool)| {
            let by = version.writer.map(|writer| self.transactions[writer].name.clone());
            let state = match version.committed {
                _ if *is_undone => "taken back",
                Some(_) => "committed",
                None => "not committed",
            };
            VersionSeen {
                values: version.values.clone(),
                made_by: by.unwrap_or_else(|| "the set-up".to_owned()),
                state: state.to_owned(),
                saw: false,
                should_see: false,
            }
        };
        let mut versions: Vec<VersionSeen> = all.iter().map(told).collect();
        let latest = |versions: &[VersionSeen], values: Option<&Vec<Value>>| {
            versions.iter().rposition(|version| version.values.as_ref() == values)
        };
        if latest(&versions, right).is_none() || latest(&versions, seen).is_none() {
            let (made_by, state) = ("nobody".to_owned(), "not there".to_owned());
            let absent =
                VersionSeen { values: None, made_by, state, saw: false, should_see: false };
            versions.insert(0, absent);
        }
        if let Some(at) = latest(&versions, right) {
            versions[at].should_see = true;
        }
        if let Some(at) = latest(&versions, seen) {
            versions[at].saw = true;
        }
        versions
    }
}
