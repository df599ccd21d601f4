//! Queries that also return the rows that they have read.

use std::collections::BTreeSet;
use std::ops::ControlFlow::Continue;

use anchorite_model::sql::{Dialect, Token, TokenKind, Tokens};
use sqlparser::ast::{
    Expr, GroupByExpr, JoinConstraint, JoinOperator, NonBlock, Query, Select, SelectItem, SetExpr,
    Statement,
};

use super::{Chained, Effect, Named, Unchained, Writer, named, tables_below};
use crate::ParsedStatement;
use crate::locking::{skips_locked, without_locking_clause};
use crate::parse::parse;
use crate::syntax::last_name;
use crate::tokens::{is_any, outside_parentheses, significant};
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
    let dialect = writer.style.dialect;
    let mut parsed = ParsedStatement::read(sql, dialect);
    // Without the hints and locks that the parser does not know, its tables are still the same.
    let bare = bare(sql, dialect);
    let plain = parse(&bare, dialect);
    let Some(tree) = parsed.tree().or(plain.as_ref()) else {
        return Err("a query is not understood");
    };
    let nested = tables_below(tree, 2);
    let everything = tables_below(tree, 1);
    let Some(plan) = plan(tree, writer) else {
        let unseen = everything;
        return Ok(Chained { unseen, ..Chained::plain(sql) });
    };
    let takes_all = plan.takes_all && !skips_locked(sql, dialect);
    let is_by_row = nested.is_empty() && takes_all && plan.tables.len() == 1;
    let decides_by_row = plan.tables.first().filter(|_| is_by_row).cloned();
    let mut unseen = nested;
    // Which rows of a join are missing is decided by rows of several tables.
    if decides_by_row.is_none() {
        unseen.extend(plan.tables.iter().cloned());
    }
    let items = plan.items;
    let text = if parsed.tree().is_some() {
        parsed.edit(|tree| {
            if let Some(select) = select_mut(tree) {
                select.projection.extend(items);
            }
        });
        parsed.is_sound().then(|| parsed.text().to_owned())
    } else {
        in_text(sql, &items, dialect)
    };
    let sql = text.ok_or("a query cannot return more columns")?;
    let effect = if plan.lists { Effect::Lists(plan.tables) } else { Effect::Reads(plan.tables) };
    Ok(Chained { effect, decides_by_row, unseen, ..Chained::plain(&sql) })
}

/// The query without its locks and hints.
fn bare(sql: &str, dialect: Dialect) -> String {
    let text = without_locking_clause(sql, dialect).unwrap_or(sql);
    let tokens: Vec<Token<'_>> = Tokens::new(text, 0, dialect).map_while(Result::ok).collect();
    let tokens: Vec<&Token<'_>> = tokens
        .iter()
        .filter(|token| token.is_significant() || token.kind == TokenKind::Hint)
        .collect();
    let is = |at: usize, words: &[&str]| tokens.get(at).is_some_and(|token| is_any(token, words));
    let (mut left, mut at) = (text.to_owned(), 0);
    while let Some(token) = tokens.get(at) {
        let of_index = is(at, &["USE", "FORCE", "IGNORE"]) && is(at + 1, &["INDEX", "KEY"]);
        let extra = if token.kind == TokenKind::Hint {
            1
        } else if is(at, &["NOT"]) && is(at + 1, &["INDEXED"]) {
            2
        } else if is(at, &["INDEXED"]) && is(at + 1, &["BY"]) {
            3
        } else if of_index {
            let end = tokens[at..].iter().position(|token| token.is_symbol(")"));
            end.map_or(0, |end| end + 1)
        } else {
            0
        };
        // Blanks instead, so that all other places stay what they are.
        for token in tokens.iter().skip(at).take(extra) {
            left.replace_range(token.start..token.end(), &" ".repeat(token.text.len()));
        }
        at += extra.max(1);
    }
    left
}

/// More columns before the FROM of a query that the parser does not know in full.
fn in_text(sql: &str, items: &[SelectItem], dialect: Dialect) -> Option<String> {
    let outer = outside_parentheses(&significant(sql, dialect));
    let from = outer.iter().find(|token| token.is_word("FROM"))?;
    let (head, tail) = sql.split_at(from.start);
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    Some(format!("{}, {} {tail}", head.trim_end(), items.join(", ")))
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
pub(super) fn takes_all(query: &Query, select: &Select) -> bool {
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

/// The only table of a query that may fill another one: one plain table, and each of its rows gives one. No table if
/// the query gives a single row.
pub(super) fn source(query: &Query) -> Option<Option<Named>> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let has_aggregates = select.projection.iter().any(has_aggregate);
    if query.with.is_none() && !is_grouped(select) && has_aggregates {
        return Some(None);
    }
    let is_plain = query.with.is_none()
        && select.distinct.is_none()
        && select.having.is_none()
        && !is_grouped(select)
        && !has_aggregates;
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
