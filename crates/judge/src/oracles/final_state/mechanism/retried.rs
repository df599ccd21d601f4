//! What an UPDATE or DELETE may have done that is executed anew after each conflict: TiDB's pessimistic transactions,
//! CockroachDB's read committed.
//!
//! Idea: the execution that counts has seen one committed state, of some moment between the statement's beginning and
//! its end at which none of the rows that it changes was changed or held by others. All rows are judged by that state,
//! so a statement that changes only some of what matches there is wrong.

use anchorite_claims::Deviation;

use super::asked::Situation;
use super::dirty::Dirty;
use super::inner;
use super::simulate::{Branches, Outer, Simulation};
use super::treatment::{Treatment, combinations};
use super::unfollowed::Unfollowed;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{State, Writer};
use crate::evidence::words::tuple;
use crate::laboratory::Laboratory;
use anchorite_sql::WriteShape;

impl<'r> Simulation<'_, 'r> {
    /// The states that a retried UPDATE or DELETE may lead to.
    pub(super) fn retried(
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
        let mut moments = vec![statement.start];
        moments.extend(state.commits_between(statement.start, statement.end));
        let mut branches = Branches::default();
        for moment in moments.into_iter().rev() {
            let view = state.view(writer, moment);
            let mut treatments = Vec::new();
            let mut certain = Vec::new();
            for (index, row) in state.rows.iter().enumerate().filter(|(_, row)| row.table == table)
            {
                let dirty = &Dirty::default();
                let sql = statement.sql;
                let situation =
                    Situation { state, row, table, writer, statement, sql, shape, dirty };
                let at = (moment, &view);
                let treatment = inner!(self.retried_row(&situation, at, evaluator, laboratory));
                if matches!(treatment.as_slice(), [Treatment::Changed(_)] | []) {
                    certain.extend(row.visible(writer, statement.end).map(|v| tuple(v)));
                }
                treatments.push((index, treatment));
            }
            branches.next.extend(combinations(state, &treatments, writer, statement));
            if branches.certain.is_empty() {
                branches.certain = certain;
            }
        }
        Ok(Ok(branches))
    }

    /// What becomes of a row at a moment; nothing at all is possible if it is changed in between.
    fn retried_row(
        &self,
        situation: &Situation<'_, 'r>,
        (moment, view): (usize, &Contents),
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Vec<Treatment>> {
        let Situation { row, writer, statement, .. } = *situation;
        let version = row.own(writer).or_else(|| row.committed_at(moment));
        let effect = inner!(self.effect(situation, version, view, evaluator, laboratory));
        let later = row.committed_between(moment, statement.end);
        let is_own = row.own(writer).is_some();
        if let Some(effect) = effect {
            let is_in_conflict = !is_own && !later.is_empty();
            return Ok(Ok(match is_in_conflict {
                true => Vec::new(),
                false => vec![Treatment::Changed(effect)],
            }));
        }
        let newer = later.last().copied().filter(|_| !is_own);
        for version in newer.into_iter().chain(row.held_by_others(writer)) {
            let now = inner!(self.effect(situation, Some(version), view, evaluator, laboratory));
            if now.is_some() {
                let kind = match row.committed_at(statement.start) {
                    _ if version.made < statement.start => Deviation::Locked,
                    Some(first) if first.values.is_some() => Deviation::Released,
                    _ => Deviation::Inserted,
                };
                return Ok(Ok(vec![Treatment::Deviating { kind, is_certain: true }]));
            }
        }
        Ok(Ok(vec![Treatment::Left]))
    }
}
