//! Queries that also return the rows that they have read.

use std::collections::BTreeSet;
use std::ops::ControlFlow::Continue;

use sqlparser::ast::{
    Expr, GroupByExpr, JoinConstraint, JoinOperator, NonBlock, Query, Select, SelectItem, SetExpr,
    Statement,
};

use super::{Chained, Effect, Named, Unchained, Writer, named, tables_below};
use crate::ParsedStatement;
use crate::syntax::{last_name, relations};
use crate::walk::{Node, Part};

/// Functions of several rows that are listed in full.
const AGGREGATES: [&str; 16] = [
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "total",
    "group_concat",
    "string_agg",
    "array_agg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "json_arrayagg",
    "every",
];

/// The query, with the rows that it reads behind its own columns.
pub(super) fn with_chains(sql: &str, writer: &Writer<'_>) -> Result<Chained, Unchained> {
    let mut parsed = ParsedStatement::read(sql, writer.dialect);
    let Some(tree) = parsed.tree() else {
        return Err("a query is not understood");
    };
    let nested = tables_below(tree, 2);
    let everything = relations(tree);
    let Some(plan) = plan(tree, writer) else {
        let unseen = everything;
        return Ok(Chained { unseen, ..Chained::plain(sql) });
    };
    let is_by_row = nested.is_empty() && plan.takes_all && plan.tables.len() == 1;
    let decides_by_row = plan.tables.first().filter(|_| is_by_row).cloned();
    let mut unseen = nested;
    // Which rows of a join are missing is decided by rows of several tables.
    if decides_by_row.is_none() {
        unseen.extend(plan.tables.iter().cloned());
    }
    let items = plan.items;
    parsed.edit(|tree| {
        if let Some(select) = select_mut(tree) {
            select.projection.extend(items);
        }
    });
    if !parsed.is_sound() {
        return Err("a query cannot return more columns");
    }
    let effect = if plan.lists { Effect::Lists(plan.tables) } else { Effect::Reads(plan.tables) };
    Ok(Chained {
        effect,
        decides_by_row,
        unseen,
        ..Chained { sql: parsed.text().to_owned(), ..Chained::plain(sql) }
    })
}

/// What is added to a query.
struct Plan {
    tables: Vec<String>,
    items: Vec<SelectItem>,
    lists: bool,
    takes_all: bool,
}

/// `None` if its tables cannot be shown.
fn plan(tree: &Statement, writer: &Writer<'_>) -> Option<Plan> {
    let Statement::Query(query) = tree else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    if query.with.is_some() || select.into.is_some() {
        return None;
    }
    let tables = tables(select)?;
    let lists = is_grouped(select) || select.projection.iter().any(has_aggregate);
    let mut items = Vec::new();
    for table in &tables {
        items.push(if lists {
            SelectItem::UnnamedExpr(writer.listed(&format!("{}.{}", table.called, super::CHAIN))?)
        } else {
            writer.whole_row(&table.called)?
        });
    }
    let takes_all = takes_all(query, select);
    let tables = tables.into_iter().map(|table| table.table).collect();
    Some(Plan { tables, items, lists, takes_all })
}

/// The tables of a FROM, if all of them are plain.
fn tables(select: &Select) -> Option<Vec<Named>> {
    let mut found = Vec::new();
    for from in &select.from {
        found.push(named(&from.relation)?);
        for join in &from.joins {
            let constraint = match &join.join_operator {
                JoinOperator::Join(constraint)
                | JoinOperator::Inner(constraint)
                | JoinOperator::Left(constraint)
                | JoinOperator::LeftOuter(constraint)
                | JoinOperator::Right(constraint)
                | JoinOperator::RightOuter(constraint)
                | JoinOperator::FullOuter(constraint)
                | JoinOperator::CrossJoin(constraint) => constraint,
                _ => return None,
            };
            // The new column would become a condition.
            (*constraint != JoinConstraint::Natural).then_some(())?;
            found.push(named(&join.relation)?);
        }
    }
    Some(found)
}

fn is_grouped(select: &Select) -> bool {
    match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(expressions, _) => !expressions.is_empty(),
    }
}

fn has_aggregate(item: &SelectItem) -> bool {
    let (mut depth, mut found) = (0, false);
    item.walk(&mut |node| {
        match node {
            Node::Query(_) => depth += 1,
            Node::QueryEnd => depth -= 1,
            Node::Expr(Expr::Function(function)) if depth == 0 && function.over.is_none() => {
                found |= AGGREGATES.contains(&last_name(&function.name).as_str());
            }
            _ => {}
        }
        Continue(())
    });
    found
}

/// Whether every row that matches the condition has a part in the result.
fn takes_all(query: &Query, select: &Select) -> bool {
    let skips = |nonblock: &Option<NonBlock>| *nonblock == Some(NonBlock::SkipLocked);
    query.limit_clause.is_none()
        && query.fetch.is_none()
        && select.having.is_none()
        && select.top.is_none()
        && select.qualify.is_none()
        && !query.locks.iter().any(|lock| skips(&lock.nonblock))
}

fn select_mut(tree: &mut Statement) -> Option<&mut Select> {
    let Statement::Query(query) = tree else { return None };
    match query.body.as_mut() {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

/// The only table of a query that may fill another one: one plain table, and each of its rows gives one.
pub(super) fn source(query: &Query) -> Option<Option<Named>> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let is_plain = query.with.is_none()
        && select.distinct.is_none()
        && select.having.is_none()
        && !is_grouped(select)
        && !select.projection.iter().any(has_aggregate);
    let mut tables = tables(select).filter(|_| is_plain)?;
    match tables.len() {
        0 | 1 => Some(tables.pop()),
        _ => None,
    }
}

/// Which tables a query reads, without a word about rows.
pub(super) fn all_of(query: &Query) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    query.walk(&mut |node| {
        if let Node::Table(name) = node {
            found.insert(last_name(name));
        }
        Continue(())
    });
    found
}
