//! Writes that keep chains.

use std::collections::BTreeSet;

use anchorite_model::sql::Dialect;
use sqlparser::ast::{
    Assignment, Delete, FromTable, Ident, Insert, ObjectName, OnConflictAction, OnInsert, Query,
    SelectItem, SetExpr, SqliteOnConflict, Statement, Update, WildcardAdditionalOptions,
};

use super::{
    CHAIN, Chained, Edit, Effect, UNKNOWN, Unchained, Writer, assignment, merge, only, query,
    several, tables_below,
};
use crate::ParsedStatement;
use crate::syntax::{columns_in, insert_table};

/// The write, with its label in the chains of the rows that it writes.
pub(super) fn with_chains(sql: &str, writer: &Writer<'_>) -> Result<Chained, Unchained> {
    let mut parsed = ParsedStatement::read(sql, writer.style.dialect);
    let tree = parsed.tree().ok_or(UNKNOWN)?;
    let below = tables_below(tree, 1);
    let everything = tables_below(tree, 0);
    let (mut done, edit) = match tree {
        Statement::Update(update) if several::updates_joined(update) => {
            several::updated(update, everything, writer)?
        }
        Statement::Update(update) => updated(update, below, writer)?,
        Statement::Delete(delete) if several::deletes_joined(delete) => {
            several::deleted(delete, everything, writer)?
        }
        Statement::Delete(delete) => deleted(delete, below, writer)?,
        Statement::Insert(insert) => inserted(insert, writer)?,
        Statement::Merge(merge) => merge::merged(merge, below, writer)?,
        _ => return Err(UNKNOWN),
    };
    let mut is_done = false;
    parsed.edit(|tree| is_done = edit(tree).is_some());
    if !is_done || !parsed.is_sound() {
        return Err(UNKNOWN);
    }
    parsed.text().clone_into(&mut done.sql);
    Ok(done)
}

fn updated<'e>(
    update: &Update,
    unseen: BTreeSet<String>,
    writer: &'e Writer<'e>,
) -> Result<(Chained, Edit<'e>), Unchained> {
    let table = only(&update.table).ok_or(UNKNOWN)?;
    if update.or.is_some() {
        return Err("an UPDATE leaves out rows that conflict");
    }
    let is_constant = |one: &Assignment| columns_in(&one.value).is_empty();
    let is_by_row = update.limit.is_none() && unseen.is_empty();
    let chained = Chained {
        effect: Effect::Updates(table.table.clone()),
        decides_by_row: is_by_row.then(|| table.table.clone()),
        is_blind: unseen.is_empty() && update.assignments.iter().all(is_constant),
        unseen: with_own(unseen, &table.table, update.limit.is_some()),
        ..Chained::plain("")
    };
    let edit: Edit<'e> = Box::new(move |tree| {
        let Statement::Update(update) = tree else { return None };
        update.assignments.push(assignment(writer.append(CHAIN)?));
        Some(())
    });
    Ok((chained, edit))
}

/// The tables that are read out of sight: also the own one, where not every row that matches is written.
fn with_own(mut unseen: BTreeSet<String>, table: &str, takes_some: bool) -> BTreeSet<String> {
    if takes_some || !unseen.is_empty() {
        unseen.insert(table.to_owned());
    }
    unseen
}

fn deleted<'e>(
    delete: &Delete,
    unseen: BTreeSet<String>,
    writer: &'e Writer<'e>,
) -> Result<(Chained, Edit<'e>), Unchained> {
    let FromTable::WithFromKeyword(from) = &delete.from else { return Err(UNKNOWN) };
    let [from] = from.as_slice() else { return Err(UNKNOWN) };
    let table = only(from).ok_or(UNKNOWN)?;
    let takes_some = delete.limit.is_some();
    let chained = Chained {
        before: (!writer.style.returning).then(|| reading(delete, from)),
        effect: Effect::Deletes(table.table.clone()),
        decides_by_row: (!takes_some && unseen.is_empty()).then(|| table.table.clone()),
        is_blind: unseen.is_empty(),
        unseen: with_own(unseen, &table.table, takes_some),
        ..Chained::plain("")
    };
    let returning = writer.style.returning;
    let edit: Edit<'e> = Box::new(move |tree| {
        let Statement::Delete(delete) = tree else { return None };
        if returning {
            let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
            delete.returning.get_or_insert_with(Vec::new).push(all);
        }
        Some(())
    });
    Ok((chained, edit))
}

/// A query that reads and locks what a DELETE will find.
fn reading(delete: &Delete, from: &sqlparser::ast::TableWithJoins) -> String {
    let mut text = format!("SELECT * FROM {from}");
    if let Some(condition) = &delete.selection {
        text += &format!(" WHERE {condition}");
    }
    if !delete.order_by.is_empty() {
        let by: Vec<String> = delete.order_by.iter().map(ToString::to_string).collect();
        text += &format!(" ORDER BY {}", by.join(", "));
    }
    if let Some(limit) = &delete.limit {
        text += &format!(" LIMIT {limit}");
    }
    text + " FOR UPDATE"
}

impl Writer<'_> {
    /// A query that reads and locks all rows of a table.
    fn reading_all(&self, table: &str) -> String {
        match self.style.dialect {
            Dialect::Sqlite => format!("SELECT * FROM {table}"),
            Dialect::Mysql | Dialect::Postgres => format!("SELECT * FROM {table} FOR UPDATE"),
        }
    }
}

fn inserted<'e>(insert: &Insert, writer: &'e Writer<'e>) -> Result<(Chained, Edit<'e>), Unchained> {
    let removes = insert.replace_into || insert.or == Some(SqliteOnConflict::Replace);
    if insert.overwrite || insert.partitioned.is_some() || !insert.assignments.is_empty() {
        return Err("an INSERT has no list of values");
    }
    let table = insert_table(insert);
    let source = insert.source.as_ref().ok_or("an INSERT has no values")?;
    let (rows, unseen) = match source.body.as_ref() {
        SetExpr::Values(values) => {
            let tree = Statement::Query(source.clone());
            (Some(values.rows.len()), tables_below(&tree, 2))
        }
        _ => (None, query::all_of(source)),
    };
    let tolerant = removes || insert.ignore || insert.or.is_some() || insert.on.is_some();
    let chained = Chained {
        before: removes.then(|| writer.reading_all(&writer.style.base(&table))),
        // Which rows are in the way of a query's rows is not shown.
        unseen: if tolerant { with_own(unseen, &table, false) } else { unseen },
        is_blind: removes,
        effect: Effect::Inserts { table, rows, tolerant, removes },
        ..Chained::plain("")
    };
    let edit: Edit<'e> = Box::new(move |tree| {
        let Statement::Insert(insert) = tree else { return None };
        if !insert.columns.is_empty() {
            insert.columns.push(ObjectName::from(vec![Ident::new(CHAIN)]));
        }
        let called = insert.table_alias.as_ref().map(|alias| alias.alias.to_string());
        let called = called.unwrap_or_else(|| insert.table.to_string());
        begin_chains(insert.source.as_mut()?, writer)?;
        match &mut insert.on {
            None => {}
            Some(OnInsert::DuplicateKeyUpdate(assignments)) => {
                assignments.push(assignment(writer.append(CHAIN)?));
            }
            Some(OnInsert::OnConflict(conflict)) => {
                if let OnConflictAction::DoUpdate(update) = &mut conflict.action {
                    let column = format!("{called}.{CHAIN}");
                    update.assignments.push(assignment(writer.append(&column)?));
                }
            }
            Some(_) => return None,
        }
        Some(())
    });
    Ok((chained, edit))
}

/// A new chain in each row; that of a row which was read from a table contains the chain of that one.
fn begin_chains(source: &mut Query, writer: &Writer<'_>) -> Option<()> {
    let from = match source.body.as_ref() {
        SetExpr::Values(_) => None,
        _ => query::source(source)?,
    };
    let copied = from.map(|table| writer.copied(&format!("{}.{CHAIN}", table.called)));
    match source.body.as_mut() {
        SetExpr::Values(values) => {
            for (at, row) in values.rows.iter_mut().enumerate() {
                row.content.push(writer.begin(at)?);
            }
        }
        SetExpr::Select(select) => {
            let chain = match copied {
                Some(text) => writer.expression(&text)?,
                None => writer.begin(0)?,
            };
            select.projection.push(SelectItem::UnnamedExpr(chain));
        }
        _ => return None,
    }
    Some(())
}
