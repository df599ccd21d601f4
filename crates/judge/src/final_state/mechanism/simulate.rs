//! Follows the statements of a run through the versions of the rows, along every course that the
//! mechanism admits.

use anchorite_claims::{Deviation, DocumentedWrites, WriteView, WriteWord};
use anchorite_model::sql::{Dialect, StatementKind};
use anchorite_model::{Case, Rows, Run};

use super::evaluate::{Contents, Effect, Evaluator};
use super::shape::{WriteShape, write_shape};
use super::state::{Row, State, Version, Writer};
use crate::final_state::compare::{abridged, spelled, tuple};
use crate::final_state::transactions::{Performed, Transaction};

/// More courses than this are not followed.
const MOST_COURSES: usize = 64;
/// More rows than this with two possible fates in one statement are not followed.
const MOST_CHOICES: usize = 6;

/// A row that a write left alone although its latest version matches.
#[derive(Debug, Clone)]
pub struct LeftAlone {
    /// The statement's number.
    pub n: usize,
    /// Its kind.
    pub word: WriteWord,
    /// How it came to that.
    pub kind: Deviation,
    /// The row, spelled out.
    pub row: String,
}

/// One way in which everything may have happened.
#[derive(Debug, Clone)]
pub struct Course {
    /// The rows that were left alone on the way.
    pub deviations: Vec<LeftAlone>,
    /// Why it does not arrive where the run did; `None` = it does.
    pub failure: Option<String>,
}

/// What to follow.
pub struct Simulation<'a, 'r> {
    run: &'r Run,
    committed: &'a [&'a Transaction<'r>],
    sees: WriteView,
    dialect: Dialect,
    actions: Vec<Action>,
}

#[derive(Clone, Copy)]
enum Action {
    Perform { writer: Writer, statement: usize },
    Commit { writer: Writer },
}

/// What may become of one row.
enum Fate {
    Left,
    Deviating(Deviation),
    Changed(Effect),
}

type Outer<T, E> = Result<Result<T, String>, E>;

/// Takes the value out of a double result, or returns the inner error.
macro_rules! inner {
    ($value:expr) => {
        match $value? {
            Ok(value) => value,
            Err(reason) => return Ok(Err(reason)),
        }
    };
}

impl<'a, 'r> Simulation<'a, 'r> {
    /// Prepares to follow these transactions.
    pub fn new(
        run: &'r Run,
        committed: &'a [&'a Transaction<'r>],
        documented: &DocumentedWrites<'_>,
    ) -> Self {
        let mut actions = Vec::new();
        for (writer, transaction) in committed.iter().enumerate() {
            for (statement, performed) in transaction.statements.iter().enumerate() {
                if performed.kind.writes() && performed.reply.is_ok() && !performed.undone {
                    actions.push((performed.end, 0, Action::Perform { writer, statement }));
                }
            }
            actions.push((transaction.ended, 1, Action::Commit { writer }));
        }
        actions.sort_by_key(|(event, rank, _)| (*event, *rank));
        let actions = actions.into_iter().map(|(_, _, action)| action).collect();
        let dialect = Dialect::of(run.target.product);
        Self { run, committed, sees: documented.claims.sees, dialect, actions }
    }

    /// Every course, as far as it goes.
    pub fn courses<E>(
        &self,
        initial: &[(String, Rows)],
        evaluator: &mut Evaluator<'r>,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Outer<Vec<Course>, E> {
        let mut courses = Vec::new();
        let state = State::initial(initial);
        inner!(self.follow(state, 0, Vec::new(), &mut courses, evaluator, rehearse));
        Ok(Ok(courses))
    }

    fn follow<E>(
        &self,
        mut state: State,
        at: usize,
        deviations: Vec<LeftAlone>,
        courses: &mut Vec<Course>,
        evaluator: &mut Evaluator<'r>,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Outer<(), E> {
        let Some(action) = self.actions.get(at) else {
            let failure = self.arrives(&state);
            courses.push(Course { deviations, failure });
            return Ok(Ok(()));
        };
        let (writer, statement) = match *action {
            Action::Commit { writer } => {
                state.commit(writer, self.committed[writer].ended);
                return self.follow(state, at + 1, deviations, courses, evaluator, rehearse);
            }
            Action::Perform { writer, statement } => {
                (writer, &self.committed[writer].statements[statement])
            }
        };
        let sql = statement.sql;
        let Some(shape) = write_shape(sql, self.dialect) else {
            return Ok(Err(format!(
                "a statement is too complex to be followed: {}",
                abridged(sql)
            )));
        };
        let branches = match statement.kind {
            StatementKind::Update | StatementKind::Delete => {
                inner!(self.change(&state, writer, statement, &shape, evaluator, rehearse))
            }
            _ => inner!(self.insert(&state, writer, statement, &shape, evaluator, rehearse)),
        };
        if branches.next.is_empty() {
            let failure = Some(branches.failure(statement));
            courses.push(Course { deviations, failure });
            return Ok(Ok(()));
        }
        for (next, more) in branches.next {
            if courses.len() >= MOST_COURSES {
                return Ok(Err("too many courses are possible".to_owned()));
            }
            let deviations = deviations.iter().cloned().chain(more).collect();
            inner!(self.follow(next, at + 1, deviations, courses, evaluator, rehearse));
        }
        Ok(Ok(()))
    }

    fn arrives(&self, state: &State) -> Option<String> {
        self.run.final_state.iter().enumerate().find_map(|(table, (name, rows))| {
            let mut seen: Vec<_> = rows.rows.iter().collect();
            seen.sort();
            let expected = state.committed_rows(table);
            (seen != expected).then(|| {
                let expected: Vec<_> = expected.into_iter().cloned().collect();
                format!(
                    "table {name} ends with {}; following each row, it should end with {}",
                    spelled(&rows.rows),
                    spelled(&expected)
                )
            })
        })
    }

    /// The states that an UPDATE or DELETE may lead to.
    fn change<E>(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'r>,
        shape: &WriteShape,
        evaluator: &mut Evaluator<'r>,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Outer<Branches, E> {
        let Some(table) = state.tables.iter().position(|name| *name == shape.table) else {
            return Ok(Err(format!("there is no table {} at the end", shape.table)));
        };
        if shape.names_table_again {
            return Ok(Err("a write reads the table that it writes".to_owned()));
        }
        let mut fates: Vec<(usize, Vec<Fate>)> = Vec::new();
        for (index, row) in state.rows.iter().enumerate().filter(|(_, row)| row.table == table) {
            let situation = Situation { state, row, table, writer, statement, shape };
            let fate = inner!(self.fates(&situation, evaluator, rehearse));
            fates.push((index, fate));
        }
        if fates.iter().filter(|(_, fate)| fate.len() > 1).count() > MOST_CHOICES {
            return Ok(Err("too many rows may be judged either way".to_owned()));
        }
        let observed = statement.reply.ok().and_then(|answer| answer.affected);
        let certain = fates.iter().filter_map(|(index, fate)| {
            let changed = matches!(fate.as_slice(), [Fate::Changed(_)]);
            state.rows[*index].visible(writer, statement.end).filter(|_| changed).map(|v| tuple(v))
        });
        let certain = certain.collect();
        let next = combinations(state, &fates, writer, statement, observed);
        Ok(Ok(Branches { next, certain }))
    }

    /// What may become of one row under one statement.
    fn fates<E>(
        &self,
        situation: &Situation<'_, 'r>,
        evaluator: &mut Evaluator<'r>,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Outer<Vec<Fate>, E> {
        let Situation { state, row, writer, statement, .. } = *situation;
        let transaction = self.committed[writer];
        let optimistic = transaction
            .begin
            .is_some_and(|begin| begin.to_ascii_uppercase().contains("OPTIMISTIC"));
        let sees = if optimistic { WriteView::TransactionSnapshot } else { self.sees };
        let begin = match sees {
            WriteView::TransactionSnapshot if optimistic => transaction.began,
            WriteView::TransactionSnapshot => snapshot_event(transaction),
            WriteView::Latest | WriteView::StatementSnapshot => statement.start,
        };
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
        let mut effects = Vec::new();
        for version in &versions {
            for view in &views {
                effects.push(inner!(self.effect(situation, *version, view, evaluator, rehearse)));
            }
        }
        let first = effects.first().cloned().flatten();
        let last = effects.iter().rev().take(views.len()).find_map(Clone::clone);
        let changed_since = versions.len() > 1;
        let deviation = versions.last().copied().flatten().map_or(Deviation::Passed, |version| {
            if version.made < statement.start { Deviation::Locked } else { Deviation::Passed }
        });
        let mut held = false;
        for version in row.held_by_others(writer) {
            let effect = self.effect(situation, Some(version), &views[0], evaluator, rehearse);
            held |= inner!(effect).is_some();
        }
        let left = || match (&last, changed_since || views.len() > 1) {
            (Some(_), true) => Fate::Deviating(deviation),
            _ if held => Fate::Deviating(Deviation::Locked),
            _ => Fate::Left,
        };
        let must = effects.iter().all(Option::is_some);
        Ok(Ok(match (sees, last.clone()) {
            (WriteView::Latest, Some(effect)) if must => vec![Fate::Changed(effect)],
            (WriteView::Latest, Some(effect)) => vec![Fate::Changed(effect), left()],
            (WriteView::StatementSnapshot, Some(effect)) if first.is_some() => {
                vec![Fate::Changed(effect)]
            }
            // A row that was changed since the snapshot cannot be written: only an error is right.
            (WriteView::TransactionSnapshot, _) if first.is_some() && changed_since => Vec::new(),
            (WriteView::TransactionSnapshot, Some(effect)) if first.is_some() => {
                vec![Fate::Changed(effect)]
            }
            _ => vec![left()],
        }))
    }

    /// What the statement does to one version of a row; `None` = nothing.
    fn effect<E>(
        &self,
        situation: &Situation<'_, 'r>,
        version: Option<&Version>,
        view: &Contents,
        evaluator: &mut Evaluator<'r>,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Outer<Option<Effect>, E> {
        let Some(values) = version.and_then(|version| version.values.as_ref()) else {
            return Ok(Ok(None));
        };
        let mut others = if situation.shape.has_subquery { view.clone() } else { Contents::new() };
        others.remove(&situation.table);
        let session = self.committed[situation.writer].session;
        let sql = situation.statement.sql;
        let effect =
            inner!(evaluator.on_row(session, sql, situation.table, values, &others, rehearse));
        let nothing = effect.affected == 0 && effect.values.as_ref() == Some(values);
        Ok(Ok((!nothing).then_some(effect)))
    }

    /// The state after an INSERT or REPLACE, which is carried out on everything that it can see.
    fn insert<E>(
        &self,
        state: &State,
        writer: Writer,
        statement: &Performed<'r>,
        shape: &WriteShape,
        evaluator: &mut Evaluator<'r>,
        rehearse: &mut dyn FnMut(&Case) -> Result<Run, E>,
    ) -> Outer<Branches, E> {
        let Some(table) = state.tables.iter().position(|name| *name == shape.table) else {
            return Ok(Err(format!("there is no table {} at the end", shape.table)));
        };
        let session = self.committed[writer].session;
        let before = state.view(writer, statement.end);
        let (affected, after) = inner!(evaluator.on(session, statement.sql, &before, rehearse));
        let observed = statement.reply.ok().and_then(|answer| answer.affected);
        let mut gone = before.get(&table).cloned().unwrap_or_default();
        let mut added = Vec::new();
        for values in &after[table].1.rows {
            match gone.iter().position(|old| old == values) {
                Some(at) => drop(gone.swap_remove(at)),
                None => added.push(values.clone()),
            }
        }
        if !gone.is_empty() || shape.has_subquery {
            return Ok(Err(format!(
                "an INSERT that also reads or replaces rows is not followed: {}",
                abridged(statement.sql)
            )));
        }
        if observed != Some(affected) {
            return Ok(Ok(Branches::default()));
        }
        let mut next = state.clone();
        for values in added {
            let version = made(Some(values), writer, statement);
            next.rows.push(Row::new(table, version));
        }
        Ok(Ok(Branches { next: vec![(next, Vec::new())], certain: Vec::new() }))
    }
}

/// Where a statement may lead.
#[derive(Default)]
struct Branches {
    /// The states, with the rows that were left alone on the way there.
    next: Vec<(State, Vec<LeftAlone>)>,
    /// The rows that it must change in every case, spelled out.
    certain: Vec<String>,
}

impl Branches {
    /// Why no way leads on.
    fn failure(&self, statement: &Performed<'_>) -> String {
        let affected = statement.reply.ok().and_then(|answer| answer.affected).unwrap_or(0);
        let did = format!("step {} ({}) affected {affected}", statement.n, abridged(statement.sql));
        if self.certain.is_empty() {
            return format!("{did}, which no version of the rows that it could see gives");
        }
        let rows = self.certain.join(", ");
        format!(
            "{did}, but must change {rows}: it matches in every version from its beginning to its end"
        )
    }
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

fn made(
    values: Option<Vec<anchorite_model::Value>>,
    writer: Writer,
    statement: &Performed<'_>,
) -> Version {
    Version { values, writer: Some(writer), made: statement.end, committed: None }
}

/// A transaction's snapshot is that of its first statement that looks at rows.
fn snapshot_event(transaction: &Transaction<'_>) -> usize {
    let looks =
        |kind: &StatementKind| kind.writes() || matches!(kind, StatementKind::Select { .. });
    let first = transaction.statements.iter().find(|statement| looks(&statement.kind));
    first.map_or(transaction.began, |statement| statement.start)
}

/// Every combination of fates that gives the affected count that was observed.
fn combinations(
    state: &State,
    fates: &[(usize, Vec<Fate>)],
    writer: Writer,
    statement: &Performed<'_>,
    observed: Option<u64>,
) -> Vec<(State, Vec<LeftAlone>)> {
    let word = WriteWord::of(&statement.kind).unwrap_or(WriteWord::Update);
    let mut partial: Vec<(State, Vec<LeftAlone>, u64)> = vec![(state.clone(), Vec::new(), 0)];
    for (index, choices) in fates {
        let mut extended = Vec::new();
        for (state, left, count) in &partial {
            for choice in choices {
                let (mut state, mut left) = (state.clone(), left.clone());
                let row = &mut state.rows[*index];
                match choice {
                    Fate::Left => extended.push((state, left, *count)),
                    Fate::Deviating(kind) => {
                        let values = row.visible(writer, statement.end);
                        let row = values.map_or_else(String::new, |values| tuple(values));
                        left.push(LeftAlone { n: statement.n, word, kind: *kind, row });
                        extended.push((state, left, *count));
                    }
                    // Two uncommitted versions of one row: a dirty write, which nothing excuses.
                    Fate::Changed(_) if row.held_by_others(writer).next().is_some() => {}
                    Fate::Changed(effect) => {
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
