//! What a statement may have looked at, and what it may wrongly have looked at.
//!
//! A view is *right* if the level gives it to the statement. Every other one that differs from a right one by a single
//! mistake is *wrong*: an older or later moment, one row in another version, a row left out, own writes left out.

use std::collections::BTreeMap;

use anchorite_claims::{ReadPlace, WriteClaims, WriteView};
use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Deed, Value};
use anchorite_sql::write_shape;

use crate::evidence::transactions::{Performed, Transaction, is_optimistic};
use crate::evidence::versions::{Row, Version, Writer};
use crate::evidence::world::{View, World};

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mistake {
    /// What was done.
    pub deed: Deed,
    /// The number of the statement; `None` for the end of a transaction.
    pub n: Option<usize>,
    /// Whose statement it was.
    pub writer: Writer,
    /// The row, if it was a single one.
    pub row: Option<usize>,
}

impl Mistake {
    /// The statement, unless it is the end of a transaction.
    pub(super) fn statement<'t, 'r>(
        &self,
        transactions: &'t [Transaction<'r>],
    ) -> Option<&'t Performed<'r>> {
        let mut statements = transactions[self.writer].statements.iter();
        statements.find(|statement| Some(statement.n) == self.n)
    }
}

/// A statement that is being looked at.
#[derive(Clone, Copy)]
pub(super) struct Looking<'s, 'r> {
    pub world: &'s World,
    pub claims: &'s WriteClaims,
    pub transaction: &'s Transaction<'r>,
    pub statement: &'s Performed<'r>,
    pub writer: Writer,
    pub dialect: Dialect,
}

impl Looking<'_, '_> {
    fn is_read(&self) -> bool {
        matches!(self.statement.kind, StatementKind::Select { .. })
    }

    /// How the statement sees rows, if it is a write.
    pub(super) fn sees(&self) -> WriteView {
        let optimistic = self.transaction.begin.is_some_and(is_optimistic);
        if optimistic { WriteView::TransactionSnapshot } else { self.claims.sees }
    }

    /// The moments whose views are right. What makes a statement fail, such as a key that is taken, is no part of a
    /// snapshot.
    pub(super) fn moments(&self) -> Vec<usize> {
        let Performed { start, end, .. } = *self.statement;
        let snapshot = self.snapshot();
        let is_single = self.transaction.begin.is_none();
        let mut moments = match (self.is_read(), self.claims.reads, self.sees()) {
            _ if self.looks_for_keys_only() => vec![end],
            (true, ReadPlace::Locked, _) if is_single => vec![start, end],
            (true, ReadPlace::Locked, _) => vec![end],
            (_, _, WriteView::Latest | WriteView::Retried) => vec![end],
            (_, _, WriteView::StatementSnapshot) => vec![start],
            (_, _, WriteView::TransactionSnapshot) => vec![snapshot],
            (_, _, WriteView::LateSnapshot) => {
                let commits = self.world.commits();
                let late = commits.into_iter().filter(|at| (snapshot..end).contains(at));
                std::iter::once(snapshot).chain(late).collect()
            }
        };
        if self.statement.reply.is_err() {
            moments.push(end);
        }
        moments.dedup();
        moments
    }

    /// The moment of the transaction's snapshot. Where there is one writer at a time, who waits has none yet.
    pub(super) fn snapshot(&self) -> usize {
        match self.transaction.first_look() {
            Some(first) if first.waited && self.claims.one_writer.is_some() => first.end,
            Some(first) => first.start,
            None => self.transaction.began,
        }
    }

    /// Whether it becomes the one writer of the database although others have committed since its snapshot.
    pub(super) fn writes_late(&self) -> bool {
        let has_snapshot =
            self.claims.one_writer.is_some() && self.sees() == WriteView::TransactionSnapshot;
        let writes = |statement: &Performed<'_>| statement.kind.writes() && statement.reply.is_ok();
        let mut before =
            self.transaction.statements.iter().take_while(|other| other.n != self.statement.n);
        let meanwhile = self.snapshot() + 1..=self.statement.end;
        has_snapshot
            && writes(self.statement)
            && !before.any(writes)
            && self.world.commits().iter().any(|at| meanwhile.contains(at))
    }

    /// Whether all that it looks for is whether keys are taken, which no snapshot answers: an INSERT without a query.
    fn looks_for_keys_only(&self) -> bool {
        let is_insert =
            matches!(self.statement.kind, StatementKind::Insert | StatementKind::Replace);
        let shape = write_shape(self.statement.sql, self.dialect);
        is_insert && shape.is_some_and(|shape| !shape.has_subquery)
    }

    /// The last moment of which it may know.
    pub(super) fn newest(&self) -> usize {
        self.moments().into_iter().max().unwrap_or_default()
    }

    /// The wrong views that differ from a right one by a single mistake, the most telling first.
    pub(super) fn wrong(&self, right: &[View]) -> Vec<(View, Mistake)> {
        let mut wrong: Vec<(View, Mistake)> = Vec::new();
        let mut push = |view: View, deed: Deed, row: Option<usize>| {
            // A row that is not there may have been missed, too: which of the two is said depends on what became of it.
            let is_same = |(known, by): &(View, Mistake)| {
                *known == view && (deed != Deed::RowMissed || by.deed == deed)
            };
            if !right.contains(&view) && !wrong.iter().any(is_same) {
                let n = Some(self.statement.n);
                wrong.push((view, Mistake { deed, n, writer: self.writer, row }));
            }
        };
        for (view, deed) in self.other_moments() {
            push(view, deed, None);
        }
        for view in right {
            for (row, values, deed) in self.other_versions(view) {
                push(with(view, row, values), deed, Some(row));
            }
        }
        push(self.dirty(), Deed::UncommittedVersionUsed, None);
        push(self.without_own(), Deed::OwnWriteUnseen, None);
        for view in right {
            for row in view.0.keys() {
                push(with(view, *row, None), Deed::RowMissed, Some(*row));
            }
        }
        // What was inserted while it waited may lie behind it, so that two rows are missed for two reasons.
        for view in right.iter().filter_map(|view| self.without_new(view)) {
            for row in view.0.keys() {
                push(with(&view, *row, None), Deed::RowMissed, Some(*row));
            }
        }
        wrong
    }

    /// A view without the rows that others inserted while the statement ran; `None` if there are none.
    fn without_new(&self, view: &View) -> Option<View> {
        let is_new = |row: &usize| {
            let first = self.world.state.rows[*row].versions.first();
            first.is_some_and(|first| {
                first.writer.is_some_and(|writer| writer != self.writer)
                    && first.made > self.statement.start
            })
        };
        let old = view.0.iter().filter(|(row, _)| !is_new(row));
        let old = View(old.map(|(row, values)| (*row, values.clone())).collect());
        (old != *view).then_some(old)
    }

    /// The views of other moments.
    fn other_moments(&self) -> Vec<(View, Deed)> {
        let right = self.moments();
        let newest = right.iter().copied().max().unwrap_or_default();
        let commits = self.world.commits().into_iter().rev().filter(|at| !right.contains(at));
        let views = commits.map(|at| {
            let deed = if at <= newest { Deed::StaleVersionUsed } else { Deed::LaterVersionUsed };
            (self.world.seen_at(self.writer, at), deed)
        });
        views.collect()
    }

    /// Every row in each version that is not the one of the view; `None` = not there at all.
    fn other_versions(&self, view: &View) -> Vec<(usize, Option<Vec<Value>>, Deed)> {
        let newest = self.newest();
        let mut found = Vec::new();
        for (at, row) in self.world.state.rows.iter().enumerate() {
            let present = view.0.get(&at);
            let undone = row.undone.iter();
            let undone = undone.map(|(version, _)| (version, Deed::UncommittedVersionUsed));
            let versions =
                row.versions.iter().map(|version| (version, self.deed_of(version, newest)));
            for (version, deed) in versions.chain(undone) {
                if version.values.as_ref() != present {
                    found.push((at, version.values.clone(), deed));
                }
            }
            if let (Some(_), Some(deed)) = (present, self.deed_of_absence(row, newest)) {
                found.push((at, None, deed));
            }
        }
        // What explains a whole view explains a row as well: older versions first.
        found.sort_by_key(|(_, _, deed)| *deed);
        found
    }

    fn deed_of(&self, version: &Version, newest: usize) -> Deed {
        match version.committed {
            None if version.writer == Some(self.writer) => Deed::OwnWriteUnseen,
            None => Deed::UncommittedVersionUsed,
            Some(at) if at <= newest => Deed::StaleVersionUsed,
            Some(_) => Deed::LaterVersionUsed,
        }
    }

    /// What it means that a row is not seen that was not always there.
    fn deed_of_absence(&self, row: &Row, newest: usize) -> Option<Deed> {
        let first = row.versions.first()?;
        first.writer.is_some().then(|| self.deed_of(first, newest))
    }

    /// Everything as it stands, whoever has committed it or not.
    fn dirty(&self) -> View {
        self.world.view(|_, row| row.versions.last()?.values.as_ref())
    }

    /// What others have committed, without anything of its own.
    fn without_own(&self) -> View {
        let newest = self.newest();
        self.world.view(|_, row| row.committed_at(newest)?.values.as_ref())
    }
}

/// A view in which a row has other values, or is not there.
fn with(view: &View, row: usize, values: Option<Vec<Value>>) -> View {
    let mut rows: BTreeMap<usize, Vec<Value>> = view.0.clone();
    match values {
        Some(values) => drop(rows.insert(row, values)),
        None => drop(rows.remove(&row)),
    }
    View(rows)
}
