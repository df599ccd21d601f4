//! What an UPDATE or DELETE may have done: the must/may rule, row by row.

use anchorite_claims::{Deviation, WriteView};

use super::asked::{Situation, others};
use super::inner;
use super::own_table::{CheckedAgain, checked_again};
use super::scan::Stops;
use super::simulate::{Branches, Outer, Simulation};
use super::treatment::{Effects, Treatment, combinations};
use super::unfollowed::Unfollowed;
use crate::evidence::evaluator::{Contents, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{State, Version, Writer};
use crate::evidence::words::tuple;
use crate::laboratory::Laboratory;
use anchorite_sql::WriteShape;

/// More rows than this that may be treated either way by one statement are not followed.
const MOST_CHOICES: usize = 6;

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
        let beside = self.beside_its_snapshot(state, writer, statement, shape, table);
        let sql = beside.as_deref().unwrap_or(statement.sql);
        if (shape.names_table_again && beside.is_none()) || acts {
            return self.whole(state, writer, statement, true, evaluator, laboratory);
        }
        if self.view_of(writer, statement).0 == WriteView::Retried {
            return self.retried(state, writer, statement, shape, evaluator, laboratory);
        }
        let dirty = &self.dirty(state, writer, statement, evaluator);
        let situation = |row| Situation { state, row, table, writer, statement, sql, shape, dirty };
        let rows = state.rows.iter().enumerate().filter(|(_, row)| row.table == table);
        let stops =
            inner!(self.stops(rows.clone().map(|(_, row)| situation(row)), evaluator, laboratory));
        let wanted = rows
            .clone()
            .flat_map(|(_, row)| self.wanted(&situation(row), &stops, evaluator))
            .collect::<Vec<Contents>>();
        let session = self.followed[writer].session;
        evaluator.find_out(session, sql, &wanted, laboratory)?;
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
        let other = dirty.other.or_else(|| self.unseen(state, writer, statement, table, evaluator));
        Ok(Ok(Branches { next, certain, other }))
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
                .find(|version| version.made < statement.start && version.writer != Some(writer))
                .copied();
            let Some(until) = held.and_then(|version| version.committed) else { continue };
            let before = row.committed_at(statement.start);
            let view = state.view(writer, statement.start);
            let matches = self.matches(&situation, before, &view, evaluator, laboratory);
            let passes = held.is_some_and(|_| self.looks_dirty(statement))
                && inner!(self.is_otherwise(&situation, held, &view, evaluator, laboratory));
            if inner!(matches) && !passes {
                let Some(values) = before.and_then(|version| version.values.as_ref()) else {
                    continue;
                };
                if stops.is_empty() {
                    let (session, of) = (self.followed[writer].session, (situation.table, &view));
                    stops.set_path(self.path(session, statement, of, evaluator, laboratory)?);
                }
                stops.add(state, row, values, until);
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
        let (versions, views) = self.could_see(situation, stops);
        let mut effects = Vec::new();
        for version in &versions {
            for view in &views {
                effects.push(inner!(self.effect(situation, *version, view, evaluator, laboratory)));
            }
        }
        let changed_since = versions.len() > 1;
        let is_checked_again =
            sees == WriteView::StatementSnapshot && changed_since && effects[0].is_some();
        let again = match is_checked_again && situation.shape.has_subquery {
            true => checked_again(statement.sql, self.dialect),
            false => CheckedAgain::Surely,
        };
        if again == CheckedAgain::Unknown {
            return Ok(Err(Unfollowed::JudgedAgain));
        }
        let was_there = row.committed_at(begin).is_some_and(|version| version.values.is_some());
        let how = |version: &Version| match was_there {
            _ if version.made < statement.start => Deviation::Locked,
            true => Deviation::Released,
            false => Deviation::Inserted,
        };
        let mut held = None;
        for version in row.held_by_others(writer) {
            let lasts = version.writer.is_some_and(|other| self.followed[other].committed);
            let effect = self.effect(situation, Some(version), &views[0], evaluator, laboratory);
            held = held.or(inner!(effect).filter(|_| lasts).map(|_| how(version)));
        }
        let otherwise =
            inner!(self.held_otherwise(situation, &versions, &views[0], evaluator, laboratory));
        let last = versions.last().copied().flatten().filter(|_| changed_since);
        let deviation = last.map_or(Deviation::Earlier, how);
        let (of_views, is_certain) = (views.len(), stops.is_known(situation.state, row));
        let effects = Effects {
            effects,
            views: of_views,
            changed_since,
            again,
            deviation,
            is_certain,
            held,
            otherwise,
        };
        let mut possible = effects.treatments(sees);
        if inner!(self.has_to_wait(situation, &views[0], evaluator, laboratory)) {
            possible.retain(|treatment| !treatment.leaves());
        }
        inner!(self.add_dirty(situation, &versions, &mut possible, evaluator, laboratory));
        Ok(Ok(possible))
    }

    /// Whether the statement has to wait for a row, even if it would keep its values: its committed version matches,
    /// and another transaction has held it from before the statement began until after its end.
    fn has_to_wait(
        &self,
        situation: &Situation<'_, 'r>,
        view: &Contents,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<bool> {
        let Situation { row, writer, statement, shape, .. } = *situation;
        let mut held = row.held_by_others(writer);
        let is_held = held.any(|version| version.made < statement.start);
        let is_known = !shape.has_subquery && !self.looks_dirty(statement);
        if !is_held || !is_known || self.view_of(writer, statement).0 != WriteView::Latest {
            return Ok(Ok(false));
        }
        let committed = row.committed_at(statement.start);
        self.matches(situation, committed, view, evaluator, laboratory)
    }

    /// Adds the outcomes that only versions give which are not committed, read by a query inside the statement.
    fn add_dirty(
        &self,
        situation: &Situation<'_, 'r>,
        versions: &[Option<&Version>],
        possible: &mut Vec<Treatment>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<()> {
        for view in &situation.dirty.views {
            let mut last = None;
            let mut matches_always = true;
            for version in versions {
                last = inner!(self.effect(situation, *version, view, evaluator, laboratory));
                matches_always &= last.is_some();
            }
            if let Some(effect) = last.filter(|effect| !possible.iter().any(|it| it.gives(effect)))
            {
                possible.push(Treatment::Dirty(effect));
            }
            if !matches_always && !possible.iter().any(Treatment::leaves) {
                let (kind, is_certain) = (Deviation::Uncommitted, true);
                possible.push(Treatment::Deviating { kind, is_certain });
            }
        }
        Ok(Ok(()))
    }

    /// The versions of a row that a statement could see, oldest first, and what its queries could see of other tables.
    fn could_see<'s>(
        &self,
        situation: &Situation<'s, 'r>,
        stops: &Stops,
    ) -> (Vec<Option<&'s Version>>, Vec<Contents>) {
        let Situation { state, row, writer, statement, .. } = *situation;
        let (sees, begin) = self.view_of(writer, statement);
        let mut versions: Vec<Option<&Version>> = Vec::new();
        if let Some(own) = row.own(writer) {
            versions.push(Some(own));
        } else {
            let reached = stops.reached(state, row, begin);
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
        let (versions, views) = self.could_see(situation, stops);
        let all_views = || views.iter().chain(&situation.dirty.views);
        let seen = versions
            .into_iter()
            .flatten()
            .flat_map(|version| all_views().map(move |view| (version, view)));
        let (row, writer) = (situation.row, situation.writer);
        let undone = row.undone_since(writer, situation.statement.start);
        let held = row.held_by_others(writer).chain(undone);
        let all = seen.chain(held.map(|version| (version, &views[0])));
        let contents = all.filter_map(|(version, view)| {
            let mut contents = others(situation, view, evaluator);
            contents.insert(situation.table, vec![version.values.clone()?]);
            Some(contents)
        });
        contents.collect()
    }
}
