//! Sessions, transactions and statements.

use std::collections::HashMap;

use anchorite_model::StatementKind;

use crate::draft::Draft;
use crate::search::Picker;

/// Whole sessions.
pub(super) fn sessions(draft: &mut Draft, picker: &mut Picker<'_>) {
    let speakers = draft.speakers();
    let gone: Vec<usize> = speakers.into_iter().filter(|_| picker.goes()).collect();
    draft.lines.retain(|line| !gone.contains(&line.session));
}

/// Whole transactions, also those of one statement.
pub(super) fn transactions(draft: &mut Draft, picker: &mut Picker<'_>) {
    let of = draft.transactions();
    let count = of.iter().max().map_or(0, |last| last + 1);
    let gone: Vec<bool> = (0..count).map(|_| picker.goes()).collect();
    draft.retain_lines(|at| !gone[of[at]]);
}

/// Statements. What makes sense only together is removed together: BEGIN with its COMMIT (which leaves autocommit
/// statements), a SAVEPOINT with everything that refers to it.
pub(super) fn units(draft: &mut Draft, picker: &mut Picker<'_>) {
    let transactions = draft.transactions();
    let kinds: Vec<StatementKind> = draft.lines.iter().map(|line| line.parsed.kind()).collect();
    let mut gone = vec![false; kinds.len()];
    let mut frames: HashMap<usize, bool> = HashMap::new();
    let mut savepoints: HashMap<(usize, String), bool> = HashMap::new();
    for (at, kind) in kinds.iter().enumerate() {
        let transaction = transactions[at];
        gone[at] = match kind {
            StatementKind::Begin | StatementKind::Commit { .. } => {
                *frames.entry(transaction).or_insert_with(|| picker.goes())
            }
            // Without its ROLLBACK a transaction stays open, and is rolled back at the end.
            StatementKind::Rollback { .. } => {
                let alone = picker.goes();
                alone || *frames.entry(transaction).or_insert_with(|| picker.goes())
            }
            StatementKind::Savepoint(name) => *savepoints
                .entry((transaction, name.to_lowercase()))
                .or_insert_with(|| picker.goes()),
            StatementKind::RollbackTo(name) | StatementKind::Release(name) => {
                let alone = picker.goes();
                let with = savepoints.get(&(transaction, name.to_lowercase()));
                alone || with.copied().unwrap_or(false)
            }
            _ => picker.goes(),
        };
    }
    draft.retain_lines(|at| !gone[at]);
}

/// ROLLBACK becomes COMMIT, and every way to begin a transaction BEGIN: less to think about.
pub(super) fn controls(draft: &mut Draft, picker: &mut Picker<'_>) {
    for line in &mut draft.lines {
        let simple = match line.parsed.kind() {
            StatementKind::Rollback { chain: false } => "COMMIT",
            StatementKind::Begin if line.parsed.tokens().len() > 1 => "BEGIN",
            _ => continue,
        };
        if picker.goes() {
            line.parsed.rewrite(simple);
        }
    }
}
