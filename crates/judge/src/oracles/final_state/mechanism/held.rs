//! Versions that another transaction has made and not committed, where an UPDATE may judge rows by them.
//!
//! Idea: such an UPDATE passes a row if the version that is there does not match, or has another key: then nothing is
//! in the place of the row. That may be a version which is taken back before the UPDATE ends, or one that a statement
//! has made which still waits for another row. So such statements are tried on the row, too.
//!
//! Source: a commit of MariaDB (see `dirty-look` in the claims). Blind spot: what a waiting statement does is not tried
//! if it is more than a simple UPDATE or DELETE; then the run is undecided.

use anchorite_claims::{Deviation, WriteWord};
use anchorite_model::sql::StatementKind;
use anchorite_sql::{WriteShape, write_shape};

use super::asked::Situation;
use super::inner;
use super::simulate::{Outer, Simulation};
use super::unfollowed::Unfollowed;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{State, Version, Writer};
use crate::laboratory::Laboratory;

/// Whether a version that another transaction has not committed does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// No.
    Never,
    /// There may have been one while the statement ran.
    WasHeld,
    /// There is one.
    Held,
}

impl<'r> Simulation<'_, 'r> {
    /// Whether a write may judge rows by versions that are not committed.
    pub(super) fn looks_dirty(&self, statement: &Performed<'_>) -> bool {
        let excuse = |word| self.documented.excuse(word, Deviation::Held);
        self.is_dirty && WriteWord::of(&statement.kind).and_then(excuse).is_some()
    }

    /// Whether the statement would pass the row because of a version that is not committed.
    pub(super) fn held_otherwise(
        &self,
        situation: &Situation<'_, 'r>,
        versions: &[Option<&Version>],
        view: &Contents,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Otherwise> {
        let Situation { state, row, writer, statement, table, .. } = *situation;
        if !self.looks_dirty(statement) {
            return Ok(Ok(Otherwise::Never));
        }
        for version in row.held_by_others(writer) {
            if inner!(self.is_otherwise(situation, Some(version), view, evaluator, laboratory)) {
                return Ok(Ok(Otherwise::Held));
            }
        }
        for version in row.undone_since(writer, statement.start) {
            if inner!(self.is_otherwise(situation, Some(version), view, evaluator, laboratory)) {
                return Ok(Ok(Otherwise::WasHeld));
            }
        }
        for (writer, statement, shape) in self.waiting(state, writer, statement, table) {
            let sql = statement.sql;
            let of_other = Situation { writer, statement, sql, shape: &shape, ..*situation };
            for version in versions.iter().flatten() {
                let effect = self.effect(&of_other, Some(version), view, evaluator, laboratory);
                let Some(effect) = inner!(effect) else { continue };
                let made = Version { values: effect.values, ..(*version).clone() };
                let made = Some(&made);
                if inner!(self.is_otherwise(situation, made, view, evaluator, laboratory)) {
                    return Ok(Ok(Otherwise::WasHeld));
                }
            }
        }
        Ok(Ok(Otherwise::Never))
    }

    /// Whether a version does not match, or is not in the place of the committed one.
    pub(super) fn is_otherwise(
        &self,
        situation: &Situation<'_, 'r>,
        version: Option<&Version>,
        view: &Contents,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<bool> {
        let before = situation.row.committed_at(situation.statement.start);
        let values = |version: Option<&Version>| version.and_then(|it| it.values.clone());
        let is_moved = values(before).zip(values(version)).is_some_and(|(before, now)| {
            let mut columns = evaluator.key_columns(situation.table).into_iter();
            columns.any(|column| before[column] != now[column])
        });
        if is_moved {
            return Ok(Ok(true));
        }
        let matches = inner!(self.matches(situation, version, view, evaluator, laboratory));
        Ok(Ok(!matches))
    }

    /// The simple writes of others to a table that were waiting while a statement ran.
    fn waiting(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
        table: usize,
    ) -> Vec<(Writer, &Performed<'r>, WriteShape)> {
        let all = self.waiting_writes(state, writer, statement, table);
        all.into_iter()
            .filter_map(|(writer, write, shape)| {
                Some((writer, write, shape.filter(|it| is_simple(write, it))?))
            })
            .collect()
    }

    /// Why there may be versions that are not known.
    pub(super) fn unseen(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
        table: usize,
        evaluator: &Evaluator<'r>,
    ) -> Option<Unfollowed> {
        if !self.looks_dirty(statement) {
            return None;
        }
        let all = self.waiting_writes(state, writer, statement, table);
        let is_unknown = |write: &Performed<'_>, shape: Option<&WriteShape>| {
            let is_simple = shape.is_some_and(|shape| is_simple(write, shape));
            !is_simple || evaluator.passes_on(table)
        };
        let mut all = all.iter();
        all.any(|(_, write, shape)| is_unknown(write, shape.as_ref()))
            .then_some(Unfollowed::UnseenVersions)
    }

    fn waiting_writes(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'_>,
        table: usize,
    ) -> Vec<(Writer, &Performed<'r>, Option<WriteShape>)> {
        let others = self.followed.iter().enumerate().filter(|(other, _)| *other != writer);
        let writes = others.flat_map(|(other, transaction)| {
            transaction.statements.iter().map(move |write| (other, write))
        });
        let found = writes.filter_map(|(other, write)| {
            let overlaps = write.start < statement.end && write.end > statement.start;
            let is_idle = write.reply.is_ok_and(|answer| answer.affected == Some(0));
            let shape = write_shape(write.sql, self.dialect);
            let is_here = shape.as_ref().is_none_or(|it| it.table == state.tables[table]);
            let counts = write.is_write() && write.waited && overlaps && !is_idle && is_here;
            counts.then_some((other, write, shape))
        });
        found.collect()
    }
}

/// Whether what a write does can be tried row by row.
fn is_simple(write: &Performed<'_>, shape: &WriteShape) -> bool {
    match write.kind {
        StatementKind::Update | StatementKind::Delete => {
            !shape.has_subquery && !shape.names_table_again
        }
        // New rows are no reason to pass others.
        StatementKind::Insert => !shape.updates_on_conflict && !shape.has_subquery,
        _ => false,
    }
}
