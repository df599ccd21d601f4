//! Optional parts of statements: of CREATE statements in [`schema`], of all others in [`clauses`].

use anchorite_sql::ast::{
    CreateTableOptions, Expr, GroupByExpr, Insert, OnConflictAction, OnInsert, OrderByKind, Query,
    Select, SelectItem, SetExpr, Statement, TableWithJoins, UpdateTableFromKind,
    WildcardAdditionalOptions,
};

use crate::draft::Draft;
use crate::search::Picker;
use anchorite_sql::syntax::{conjunction, conjuncts, number};

/// Constraints, column options, partitions, table options, parts of indexes, and column lists of INSERTs.
pub(super) fn schema(draft: &mut Draft, picker: &mut Picker<'_>) {
    for parsed in draft.sentences_mut() {
        parsed.edit(|tree| match tree {
            Statement::CreateTable(create) => {
                picker.empty_list(&mut create.constraints);
                for column in &mut create.columns {
                    picker.empty_list(&mut column.options);
                }
                picker.drop_option(&mut create.partition_by);
                if picker.goes_if(create.table_options != CreateTableOptions::None) {
                    create.table_options = CreateTableOptions::None;
                }
                for flag in [&mut create.without_rowid, &mut create.strict] {
                    *flag = *flag && !picker.goes();
                }
            }
            Statement::CreateIndex(index) => {
                picker.thin_list(&mut index.columns);
                picker.drop_option(&mut index.predicate);
                picker.empty_list(&mut index.include);
                picker.drop_option(&mut index.using);
                index.unique = index.unique && !picker.goes();
            }
            Statement::Insert(insert) => column_list(insert, picker),
            _ => {}
        });
    }
}

/// WHERE and its conjuncts, joins, ORDER BY, SET items, select items, and all that can be left out.
pub(super) fn clauses(draft: &mut Draft, picker: &mut Picker<'_>) {
    for line in &mut draft.lines {
        line.parsed.edit(|tree| match tree {
            Statement::Query(body) => query(body, picker),
            Statement::Insert(body) => insert(body, picker),
            Statement::Update(update) => {
                picker.thin_list(&mut update.assignments);
                condition(&mut update.selection, picker);
                joins(std::slice::from_mut(&mut update.table), picker);
                if let Some(
                    UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from),
                ) = &mut update.from
                {
                    joins(from, picker);
                }
                picker.drop_option(&mut update.from);
                picker.drop_option(&mut update.returning);
                picker.drop_option(&mut update.or);
                picker.empty_list(&mut update.order_by);
                picker.drop_option(&mut update.limit);
            }
            Statement::Delete(delete) => {
                condition(&mut delete.selection, picker);
                picker.drop_option(&mut delete.using);
                picker.drop_option(&mut delete.returning);
                picker.empty_list(&mut delete.order_by);
                picker.drop_option(&mut delete.limit);
            }
            _ => {}
        });
    }
}

fn query(query: &mut Query, picker: &mut Picker<'_>) {
    set_expr(&mut query.body, picker);
    picker.drop_option(&mut query.with);
    if let Some(OrderByKind::Expressions(by)) = query.order_by.as_mut().map(|by| &mut by.kind) {
        picker.thin_list(by);
    }
    picker.drop_option(&mut query.order_by);
    picker.drop_option(&mut query.limit_clause);
    picker.empty_list(&mut query.locks);
}

fn set_expr(body: &mut SetExpr, picker: &mut Picker<'_>) {
    match body {
        SetExpr::Select(body) => select(body, picker),
        SetExpr::Query(body) => query(body, picker),
        SetExpr::SetOperation { left, right, .. } => {
            set_expr(left, picker);
            set_expr(right, picker);
            let (without_right, without_left) = (picker.goes(), picker.goes());
            let kept = match (without_right, without_left) {
                (true, _) => Some(left.as_ref().clone()),
                (false, true) => Some(right.as_ref().clone()),
                (false, false) => None,
            };
            if let Some(kept) = kept {
                *body = kept;
            }
        }
        _ => {}
    }
}

fn select(select: &mut Select, picker: &mut Picker<'_>) {
    joins(&mut select.from, picker);
    picker.thin_list(&mut select.from);
    condition(&mut select.selection, picker);
    let grouped = match &mut select.group_by {
        GroupByExpr::Expressions(by, _) => {
            picker.thin_list(by);
            !by.is_empty()
        }
        GroupByExpr::All(_) => true,
    };
    if picker.goes_if(grouped) {
        select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
    }
    picker.drop_option(&mut select.having);
    picker.drop_option(&mut select.distinct);
    picker.thin_list(&mut select.projection);
    let plain = matches!(
        select.projection.as_slice(),
        [SelectItem::Wildcard(_) | SelectItem::UnnamedExpr(Expr::Value(_))]
    );
    if picker.goes_if(!plain && !select.from.is_empty()) {
        select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
    }
    if picker.goes_if(!plain) {
        select.projection = vec![SelectItem::UnnamedExpr(number("1"))];
    }
}

fn insert(insert: &mut Insert, picker: &mut Picker<'_>) {
    if let Some(source) = &mut insert.source {
        query(source, picker);
    }
    match &mut insert.on {
        Some(OnInsert::DuplicateKeyUpdate(assignments)) => picker.thin_list(assignments),
        Some(OnInsert::OnConflict(conflict)) => {
            if let OnConflictAction::DoUpdate(update) = &mut conflict.action {
                picker.thin_list(&mut update.assignments);
                condition(&mut update.selection, picker);
            }
            if picker.goes_if(conflict.action != OnConflictAction::DoNothing) {
                conflict.action = OnConflictAction::DoNothing;
            }
        }
        _ => {}
    }
    picker.drop_option(&mut insert.on);
    picker.drop_option(&mut insert.returning);
    picker.drop_option(&mut insert.or);
    insert.ignore = insert.ignore && !picker.goes();
}

fn column_list(insert: &mut Insert, picker: &mut Picker<'_>) {
    if picker.goes_if(!insert.columns.is_empty()) {
        insert.columns.clear();
    }
}

fn joins(from: &mut [TableWithJoins], picker: &mut Picker<'_>) {
    for table in from {
        picker.empty_list(&mut table.joins);
    }
}

/// The whole condition, and each of its conjuncts.
fn condition(condition: &mut Option<Expr>, picker: &mut Picker<'_>) {
    let Some(expr) = condition.take() else { return };
    let mut parts = conjuncts(expr);
    let whole = picker.goes();
    if parts.len() > 1 {
        picker.empty_list(&mut parts);
    }
    *condition = if whole { None } else { conjunction(parts) };
}
