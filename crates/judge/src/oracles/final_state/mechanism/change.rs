//! What an UPDATE or DELETE may have done: the must/may rule, row by row.

use anchorite_claims::{Deviation, WriteView};

use super::inner;
use super::scan::{self, Stops};
use super::simulate::{Branches, Outer, Simulation};
use super::treatment::{Effects, Treatment, combinations};
use super::unfollowed::Unfollowed;
use crate::evidence::evaluator::{Contents, Effect, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{Row, State, Version, Writer};
use crate::evidence::words::tuple;
use crate::laboratory::Laboratory;
use anchorite_sql::WriteShape;

/// More rows than this that may be treated either way by one statement are not followed.
const MOST_CHOICES: usize = 6;

/// A row, a statement, and everything around them.
#[derive(Clone, Copy)]
pub(super) struct Situation<'s, 'r> {
    pub(super) state: &'s State,
    pub(super) row: &'s Row,
    pub(super) table: usize,
    pub(super) writer: Writer,
    pub(super) statement: &'s Performed<'r>,
    pub(super) shape: &'s WriteShape,
}

impl<'r> Simulation<'_, 'r> {
    /// The states that an UPDATE or DELETE may lead to.
    pub(super) fn change(
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
        let acts = evaluator.passes_on(table)
            && self.sets_off_actions(state, writer, statement, table, evaluator, laboratory)?;
        if shape.names_table_again || acts {
            return self.whole(state, writer, statement, true, evaluator, laboratory);
        }
        if self.view_of(writer, statement).0 == WriteView::Retried {
            return self.retried(state, writer, statement, shape, evaluator, laboratory);
        }
        let situation = |row| Situation { state, row, table, writer, statement, shape };
        let rows = state.rows.iter().enumerate().filter(|(_, row)| row.table == table);
        let stops =
            inner!(self.stops(rows.clone().map(|(_, row)| situation(row)), evaluator, laboratory));
        let wanted = rows
            .clone()
            .flat_map(|(_, row)| self.wanted(&situation(row), &stops, evaluator))
            .collect::<Vec<Contents>>();
        let session = self.committed[writer].session;
        evaluator.find_out(session, statement.sql, &wanted, laboratory)?;
        let mut treatments: Vec<(usize, Vec<Treatment>)> = Vec::new();
        for (index, row) in rows {
            let possible = inner!(self.treatments(&situation(row), &stops, evaluator, laboratory));
            treatments.push((index, possible));
        }
        if treatments.iter().filter(|(_, possible)| possible.len() > 1).count() > MOST_CHOICES {
            return Ok(Err(Unfollowed::Rows));
        }
        let certain = treatments.iter().filter_map(|(index, possible)| {
            let changed = matches!(possible.as_slice(), [Treatment::Changed(_)]);
            state.rows[*index].visible(writer, statement.end).filter(|_| changed).map(|v| tuple(v))
        });
        let certain = certain.collect();
        let next = combinations(state, &treatments, writer, statement);
        Ok(Ok(Branches { next, certain, other: None }))
    }

    /// The rows at which the statement had to wait, because it matches what was committed of them and another
    /// transaction had changed them before it began.
    fn stops<'s>(
        &self,
        situations: impl Iterator<Item = Situation<'s, 'r>>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Stops>
    where
        'r: 's,
    {
        let mut stops = Stops::default();
        for situation in situations {
            let Situation { state, row, writer, statement, .. } = situation;
            if self.view_of(writer, statement).0 != WriteView::Latest
                || situation.shape.has_subquery
            {
                break;
            }
            let versions = row.committed_between(statement.start, statement.end);
            let held = versions
                .iter()
                .find(|version| version.made < statement.start && version.writer != Some(writer));
            let Some(until) = held.and_then(|version| version.committed) else { continue };
            let before = row.committed_at(statement.start);
            let view = state.view(writer, statement.start);
            let effect = inner!(self.effect(&situation, before, &view, evaluator, laboratory));
            if effect.is_some() {
                let values = before.and_then(|version| version.values.as_ref());
                let column = self.scanned_key(statement.sql, situation.table, evaluator);
                let key = column.and_then(|column| scan::integer(&values?[column]));
                stops.add(key, until);
            }
        }
        Ok(Ok(stops))
    }

    /// The possible outcomes for one row under one statement.
    fn treatments(
        &self,
        situation: &Situation<'_, 'r>,
        stops: &Stops,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Vec<Treatment>> {
        let Situation { row, writer, statement, .. } = *situation;
        let (sees, begin) = self.view_of(writer, statement);
        let (versions, views) = self.could_see(situation, stops, evaluator);
        let mut effects = Vec::new();
        for version in &versions {
            for view in &views {
                effects.push(inner!(self.effect(situation, *version, view, evaluator, laboratory)));
            }
        }
        let changed_since = versions.len() > 1;
        // PostgreSQL checks such a row again together with the rows of other tables that it was joined with before
        // (src/backend/executor/README, EvalPlanQual): what a NOT EXISTS did not find, it does not look for again.
        // Whether a query became a join is up to the optimizer.
        let judged_again =
            sees == WriteView::StatementSnapshot && changed_since && effects[0].is_some();
        if judged_again && situation.shape.has_subquery {
            return Ok(Err(Unfollowed::JudgedAgain));
        }
        let was_there = row.committed_at(begin).is_some_and(|version| version.values.is_some());
        let how = |version: &Version| match was_there {
            _ if version.made < statement.start => Deviation::Locked,
            true => Deviation::Released,
            false => Deviation::Inserted,
        };
        let (mut held, mut held_otherwise) = (None, false);
        for version in row.held_by_others(writer) {
            let effect = self.effect(situation, Some(version), &views[0], evaluator, laboratory);
            let matches = inner!(effect).is_some();
            held = held.or(matches.then(|| how(version)));
            held_otherwise |= !matches;
        }
        let last = versions.last().copied().flatten().filter(|_| changed_since);
        let deviation = last.map_or(Deviation::Earlier, how);
        let (views, is_certain) = (views.len(), !stops.is_unknown());
        let effects =
            Effects { effects, views, changed_since, deviation, is_certain, held, held_otherwise };
        Ok(Ok(effects.treatments(sees)))
    }

    /// The versions of a row that a statement could see, oldest first, and what its queries could see of other tables.
    fn could_see<'s>(
        &self,
        situation: &Situation<'s, 'r>,
        stops: &Stops,
        evaluator: &Evaluator<'r>,
    ) -> (Vec<Option<&'s Version>>, Vec<Contents>) {
        let Situation { state, row, writer, statement, .. } = *situation;
        let (sees, begin) = self.view_of(writer, statement);
        let mut versions: Vec<Option<&Version>> = Vec::new();
        if let Some(own) = row.own(writer) {
            versions.push(Some(own));
        } else {
            let column = self.scanned_key(statement.sql, situation.table, evaluator);
            let keys = column.and_then(|column| scan::keys(row, column));
            let reached = stops.reached(keys.as_deref(), begin);
            versions.push(row.committed_at(reached));
            versions.extend(row.committed_between(reached, statement.end).into_iter().map(Some));
        }
        let mut views = vec![state.view(writer, begin)];
        if situation.shape.has_subquery && sees == WriteView::Latest {
            views = self.views(state, writer, statement);
            views.reverse();
        }
        (versions, views)
    }

    /// All that will be asked about a row.
    fn wanted(
        &self,
        situation: &Situation<'_, 'r>,
        stops: &Stops,
        evaluator: &Evaluator<'r>,
    ) -> Vec<Contents> {
        let (versions, views) = self.could_see(situation, stops, evaluator);
        let seen = versions
            .into_iter()
            .flatten()
            .flat_map(|version| views.iter().map(move |view| (version, view)));
        let held = situation.row.held_by_others(situation.writer);
        let all = seen.chain(held.map(|version| (version, &views[0])));
        let contents = all.filter_map(|(version, view)| {
            let mut contents = others(situation, view, evaluator);
            contents.insert(situation.table, vec![version.values.clone()?]);
            Some(contents)
        });
        contents.collect()
    }

    /// What the statement does to one version of a row; `None` = nothing.
    pub(super) fn effect(
        &self,
        situation: &Situation<'_, 'r>,
        version: Option<&Version>,
        view: &Contents,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Option<Effect>> {
        let Some(values) = version.and_then(|version| version.values.as_ref()) else {
            return Ok(Ok(None));
        };
        let others = others(situation, view, evaluator);
        let session = self.committed[situation.writer].session;
        let sql = situation.statement.sql;
        let effect =
            evaluator.on_row(session, sql, situation.table, values, &others, laboratory)?;
        let Ok(effect) = effect else { return Ok(Err(Unfollowed::Untried)) };
        let nothing = effect.affected == 0 && effect.values.as_ref() == Some(values);
        Ok(Ok((!nothing).then_some(effect)))
    }
}

/// What stands in other tables when a statement meets a row.
fn others(situation: &Situation<'_, '_>, view: &Contents, evaluator: &Evaluator<'_>) -> Contents {
    let mut others = if situation.shape.has_subquery {
        view.clone()
    } else {
        let needed = evaluator.may_refer_to(situation.table);
        let latest = situation.state.view(situation.writer, situation.statement.end);
        latest.into_iter().filter(|(table, _)| needed.contains(table)).collect()
    };
    others.remove(&situation.table);
    others
}
