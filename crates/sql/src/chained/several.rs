//! Writes that look at other tables: UPDATE … FROM, DELETE … USING, and MySQL's joins.
//!
//! Idea: one table is written, the others are only read. Which rows of those decided is not shown, so all tables are
//! among the unseen ones.

use std::collections::BTreeSet;

use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, FromTable, Ident, ObjectName, Statement, TableWithJoins,
    Update, UpdateTableFromKind,
};

use super::{
    CHAIN, Chained, Edit, Effect, Named, UNKNOWN, Unchained, Writer, assignment, named, only,
};

const SEVERAL: Unchained = "a write changes several tables";

/// Whether an UPDATE names more than the table that it writes.
pub(super) fn updates_joined(update: &Update) -> bool {
    update.from.is_some() || !update.table.joins.is_empty()
}

/// Whether a DELETE does.
pub(super) fn deletes_joined(delete: &Delete) -> bool {
    delete.using.is_some() || !delete.tables.is_empty()
}

/// The table of a join that has this name there.
fn called(from: &TableWithJoins, name: &str) -> Option<Named> {
    let joined = from.joins.iter().map(|join| &join.relation);
    let all: Option<Vec<Named>> =
        std::iter::once(&from.relation).chain(joined).map(named).collect();
    all?.into_iter().find(|one| one.called.eq_ignore_ascii_case(name))
}

/// The only table to which all assignments belong.
fn assigned(update: &Update) -> Option<Named> {
    let owners: BTreeSet<String> = update
        .assignments
        .iter()
        .map(|one| match &one.target {
            AssignmentTarget::ColumnName(name) if name.0.len() == 2 => Some(name.0[0].to_string()),
            _ => None,
        })
        .collect::<Option<_>>()?;
    match owners.into_iter().collect::<Vec<_>>().as_slice() {
        [owner] => called(&update.table, owner),
        _ => None,
    }
}

pub(super) fn updated<'e>(
    update: &Update,
    unseen: BTreeSet<String>,
    writer: &'e Writer<'e>,
) -> Result<(Chained, Edit<'e>), Unchained> {
    let is_qualified = !update.table.joins.is_empty();
    let after_set = |from: &UpdateTableFromKind| matches!(from, UpdateTableFromKind::AfterSet(_));
    if update.or.is_some() || !update.from.iter().all(after_set) {
        return Err(UNKNOWN);
    }
    let table = if is_qualified { assigned(update) } else { only(&update.table) };
    let Named { table, called } = table.ok_or(SEVERAL)?;
    let chained = Chained { effect: Effect::Updates(table), unseen, ..Chained::plain("") };
    let edit: Edit<'e> = Box::new(move |tree| {
        let Statement::Update(update) = tree else { return None };
        let set = assignment(writer.append(&format!("{called}.{CHAIN}"))?);
        let qualified = ObjectName::from(vec![Ident::new(called), Ident::new(CHAIN)]);
        let target = AssignmentTarget::ColumnName(qualified);
        update.assignments.push(if is_qualified { Assignment { target, ..set } } else { set });
        Some(())
    });
    Ok((chained, edit))
}

pub(super) fn deleted<'e>(
    delete: &Delete,
    unseen: BTreeSet<String>,
    writer: &'e Writer<'e>,
) -> Result<(Chained, Edit<'e>), Unchained> {
    let FromTable::WithFromKeyword(from) = &delete.from else { return Err(UNKNOWN) };
    let [from] = from.as_slice() else { return Err(UNKNOWN) };
    let returning = writer.style.returning && delete.using.is_some();
    let found = match delete.tables.as_slice() {
        [] => only(from),
        [name] if delete.using.is_none() => called(from, &name.to_string()),
        _ => None,
    };
    let Named { table, called } = found.ok_or(SEVERAL)?;
    if !returning && delete.using.is_some() {
        return Err(UNKNOWN);
    }
    let condition = delete.selection.iter().map(|all| format!(" WHERE {all}")).collect::<String>();
    let before = format!("SELECT {called}.* FROM {from}{condition} FOR UPDATE");
    let effect = Effect::Deletes(table);
    let before = (!returning).then_some(before);
    let chained = Chained { before, effect, unseen, ..Chained::plain("") };
    let edit: Edit<'e> = Box::new(move |tree| {
        let Statement::Delete(delete) = tree else { return None };
        if returning {
            let whole = writer.whole_row(&called)?;
            delete.returning.get_or_insert_with(Vec::new).push(whole);
        }
        Some(())
    });
    Ok((chained, edit))
}
