//! What each statement of a committed transaction saw.
//!
//! Idea: a query returns the versions that it read, a write saw those that it replaced. Whatever else it read is not
//! shown, and is noted as such. A statement whose own part was taken back by ROLLBACK TO wrote nothing, and what it
//! read is left out; a transaction that rolled back depends on nothing.

use std::collections::BTreeSet;

use anchorite_model::{Run, StatementKind};
use anchorite_sql::chained::{BETWEEN_CHAINS, Chained, Effect};

use super::Untold;
use super::between::Between;
use super::case::{ChainedCase, ChainedStep, Part};
use super::rows::{VersionId, Versions, copied_from, listed};
use crate::evidence::transactions::{Performed, Transaction};

/// What a statement saw of one table.
#[derive(Debug, Clone)]
pub struct Look {
    /// Whose it is.
    pub reader: usize,
    /// The number of the statement.
    pub n: usize,
    /// The table.
    pub table: usize,
    /// The versions that it read, or replaced.
    pub found: Vec<VersionId>,
    /// Whether `found` is all that matched its condition, and every row matches or not by itself.
    pub is_whole: bool,
    /// Whether it read more of this table than is shown.
    pub is_partial: bool,
    /// Whether an INSERT looked for rows with its keys, and does not say which it found.
    pub is_for_keys: bool,
    /// The look at all rows of the table that was made immediately before, with nothing between.
    pub like: Option<usize>,
    /// Whether a write or a locking read looked: these may see other versions than plain reads.
    pub by_write: bool,
    /// Whether what it wrote does not depend on what it found.
    pub is_blind: bool,
    /// The moment at which it was sent.
    pub start: usize,
    /// The moment of its answer.
    pub end: usize,
}

/// The looks of all committed transactions, in the order of their statements.
pub fn looks(
    run: &Run,
    case: &ChainedCase,
    transactions: &[Transaction<'_>],
    versions: &Versions,
) -> Result<Vec<Look>, Untold> {
    let mut found = Vec::new();
    for (reader, transaction) in transactions.iter().enumerate().filter(|(_, one)| one.committed) {
        for performed in &transaction.statements {
            let Some(step) = case.step(performed.n).filter(|step| step.part != Part::Before) else {
                continue;
            };
            if performed.reply.is_ok() && !performed.undone && !performed.ignored {
                found.extend(of_statement(step, reader, performed, versions)?);
            }
        }
    }
    found.sort_by_key(|look: &Look| (look.reader, look.n));
    for at in 0..found.len() {
        found[at].like = like(run, case, versions, &found, at);
    }
    Ok(found)
}

/// The look at all rows of the same table immediately before, if nothing came between.
fn like(
    run: &Run,
    case: &ChainedCase,
    versions: &Versions,
    looks: &[Look],
    at: usize,
) -> Option<usize> {
    let look = &looks[at];
    let of = case.of(look.n);
    let is_set =
        |n: usize| case.step(n).is_some_and(|step| step.part == Part::Set && step.of == of);
    if !look.is_partial || is_set(look.n) {
        return None;
    }
    let place = looks.iter().position(|one| one.table == look.table && is_set(one.n))?;
    let table = &versions.tables[look.table];
    let is_torn = Between { run, case }.is_disturbed(of, table, looks[place].end, look.end);
    (!is_torn).then_some(place)
}

fn of_statement(
    step: &ChainedStep,
    reader: usize,
    performed: &Performed<'_>,
    versions: &Versions,
) -> Result<Vec<Look>, Untold> {
    let chained = &step.chained;
    let blank = |table: usize| blank(chained, reader, performed, table);
    let number = |name: &String| {
        versions.table(name).ok_or("a statement is about a table that is not one of the case")
    };
    let by_row = chained.decides_by_row.as_ref().map(&number).transpose()?;
    let mut looks: Vec<Look> = Vec::new();
    match &chained.effect {
        Effect::None => {}
        Effect::Reads(names) | Effect::Lists(names) => {
            let tables = names.iter().map(number).collect::<Result<Vec<_>, _>>()?;
            let shown = shown(&chained.effect, &tables, performed, versions);
            for table in tables.iter().copied().collect::<BTreeSet<_>>() {
                let found = shown.iter().filter(|(of, _)| *of == table).map(|(_, id)| *id);
                let found: BTreeSet<VersionId> = found.collect();
                let is_whole = by_row == Some(table);
                looks.push(Look { found: found.into_iter().collect(), is_whole, ..blank(table) });
            }
        }
        Effect::Updates(name) | Effect::Deletes(name) => {
            let table = number(name)?;
            let written: Vec<VersionId> = versions.of_statement(performed.n).collect();
            let found = written.iter().filter_map(|id| versions.all[*id].before).collect();
            // Where rows are returned, they are what counts.
            let counted = performed.reply.ok().filter(|answer| answer.results.is_empty());
            let count = counted.and_then(|answer| answer.affected);
            let is_all = count.is_none_or(|count| count == written.len() as u64);
            let is_whole = is_all && by_row == Some(table);
            looks.push(Look { found, is_whole, is_partial: !is_all, ..blank(table) });
        }
        Effect::Inserts { table, tolerant, .. } => {
            let own = number(table)?;
            let is_for_keys = *tolerant && chained.unseen.is_empty();
            let is_partial = *tolerant && !is_for_keys;
            let written = versions.of_statement(performed.n);
            let found = written.filter_map(|id| versions.all[id].before).collect();
            looks.push(Look { found, is_for_keys, is_partial, ..blank(own) });
            if let (1, Some(source)) = (chained.unseen.len(), chained.unseen.first()) {
                looks.push(copied(performed, number(source)?, versions, blank));
            }
        }
    }
    for name in &chained.unseen {
        let table = number(name)?;
        match looks.iter_mut().find(|look| look.table == table) {
            Some(look) => look.is_partial = true,
            None => looks.push(Look { is_partial: true, ..blank(table) }),
        }
    }
    Ok(looks)
}

/// A look of a statement at a table, of which nothing is known yet.
fn blank(chained: &Chained, reader: usize, performed: &Performed<'_>, table: usize) -> Look {
    Look {
        reader,
        n: performed.n,
        table,
        found: Vec::new(),
        is_whole: false,
        is_partial: false,
        is_for_keys: false,
        like: None,
        by_write: performed.kind != StatementKind::Select { locking: false },
        is_blind: chained.is_blind,
        start: performed.start,
        end: performed.end,
    }
}

/// The versions that a query returned, by table.
fn shown(
    effect: &Effect,
    tables: &[usize],
    performed: &Performed<'_>,
    versions: &Versions,
) -> Vec<(usize, VersionId)> {
    let mut found = Vec::new();
    let results = performed.reply.ok().into_iter().flat_map(|answer| &answer.results);
    for row in results.flat_map(|result| &result.rows) {
        if matches!(effect, Effect::Lists(_)) {
            for (table, chains) in listed(tables, row) {
                let ids = chains.split(BETWEEN_CHAINS);
                found.extend(ids.filter_map(|one| Some((table, versions.with_chain(table, one)?))));
            }
            continue;
        }
        for (table, values) in versions.whole_rows(tables, row) {
            let chain = Versions::chain(values);
            found.extend(chain.and_then(|chain| Some((table, versions.with_chain(table, chain)?))));
        }
    }
    found
}

/// What INSERT … SELECT read: the chains of the rows that it made contain those of the rows that it read.
fn copied(
    performed: &Performed<'_>,
    source: usize,
    versions: &Versions,
    blank: impl Fn(usize) -> Look,
) -> Look {
    let made = versions.of_statement(performed.n).filter(|id| versions.all[*id].before.is_none());
    let values = made.filter_map(|id| versions.all[id].values.as_ref());
    let chains = values.filter_map(|values| copied_from(Versions::chain(values)?));
    let found = chains.filter_map(|chain| versions.with_chain(source, chain)).collect();
    Look { found, ..blank(source) }
}
