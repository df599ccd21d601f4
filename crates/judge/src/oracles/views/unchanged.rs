//! Rows that an own UPDATE found in a newer version than that of the snapshot, and left as they were.
//!
//! Idea: such a row has no version of the own transaction, so that later plain reads may go on to see what the snapshot
//! has of it. Whether a page of the vendor says so is data. A read that returned the old version needs that exception
//! if the newer version would have given it something else.
//!
//! Assumption: the UPDATE matched the row, which the database says. Blind spot: queries inside the UPDATE, ON DUPLICATE
//! KEY UPDATE; several such rows that make a difference only together.

use anchorite_claims::{Deviation, WriteWord};
use anchorite_model::sql::StatementKind;
use anchorite_model::{RunError, Value};
use anchorite_sql::RowStatement;

use super::course::{Following, Place};
use super::seen::{Course, Needed, Sight};
use crate::evidence::difference::answers;
use crate::evidence::ends::last_event;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::Row;
use crate::evidence::words::{abridged, tuple};
use crate::laboratory::Laboratory;

impl<'r> Following<'_, 'r> {
    /// What explains that a read saw the snapshot's version of a row that an own UPDATE left as somebody else had
    /// made it.
    pub(super) fn kept_from_snapshot(
        &self,
        course: &Course,
        place: Place,
        read: &Performed<'r>,
        sight: &Sight,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<Needed>, RunError> {
        let exception =
            self.documented(place.writer).excuse(WriteWord::Update, Deviation::Unchanged);
        let (Some(exception), Some(moment)) = (exception, sight.moment) else { return Ok(None) };
        let Some(observed) = last_event(self.run, read.n) else { return Ok(None) };
        let session = self.transactions[place.writer].session;
        let rows = course.world.state.rows.iter();
        for row in rows.filter(|row| row.own(place.writer).is_none()) {
            let old = row.committed_at(moment).and_then(|version| version.values.as_ref());
            let Some(rows) = sight.contents.get(&row.table) else { continue };
            for (update, newer) in self.own_updates(place, read, row, moment) {
                let Some(with_newer) = replaced(rows, old, newer) else { continue };
                if !self.matches(session, update, row.table, newer, evaluator, laboratory)? {
                    continue;
                }
                let mut contents = sight.contents.clone();
                contents.insert(row.table, with_newer);
                let tried = evaluator.tried(session, read.sql, &contents, laboratory)?;
                let differs = tried.is_some_and(|(outcome, _)| {
                    answers(read.sql, &observed.outcome, &outcome).is_some()
                });
                if differs {
                    let saw = old.map_or_else(|| "no row".to_owned(), |old| tuple(old));
                    let happened = format!(
                        "step {} ({}) saw {saw}, which is {} since step {} ({}) of its own transaction \
                         found it and left it as it was",
                        read.n,
                        abridged(read.sql),
                        tuple(newer),
                        update.n,
                        abridged(update.sql),
                    );
                    return Ok(Some(Needed::of(exception, happened, true)));
                }
            }
        }
        Ok(None)
    }

    /// The own UPDATEs before a read that met another version of a row than that of the snapshot.
    fn own_updates<'s>(
        &'s self,
        place: Place,
        read: &'s Performed<'r>,
        row: &'s Row,
        moment: usize,
    ) -> impl Iterator<Item = (&'s Performed<'r>, &'s Vec<Value>)> {
        let own = self.transactions[place.writer].statements.iter();
        let updates = own.filter(|one| {
            one.kind == StatementKind::Update
                && one.end < read.end
                && one.reply.is_ok()
                && !one.undone
                && !self.known.traits(one.sql).has_subquery
        });
        updates.filter_map(move |update| {
            let newer = row.committed_between(moment, update.end).pop()?;
            Some((update, newer.values.as_ref()?))
        })
    }

    /// Whether the condition of a simple write holds for a row.
    fn matches(
        &self,
        session: usize,
        write: &Performed<'r>,
        table: usize,
        values: &[Value],
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<bool, RunError> {
        let statement = RowStatement::read(write.sql, self.run.target.product.dialect());
        let name = &self.run.final_state[table].0;
        let Some(statement) = statement.filter(|statement| statement.is_about(name)) else {
            return Ok(false);
        };
        let alone = Contents::from([(table, vec![values.to_vec()])]);
        let found = evaluator.on(session, &statement.select(), &alone, laboratory)?;
        Ok(found.is_ok_and(|found| !found.returned.is_empty()))
    }
}

/// The rows with the newer version of one in the place of the old one; `None` if that is not there, or the same.
fn replaced(
    rows: &[Vec<Value>],
    old: Option<&Vec<Value>>,
    newer: &Vec<Value>,
) -> Option<Vec<Vec<Value>>> {
    if old == Some(newer) {
        return None;
    }
    let mut rows = rows.to_vec();
    if let Some(old) = old {
        let at = rows.iter().position(|row| row == old)?;
        rows.swap_remove(at);
    } else if rows.contains(newer) {
        return None;
    }
    rows.push(newer.clone());
    Some(rows)
}
