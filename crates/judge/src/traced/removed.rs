//! Which rows a statement removed without returning them.
//!
//! Idea: they were read and locked immediately before. A DELETE removed all of these; REPLACE and MERGE removed those
//! that they also remove from a table with just these rows, which the DBMS is asked after the run. Assumption: nothing
//! came between; otherwise nothing is said.

use anchorite_model::{Run, Value};
use anchorite_sql::chained::Effect;

use super::Untold;
use super::between::Between;
use super::case::{ChainedCase, Part};
use super::known::Known;
use super::rows::{Removed, Versions, Writers, read_before, writers};
use crate::evidence::evaluator::{Contents, Evaluator, Question};
use crate::laboratory::Laboratory;

/// What REPLACE and MERGE removed.
pub fn removed(
    known: Known<'_, '_>,
    evaluator: &mut Evaluator<'_>,
    laboratory: &mut Laboratory<'_>,
) -> Result<Removed, Untold> {
    let Known { run, case, transactions, .. } = known;
    let writers = writers(transactions);
    let mut removed = Removed::new();
    for (&n, (writer, performed)) in &writers {
        let Some(step) = case.step(n).filter(|step| step.part == Part::Own) else { continue };
        let Effect::Inserts { table, removes: true, .. } = &step.chained.effect else { continue };
        if performed.reply.is_err() {
            continue;
        }
        let found = read_before(run, case, &writers, performed)?;
        if found.is_empty() {
            continue;
        }
        let table =
            named(run, table).ok_or("REPLACE is about a table that is not one of the case")?;
        let mut contents = around(run, case, &writers, n).unwrap_or_default();
        contents.insert(table, found.clone());
        let (session, sql) = (transactions[*writer].session, step.chained.sql.as_str());
        let after = known.on(Question { session, sql, contents }, evaluator, laboratory)?;
        let after = after.map_err(|_| "what REPLACE did to other rows is not known")?;
        let left: Vec<&str> =
            after.tables[table].1.rows.iter().filter_map(|row| Versions::chain(row)).collect();
        let is_left = |row: &Vec<Value>| {
            let chain = Versions::chain(row).unwrap_or_default();
            let is_it = |now: &&str| {
                now.strip_prefix(chain).is_some_and(|more| more.is_empty() || more.starts_with(','))
            };
            left.iter().any(is_it)
        };
        removed.insert(n, found.into_iter().filter(|row| !is_left(row)).collect());
    }
    Ok(removed)
}

fn named(run: &Run, name: &str) -> Option<usize> {
    run.final_state.iter().position(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// What the queries of whole tables before a statement returned; `None` if something came between.
pub fn around(run: &Run, case: &ChainedCase, writers: &Writers<'_>, n: usize) -> Option<Contents> {
    let of = case.of(n);
    let (_, performed) = *writers.get(&n)?;
    let mut contents = Contents::new();
    for other in (1..n).rev().take_while(|at| case.of(*at) == of) {
        let step = case.step(other).filter(|step| step.part == Part::Set);
        let Some(Effect::Reads(names)) = step.map(|step| &step.chained.effect) else { continue };
        let (_, read) = *writers.get(&other)?;
        let name = names.first()?;
        if (Between { run, case }).is_disturbed(of, name, read.end, performed.end) {
            return None;
        }
        let table = named(run, name)?;
        let width = run.final_state[table].1.columns.len();
        let rows = read.reply.ok()?.results.iter().flat_map(|result| &result.rows);
        contents.insert(table, rows.map(|row| row[row.len() - width..].to_vec()).collect());
    }
    Some(contents)
}
