//! Tables with everything that uses them, other statements of the setup, and rows.

use anchorite_model::StatementKind;
use anchorite_sql::ast::Statement;

use crate::draft::Draft;
use crate::search::{Picker, Search, Stop};
use anchorite_sql::ParsedStatement;
use anchorite_sql::schema;
use anchorite_sql::syntax::{values_of, values_of_mut};

/// Tables, and every statement that names them.
pub(super) fn tables(draft: &mut Draft, picker: &mut Picker<'_>) {
    let names = schema::tables(&draft.setup).into_iter().map(|table| table.name);
    let gone: Vec<String> = names.filter(|_| picker.goes()).collect();
    let stays = |parsed: &ParsedStatement| !gone.iter().any(|name| parsed.mentions(name));
    draft.setup.retain(stays);
    draft.lines.retain(|line| stays(&line.parsed));
}

/// Statements of the setup that create no table: indexes, rows, settings.
pub(super) fn other_setup(draft: &mut Draft, picker: &mut Picker<'_>) {
    draft.setup.retain(|parsed| {
        let creates_table = matches!(parsed.tree(), Some(Statement::CreateTable(_)));
        !picker.goes_if(!creates_table)
    });
}

/// Rows of INSERT … VALUES, in the setup and in sessions. A statement is removed with its last row.
pub(super) fn rows(draft: &mut Draft, picker: &mut Picker<'_>) {
    draft.setup.retain_mut(|parsed| keeps_rows(parsed, picker));
    draft.lines.retain_mut(|line| keeps_rows(&mut line.parsed, picker));
}

fn keeps_rows(parsed: &mut ParsedStatement, picker: &mut Picker<'_>) -> bool {
    let count = parsed.tree().and_then(values_of).map_or(0, |values| values.rows.len());
    if count == 0 || (count == 1 && parsed.kind() == StatementKind::Replace) {
        return true;
    }
    let gone: Vec<bool> = (0..count).map(|_| picker.goes()).collect();
    parsed.edit(|tree| {
        let mut at = 0;
        if let Some(values) = values_of_mut(tree).filter(|_| !gone.iter().all(|gone| *gone)) {
            values.rows.retain(|_| {
                at += 1;
                !gone[at - 1]
            });
        }
    });
    !gone.iter().all(|gone| *gone)
}

/// Two INSERTs into one table, one after the other in the setup, become one.
pub(super) fn merge_inserts(search: &mut Search<'_, '_>) -> Result<(), Stop> {
    let mut at = 0;
    while at + 1 < search.best.setup.len() {
        let merged = merged(&search.best, at);
        let taken = match merged {
            Some(candidate) => search.offer(candidate)?,
            None => false,
        };
        at += usize::from(!taken);
    }
    Ok(())
}

fn merged(draft: &Draft, at: usize) -> Option<Draft> {
    let (first, second) = (draft.setup[at].tree()?, draft.setup[at + 1].tree()?);
    let rows = values_of(second)?.rows.clone();
    let mut same = second.clone();
    values_of_mut(&mut same)?.rows.clone_from(&values_of(first)?.rows);
    if same != *first {
        return None;
    }
    let mut candidate = draft.clone();
    candidate.setup.remove(at + 1);
    candidate.setup[at].edit(|tree| {
        if let Some(values) = values_of_mut(tree) {
            values.rows.extend(rows);
        }
    });
    Some(candidate)
}
