//! Whether a version matches a condition, decided on its values alone.
//!
//! Idea: a condition that chooses rows one by one can be asked about any version, also of rows that were never there
//! together: the plain ones are computed, the others are asked of the DBMS, by the same statement on a table with only
//! that row. Values that no answer showed are found out in the same way: by the statement that wrote them, on the
//! version that it replaced. Nothing of this happens inside the transactions.
//!
//! Assumption: a statement does with one row what it does with it among others; where it has a query inside, or takes
//! some of the rows, nothing is asked. Blind spot: a row that cannot stand alone (a foreign key): then it is not known.

use std::collections::HashMap;

use anchorite_model::{Run, RunError, Value};
use anchorite_sql::chained::Effect;
use anchorite_sql::followed::{Tables, Write};
use anchorite_sql::formula::{Formula, Scope};

use super::case::{ChainedCase, Part};
use super::known::Known;
use super::looks::Look;
use super::removed;
use super::rows::{self, VersionId, Versions};
use crate::evidence::evaluator::{Contents, Evaluator, Question};
use crate::laboratory::Laboratory;

/// Whether a version matches the condition of a look, by their numbers; what is not in it is not known.
pub type Matches = HashMap<(usize, VersionId), bool>;

/// Finds out the values of versions that no answer showed.
pub fn complete(
    versions: &mut Versions,
    known: Known<'_, '_>,
    evaluator: &mut Evaluator<'_>,
    laboratory: &mut Laboratory<'_>,
) -> Result<(), RunError> {
    let Known { run, case, transactions, .. } = known;
    let writers = rows::writers(transactions);
    // A version comes after the one that it replaced.
    for id in 0..versions.all.len() {
        let version = &versions.all[id];
        let (Some(step), Some(writer)) = (case.step(version.n), version.writer) else { continue };
        if version.values.is_some() || version.is_gone {
            continue;
        }
        let table = versions.rows[version.row].table;
        let session = transactions[writer].session;
        let mut contents = Contents::new();
        if step.chained.unseen.is_empty() {
            match version.before.map(|before| versions.all[before].values.clone()) {
                Some(Some(values)) => drop(contents.insert(table, vec![values])),
                Some(None) => continue,
                None => {}
            }
        } else {
            // It depends on other rows, which were read immediately before.
            let Some(around) = removed::around(run, case, &writers, version.n) else { continue };
            contents = around;
        }
        let sql = step.chained.sql.as_str();
        let asked = Question { session, sql, contents };
        let Ok(after) = known.on(asked, evaluator, laboratory)? else { continue };
        let made = after.tables[table].1.rows.iter().find(|row| {
            let chain = Versions::chain(row);
            chain.is_some_and(|chain| versions.with_chain(table, chain) == Some(id))
        });
        let made = made.cloned();
        versions.all[id].values = made;
    }
    Ok(())
}

/// Asks every look that is whole about every version of the rows in its table.
pub fn matches(
    known_run: Known<'_, '_>,
    looks: &[Look],
    versions: &Versions,
    evaluator: &mut Evaluator<'_>,
    laboratory: &mut Laboratory<'_>,
) -> Result<Matches, RunError> {
    let Known { run, case, transactions, .. } = known_run;
    let plain = plain_tables(run, case);
    let mut known = Matches::new();
    for (at, look) in looks.iter().enumerate() {
        if !look.is_whole && !look.is_for_keys {
            continue;
        }
        let Some(step) = case.step(look.n) else { continue };
        let filter = plain.as_ref().and_then(|tables| filter(tables, &step.sql));
        for (id, version) in versions.all.iter().enumerate() {
            if versions.rows[version.row].table != look.table {
                continue;
            }
            if version.is_gone {
                known.insert((at, id), false);
                continue;
            }
            if step.part == Part::Set {
                known.insert((at, id), true);
                continue;
            }
            let Some(values) = &version.values else { continue };
            let computed = match &filter {
                Some((table, filter)) if !look.is_for_keys => {
                    let columns = &plain.as_ref().map(|tables| &tables.all[*table].columns);
                    columns.and_then(|columns| computed(columns, filter.as_ref(), values))
                }
                _ => None,
            };
            let decided = match computed {
                Some(decided) => Some(decided),
                None => {
                    let session = transactions[look.reader].session;
                    let asked = Asked { session, table: look.table, values, known: known_run };
                    asked.matches(&step.chained, evaluator, laboratory)?
                }
            };
            known.extend(decided.map(|decided| ((at, id), decided)));
        }
    }
    Ok(known)
}

/// The tables of the case, if all of them are plain.
fn plain_tables(run: &Run, case: &ChainedCase) -> Option<Tables> {
    Tables::of(&case.case, run.target.product.dialect()).map(|(tables, _)| tables)
}

/// The condition of a plain statement, with its table; `None` if it is not plain.
fn filter(tables: &Tables, sql: &str) -> Option<(usize, Option<Formula>)> {
    if let Some(read) = tables.read(sql) {
        return Some((read.table, read.filter));
    }
    match tables.write(sql)? {
        Write::Update { table, filter, .. } | Write::Delete { table, filter } => {
            Some((table, filter))
        }
        Write::Insert { .. } => None,
    }
}

fn computed(columns: &[String], filter: Option<&Formula>, row: &[Value]) -> Option<bool> {
    match filter {
        None => Some(true),
        Some(filter) => Some(filter.truth(Scope { columns, row })? == Some(true)),
    }
}

/// A row that stands alone in its table.
struct Asked<'a, 'r> {
    session: usize,
    table: usize,
    values: &'a [Value],
    known: Known<'a, 'r>,
}

impl Asked<'_, '_> {
    /// Whether the statement chooses it; `None` if that cannot be found out.
    fn matches(
        &self,
        chained: &anchorite_sql::chained::Chained,
        evaluator: &mut Evaluator<'_>,
        laboratory: &mut Laboratory<'_>,
    ) -> Result<Option<bool>, RunError> {
        let contents = Contents::from([(self.table, vec![self.values.to_vec()])]);
        let (session, sql) = (self.session, chained.sql.as_str());
        let asked = Question { session, sql, contents };
        let after = self.known.on(asked, evaluator, laboratory)?;
        let Ok(after) = after else { return Ok(None) };
        let left = &after.tables[self.table].1.rows;
        Ok(match &chained.effect {
            Effect::Reads(_) => Some(!after.returned.is_empty()),
            Effect::Lists(_) => {
                let is_listed = |row: &Vec<Value>| matches!(row.last(), Some(Value::Text(_)));
                Some(after.returned.iter().any(is_listed))
            }
            Effect::Updates(_) => {
                let now = left.first().and_then(|row| Versions::chain(row));
                Some(now != Versions::chain(self.values))
            }
            Effect::Deletes(_) => Some(left.is_empty()),
            // A row with one of its keys is in the way of one of its rows.
            Effect::Inserts { rows: Some(rows), .. } => {
                // The table is named, so that rows that it refers to are added.
                let nothing = Contents::from([(self.table, Vec::new())]);
                let asked = Question { session, sql, contents: nothing };
                let alone = self.known.on(asked, evaluator, laboratory)?;
                let alone = alone.map(|after| after.tables[self.table].1.rows.len());
                if alone != Ok(*rows) {
                    return Ok(None);
                }
                let is_changed = !left.iter().any(|row| row == self.values);
                Some(is_changed || left.len() < rows + 1)
            }
            Effect::Inserts { .. } | Effect::None => None,
        })
    }
}
