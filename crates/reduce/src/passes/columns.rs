//! Columns, with everything that uses them.
//!
//! A column is removed from CREATE TABLE together with its values in every INSERT, its assignments, the indexes and
//! constraints on it, and the conditions that mention it. Elsewhere it is replaced by `1`.
//!
//! Blind spot: two tables with a column of the same name in one statement. Then too much is removed, and the answer is
//! most likely no.

use std::ops::ControlFlow::Continue;

use anchorite_sql::ast::{
    Assignment, AssignmentTarget, ColumnOption, CreateIndex, CreateTable, Expr, Insert, ObjectName,
    OnInsert, SetExpr, Statement, TableConstraint,
};

use crate::draft::Draft;
use crate::search::Picker;
use anchorite_sql::ParsedStatement;
use anchorite_sql::schema::{self, Table, names};
use anchorite_sql::syntax::{
    column_name, columns_in, conjunction, conjuncts, insert_table, last_name, number, relations,
};
use anchorite_sql::walk::{Part, change_expressions};

/// Columns of all tables; each table keeps one.
pub(super) fn columns(draft: &mut Draft, picker: &mut Picker<'_>) {
    for table in schema::tables(&draft.setup) {
        let gone = table.columns.iter().filter(|_| picker.goes_if(table.columns.len() > 1));
        let gone: Vec<String> = gone.cloned().collect();
        if !gone.is_empty() && gone.len() < table.columns.len() {
            let leaving = Leaving { table: &table, gone };
            draft.setup.retain_mut(|parsed| leaving.take_out_of(parsed));
            draft.lines.retain_mut(|line| leaving.take_out_of(&mut line.parsed));
        }
    }
}

/// Columns to remove from a table.
struct Leaving<'t> {
    table: &'t Table,
    gone: Vec<String>,
}

impl Leaving<'_> {
    /// Whether something is left of the statement.
    fn take_out_of(&self, parsed: &mut ParsedStatement) -> bool {
        if !parsed.tree().is_some_and(|tree| relations(tree).contains(&self.table.name)) {
            return true;
        }
        let mut stays = true;
        parsed.edit(|tree| {
            match tree {
                Statement::CreateTable(create) => self.take_out_of_table(create),
                Statement::CreateIndex(index) => stays = self.take_out_of_index(index),
                Statement::Insert(insert) => self.take_out_of_insert(insert),
                Statement::Update(update) => {
                    self.thin_assignments(&mut update.assignments);
                    stays = !update.assignments.is_empty();
                    self.thin_condition(&mut update.selection);
                }
                Statement::Delete(delete) => self.thin_condition(&mut delete.selection),
                Statement::Query(query) => {
                    if let SetExpr::Select(select) = query.body.as_mut() {
                        self.thin_condition(&mut select.selection);
                        if select.projection.len() > 1
                            && !select.projection.iter().all(|item| self.is_mentioned(item))
                        {
                            select.projection.retain(|item| !self.is_mentioned(item));
                        }
                    }
                }
                _ => {}
            }
            change_expressions(tree, &mut |expr| {
                if column_name(expr).is_some_and(|name| self.goes(&name)) {
                    *expr = number("1");
                }
                Continue(())
            });
        });
        stays
    }

    fn goes(&self, name: &str) -> bool {
        self.gone.iter().any(|gone| gone == name)
    }

    fn is_mentioned(&self, part: &dyn Part) -> bool {
        columns_in(part).iter().any(|name| self.goes(name))
    }

    fn thin_condition(&self, condition: &mut Option<Expr>) {
        if let Some(expr) = condition.take() {
            let parts = conjuncts(expr).into_iter().filter(|part| !self.is_mentioned(part));
            *condition = conjunction(parts.collect());
        }
    }

    fn thin_assignments(&self, assignments: &mut Vec<Assignment>) {
        assignments.retain(|assignment| match &assignment.target {
            AssignmentTarget::ColumnName(name) => !self.goes(&last_name(name)),
            AssignmentTarget::Tuple(_) => true,
        });
    }

    fn take_out_of_table(&self, create: &mut CreateTable) {
        if last_name(&create.name) == self.table.name {
            create.columns.retain(|column| !self.goes(&column.name.value.to_lowercase()));
            for column in &mut create.columns {
                column.options.retain(|option| match &option.option {
                    ColumnOption::Check(_) | ColumnOption::Generated { .. } => {
                        !self.is_mentioned(option)
                    }
                    _ => true,
                });
            }
            if create.partition_by.as_ref().is_some_and(|by| self.is_mentioned(by.as_ref())) {
                create.partition_by = None;
            }
            create.constraints.retain_mut(|constraint| self.is_left_of(constraint));
        }
        let points_here = |table: &ObjectName, columns: &[anchorite_sql::ast::Ident]| {
            last_name(table) == self.table.name
                && columns.iter().any(|column| self.goes(&column.value.to_lowercase()))
        };
        create.constraints.retain(|constraint| match constraint {
            TableConstraint::ForeignKey(key) => {
                !points_here(&key.foreign_table, &key.referred_columns)
            }
            _ => true,
        });
        for column in &mut create.columns {
            column.options.retain(|option| match &option.option {
                ColumnOption::ForeignKey(key) => {
                    !points_here(&key.foreign_table, &key.referred_columns)
                }
                _ => true,
            });
        }
    }

    fn is_left_of(&self, constraint: &mut TableConstraint) -> bool {
        let columns = match constraint {
            TableConstraint::PrimaryKey(key) => &mut key.columns,
            TableConstraint::Unique(key) => &mut key.columns,
            TableConstraint::Index(index) => &mut index.columns,
            TableConstraint::ForeignKey(key) => {
                return !key.columns.iter().any(|name| self.goes(&name.value.to_lowercase()));
            }
            other => return !self.is_mentioned(other),
        };
        columns.retain(|column| !names(std::slice::from_ref(column)).iter().any(|n| self.goes(n)));
        !columns.is_empty()
    }

    fn take_out_of_index(&self, index: &mut CreateIndex) -> bool {
        if last_name(&index.table_name) != self.table.name {
            return true;
        }
        index.columns.retain(|column| !self.is_mentioned(column));
        self.thin_condition(&mut index.predicate);
        !index.columns.is_empty()
    }

    fn take_out_of_insert(&self, insert: &mut Insert) {
        if insert_table(insert) != self.table.name {
            return;
        }
        let listed: Vec<String> = if insert.columns.is_empty() {
            let plain = |name: &&String| !self.table.generated.contains(name);
            self.table.columns.iter().filter(plain).cloned().collect()
        } else {
            insert.columns.iter().map(last_name).collect()
        };
        insert.columns.retain(|name| !self.goes(&last_name(name)));
        let stays = |at: usize| listed.get(at).is_none_or(|name| !self.goes(name));
        match insert.source.as_mut().map(|query| query.body.as_mut()) {
            Some(SetExpr::Values(values)) => {
                for row in &mut values.rows {
                    retain_at(&mut row.content, stays);
                }
            }
            Some(SetExpr::Select(select)) if select.projection.len() == listed.len() => {
                retain_at(&mut select.projection, stays);
            }
            _ => {}
        }
        let no_update_left = match &mut insert.on {
            Some(OnInsert::DuplicateKeyUpdate(assignments)) => {
                self.thin_assignments(assignments);
                assignments.is_empty()
            }
            _ => false,
        };
        if no_update_left {
            insert.on = None;
        }
    }
}

fn retain_at<T>(list: &mut Vec<T>, stays: impl Fn(usize) -> bool) {
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        stays(at - 1)
    });
}
