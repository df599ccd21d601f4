//! What an UPDATE or DELETE may have done: the must/may rule, row by row.

use anchorite_claims::{Deviation, WriteView, WriteWord};

use super::inner;
use super::simulate::{Branches, LeftAlone, Outer, Simulation, made};
use crate::evidence::evaluator::{Contents, Effect, Evaluator};
use crate::evidence::transactions::Performed;
use crate::evidence::versions::{Row, State, Version, Writer};
use crate::evidence::words::tuple;
use crate::laboratory::Laboratory;
use anchorite_sql::WriteShape;

/// More rows than this that may be treated either way by one statement are not followed.
const MOST_CHOICES: usize = 6;

/// The possible outcomes for one row.
enum Treatment {
    Left,
    Deviating(Deviation),
    Changed(Effect),
    /// Changed by what a query inside the statement found before it waited.
    Outdated(Effect),
}

/// A row, a statement, and everything around them.
#[derive(Clone, Copy)]
struct Situation<'s, 'r> {
    state: &'s State,
    row: &'s Row,
    table: usize,
    writer: Writer,
    statement: &'s Performed<'r>,
    shape: &'s WriteShape,
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
        let Some(table) = state.tables.iter().position(|name| *name == shape.table) else {
            return Ok(Err(format!("there is no table {} at the end", shape.table)));
        };
        if shape.names_table_again {
            return Ok(Err("a write reads the table that it writes".to_owned()));
        }
        let rows = state.rows.iter().enumerate().filter(|(_, row)| row.table == table);
        let situation = |row| Situation { state, row, table, writer, statement, shape };
        let wanted: Vec<Contents> =
            rows.clone().flat_map(|(_, row)| self.wanted(&situation(row), evaluator)).collect();
        let session = self.committed[writer].session;
        evaluator.find_out(session, statement.sql, &wanted, laboratory)?;
        let mut treatments: Vec<(usize, Vec<Treatment>)> = Vec::new();
        for (index, row) in rows {
            let situation = situation(row);
            let possible = inner!(self.treatments(&situation, evaluator, laboratory));
            treatments.push((index, possible));
        }
        if treatments.iter().filter(|(_, possible)| possible.len() > 1).count() > MOST_CHOICES {
            return Ok(Err("too many rows may be judged either way".to_owned()));
        }
        let observed = statement.reply.ok().and_then(|answer| answer.affected);
        let certain = treatments.iter().filter_map(|(index, possible)| {
            let changed = matches!(possible.as_slice(), [Treatment::Changed(_)]);
            state.rows[*index].visible(writer, statement.end).filter(|_| changed).map(|v| tuple(v))
        });
        let certain = certain.collect();
        let next = combinations(state, &treatments, writer, statement, observed);
        Ok(Ok(Branches { next, certain }))
    }

    /// The possible outcomes for one row under one statement.
    fn treatments(
        &self,
        situation: &Situation<'_, 'r>,
        evaluator: &mut Evaluator<'r>,
        laboratory: &mut Laboratory<'_>,
    ) -> Outer<Vec<Treatment>> {
        let Situation { row, writer, statement, .. } = *situation;
        let (sees, _) = self.view_of(writer, statement);
        let (versions, views) = self.could_see(situation);
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
            return Ok(Err("a row was changed meanwhile and judged again by a condition with a \
                           query in it, which may keep what it found before"
                .to_owned()));
        }
        let when_made = |version: &Version| {
            if version.made < statement.start { Deviation::Locked } else { Deviation::Passed }
        };
        let (mut held, mut held_otherwise) = (None, false);
        for version in row.held_by_others(writer) {
            let effect = self.effect(situation, Some(version), &views[0], evaluator, laboratory);
            let matches = inner!(effect).is_some();
            held = held.or(matches.then(|| when_made(version)));
            held_otherwise |= !matches;
        }
        let deviation = versions.last().copied().flatten().map_or(Deviation::Passed, when_made);
        let views = views.len();
        let effects = Effects { effects, views, changed_since, deviation, held, held_otherwise };
        Ok(Ok(effects.treatments(sees)))
    }

    /// The versions of a row that a statement could see, oldest first, and what its queries could see of other tables.
    fn could_see<'s>(
        &self,
        situation: &Situation<'s, 'r>,
    ) -> (Vec<Option<&'s Version>>, Vec<Contents>) {
        let Situation { state, row, writer, statement, .. } = *situation;
        let (sees, begin) = self.view_of(writer, statement);
        let mut versions: Vec<Option<&Version>> = match row.own(writer) {
            Some(own) => vec![Some(own)],
            None => vec![row.committed_at(begin)],
        };
        if row.own(writer).is_none() {
            versions.extend(row.committed_between(begin, statement.end).into_iter().map(Some));
        }
        let mut views = vec![state.view(writer, begin)];
        if situation.shape.has_subquery && sees == WriteView::Latest {
            views.push(state.view(writer, statement.end));
        }
        (versions, views)
    }

    /// All that will be asked about a row.
    fn wanted(&self, situation: &Situation<'_, 'r>, evaluator: &Evaluator<'r>) -> Vec<Contents> {
        let (versions, views) = self.could_see(situation);
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
    fn effect(
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
            inner!(evaluator.on_row(session, sql, situation.table, values, &others, laboratory));
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

/// What a statement does to the versions of a row that it could see.
struct Effects {
    /// For each version, oldest first, one for each view that a query inside the statement could have.
    effects: Vec<Option<Effect>>,
    /// How many views.
    views: usize,
    /// The row was changed while the statement ran, or since its snapshot.
    changed_since: bool,
    /// How it came to that, by the latest version.
    deviation: Deviation,
    /// A version that another transaction has not committed matches: how that came about.
    held: Option<Deviation>,
    /// A version that another transaction has not committed does not match.
    held_otherwise: bool,
}

impl Effects {
    fn treatments(self, sees: WriteView) -> Vec<Treatment> {
        let Self { effects, views, changed_since, .. } = self;
        let is_first = effects[0].is_some();
        let last = effects.iter().rev().take(views).find_map(Clone::clone);
        // What a query inside the statement finds at its end is an equally good reason to leave the row unchanged.
        let matches_at_end = effects.last().is_some_and(Option::is_some);
        let left = || match (matches_at_end, changed_since || views > 1) {
            (true, true) => Treatment::Deviating(self.deviation),
            _ => self.held.map_or(Treatment::Left, Treatment::Deviating),
        };
        let must = effects.iter().all(Option::is_some);
        if must && self.held_otherwise && sees == WriteView::Latest {
            return vec![Treatment::Deviating(Deviation::Held)];
        }
        let before_waiting = effects[effects.len() - views].clone();
        let outdated =
            before_waiting.filter(|effect| last.as_ref() != Some(effect)).map(Treatment::Outdated);
        match (sees, last.clone()) {
            (WriteView::Latest, Some(effect)) => {
                let left = (!must).then(left);
                [Treatment::Changed(effect)].into_iter().chain(left).chain(outdated).collect()
            }
            (WriteView::StatementSnapshot, Some(effect)) if is_first => {
                vec![Treatment::Changed(effect)]
            }
            // A row that was changed since the snapshot cannot be written: only an error is correct.
            (WriteView::TransactionSnapshot, _) if is_first && changed_since => Vec::new(),
            (WriteView::TransactionSnapshot, Some(effect)) if is_first => {
                vec![Treatment::Changed(effect)]
            }
            _ => vec![left()],
        }
    }
}

/// Every combination of treatments that gives the affected count that was observed.
fn combinations(
    state: &State,
    treatments: &[(usize, Vec<Treatment>)],
    writer: Writer,
    statement: &Performed<'_>,
    observed: Option<u64>,
) -> Vec<(State, Vec<LeftAlone>)> {
    let word = WriteWord::of(&statement.kind).unwrap_or(WriteWord::Update);
    let mut partial: Vec<(State, Vec<LeftAlone>, u64)> = vec![(state.clone(), Vec::new(), 0)];
    for (index, choices) in treatments {
        let mut extended = Vec::new();
        for (state, left, count) in &partial {
            for choice in choices {
                let (mut state, mut left) = (state.clone(), left.clone());
                let row = &mut state.rows[*index];
                match choice {
                    Treatment::Left => extended.push((state, left, *count)),
                    Treatment::Deviating(kind) => {
                        // A row that is not committed yet is identified by what was inserted.
                        let inserted = || row.versions.last()?.values.as_ref();
                        let values = row.visible(writer, statement.end).or_else(inserted);
                        let row = values.map_or_else(String::new, |values| tuple(values));
                        left.push(LeftAlone { n: statement.n, word, kind: *kind, row });
                        extended.push((state, left, *count));
                    }
                    // Two uncommitted versions of one row: a dirty write, which nothing excuses.
                    Treatment::Changed(_) | Treatment::Outdated(_)
                        if row.held_by_others(writer).next().is_some() => {}
                    Treatment::Changed(effect) => {
                        row.versions.push(made(effect.values.clone(), writer, statement));
                        extended.push((state, left, count + effect.affected));
                    }
                    Treatment::Outdated(effect) => {
                        left.push(LeftAlone {
                            n: statement.n,
                            word,
                            kind: Deviation::Passed,
                            row: "what its query would find".to_owned(),
                        });
                        row.versions.push(made(effect.values.clone(), writer, statement));
                        extended.push((state, left, count + effect.affected));
                    }
                }
            }
        }
        partial = extended;
    }
    partial
        .into_iter()
        .filter(|(_, _, count)| observed.is_none_or(|observed| observed == *count))
        .map(|(state, left, _)| (state, left))
        .collect()
}
