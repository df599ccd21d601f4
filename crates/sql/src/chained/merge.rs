//! MERGE that keeps chains.
//!
//! Idea: each of its clauses is an UPDATE, a DELETE or an INSERT of its own. Together they are an INSERT that yields to
//! rows with its keys.

use std::collections::BTreeSet;

use sqlparser::ast::{Ident, Merge, MergeAction, MergeInsertKind, ObjectName, Statement};

use super::{CHAIN, Chained, Edit, Effect, Named, UNKNOWN, Unchained, Writer, assignment, named};

pub(super) fn merged<'e>(
    merge: &Merge,
    mut unseen: BTreeSet<String>,
    writer: &'e Writer<'e>,
) -> Result<(Chained, Edit<'e>), Unchained> {
    let Named { table, called } = named(&merge.table).ok_or(UNKNOWN)?;
    let source = named(&merge.source);
    unseen.extend(source.iter().map(|source| source.table.clone()));
    if !unseen.is_empty() {
        unseen.insert(table.clone());
    }
    let is = |wanted: fn(&MergeAction) -> bool| merge.clauses.iter().any(|one| wanted(&one.action));
    let removes = is(|action| matches!(action, MergeAction::Delete { .. }));
    let inserts = is(|action| matches!(action, MergeAction::Insert(_)));
    let before = format!(
        "SELECT {called}.* FROM {} WHERE EXISTS (SELECT 1 FROM {} WHERE {}) FOR UPDATE",
        merge.table, merge.source, merge.on
    );
    let rows = source.is_none().then_some(usize::from(inserts));
    let chained = Chained {
        before: removes.then_some(before),
        effect: Effect::Inserts { table, rows, tolerant: true, removes },
        unseen,
        ..Chained::plain("")
    };
    let source = source.map(|source| format!("{}.{CHAIN}", source.called));
    let edit: Edit<'e> = Box::new(move |tree| {
        let Statement::Merge(merge) = tree else { return None };
        for clause in &mut merge.clauses {
            match &mut clause.action {
                MergeAction::Delete { .. } => {}
                MergeAction::Update(update) => {
                    let chain = writer.append(&format!("{called}.{CHAIN}"))?;
                    update.assignments.push(assignment(chain));
                }
                MergeAction::Insert(insert) => {
                    let MergeInsertKind::Values(values) = &mut insert.kind else { return None };
                    if !insert.columns.is_empty() {
                        insert.columns.push(ObjectName::from(vec![Ident::new(CHAIN)]));
                    }
                    for row in &mut values.rows {
                        row.content.push(match &source {
                            Some(column) => writer.expression(&writer.copied(column))?,
                            None => writer.begin(0)?,
                        });
                    }
                }
            }
        }
        Some(())
    });
    Ok((chained, edit))
}
