//! What queries inside writes may read at a level at which they may read what is not committed.
//!
//! Idea: such a query takes no locks and finds of each row the latest version, whoever made it, also if it is taken
//! back later. It never waits, so it has read everything at one moment while its write ran: the write is executed on
//! the tables of each of these moments.
//!
//! Assumption: a statement that did not wait has done all its work at once. Blind spot: one that waited may have done a
//! part of it, of which nothing is known; where it wrote what the query reads, the run is undecided.

use anchorite_claims::{Deviation, WriteWord};
use anchorite_sql::tokens::{name, significant};
use anchorite_sql::write_shape;

use super::simulate::{LeftAlone, Simulation};
use super::unfollowed::Unfollowed;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{State, Writer};

/// More views than this are not tried.
const MOST_VIEWS: usize = 8;

/// What the queries inside a write may read beside what is committed.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// The tables at each moment while it ran, with the versions that nobody has committed; empty if it reads none.
    pub(super) views: Vec<Contents>,
    /// Whether the tables that it reads were changed while it ran.
    pub(super) is_changing: bool,
    /// Why they may have read something else.
    pub(super) other: Option<Unfollowed>,
}

impl<'r> Simulation<'_, 'r> {
    /// The views of the queries inside a write, other than those of what is committed.
    pub(super) fn dirty(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'r>,
        evaluator: &Evaluator<'r>,
    ) -> Dirty {
        let mut dirty = Dirty::default();
        if !self.reads_dirty(statement) {
            return dirty;
        }
        let read = self.read_tables(state, statement.sql);
        let mut moments = state.changes_between(statement.start, statement.end);
        moments.insert(0, statement.start);
        let mut known: Vec<Contents> = Vec::new();
        for moment in moments {
            let view = state.latest(moment);
            let seen = only(&view, &read);
            if !known.contains(&seen) {
                known.push(seen);
                dirty.views.push(view);
            }
        }
        dirty.is_changing = known.len() > 1;
        let committed = self.views(state, writer, statement);
        let is_committed =
            |view: &Contents| committed.iter().any(|known| only(known, &read) == only(view, &read));
        dirty.views.retain(|view| !is_committed(view));
        dirty.other = match () {
            () if dirty.views.len() > MOST_VIEWS => Some(Unfollowed::DirtyViews),
            () if self.is_half_done(state, writer, statement, &read, evaluator) => {
                Some(Unfollowed::DirtyQuery)
            }
            () => None,
        };
        dirty.views.truncate(MOST_VIEWS);
        dirty
    }

    /// Whether a query inside a write may read what is not committed.
    pub(super) fn reads_dirty(&self, statement: &Performed<'_>) -> bool {
        let has_query =
            || write_shape(statement.sql, self.dialect).is_none_or(|shape| shape.has_subquery);
        let excuse = |word| self.documented.excuse(word, Deviation::Uncommitted);
        self.is_dirty && WriteWord::of(&statement.kind).and_then(excuse).is_some() && has_query()
    }

    /// The tables that the queries inside a write read.
    fn read_tables(&self, state: &State, sql: &str) -> Vec<usize> {
        let written = write_shape(sql, self.dialect)
            .filter(|shape| !shape.names_table_again)
            .map(|shape| shape.table);
        let named = self.named_tables(state, sql);
        named.into_iter().filter(|table| Some(&state.tables[*table]) != written.as_ref()).collect()
    }

    fn named_tables(&self, state: &State, sql: &str) -> Vec<usize> {
        let tokens = significant(sql, self.dialect);
        let is_named = |table: &usize| {
            let mut names = tokens.iter().filter_map(name);
            names.any(|name| name.eq_ignore_ascii_case(&state.tables[*table]))
        };
        (0..state.tables.len()).filter(is_named).collect()
    }

    /// Whether a statement that waited may have done a part of its work in these tables while another one ran.
    fn is_half_done(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
        read: &[usize],
        evaluator: &Evaluator<'r>,
    ) -> bool {
        let others = self.followed.iter().enumerate().filter(|(other, _)| *other != writer);
        let mut writes = others.flat_map(|(_, other)| &other.statements);
        writes.any(|write| {
            let is_idle = write.reply.is_ok_and(|answer| answer.affected == Some(0));
            let overlaps = write.start < statement.end && write.end > statement.start;
            let named = self.named_tables(state, write.sql);
            let touches =
                named.iter().any(|table| read.contains(table) || evaluator.passes_on(*table));
            write.is_write() && write.waited && !is_idle && overlaps && touches
        })
    }
}

/// The deviation of a write whose query read what was not committed.
pub(super) fn uncommitted(statement: &Performed<'_>) -> LeftAlone {
    let word = WriteWord::of(&statement.kind).unwrap_or(WriteWord::Insert);
    let row = "what its query would find without it".to_owned();
    LeftAlone { n: statement.n, word, kind: Deviation::Uncommitted, row, is_certain: true }
}

/// Some of the tables.
fn only(view: &Contents, tables: &[usize]) -> Contents {
    let mut part = view.clone();
    part.retain(|table, _| tables.contains(table));
    part
}
