//! What a single statement says, without names, values and whatever else is accidental.

use std::collections::BTreeSet;
use std::fmt;

use anchorite_model::StatementKind;
use anchorite_sql::ast::{
    BinaryOperator, Expr, Insert, OnConflictAction, OnInsert, SetExpr, Statement,
};

use crate::draft::Line;
use anchorite_sql::schema::Table;
use anchorite_sql::syntax::{
    column_name, columns_in, conjuncts, has_subquery_as_value, insert_table, last_name, relations,
};

/// A statement without what is accidental.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Its kind, in capitals; of what is no query and no change, its first words.
    name: String,
    /// What it does to keys.
    written: Option<String>,
    /// By which kind of index it finds its rows.
    path: Option<String>,
    /// How it reaches other rows: actions of foreign keys, several tables, subqueries.
    reach: Vec<&'static str>,
}

impl Words {
    /// The words of a statement; `None` if all of it is accidental.
    pub(super) fn of(line: &Line, tables: &[Table], with_reads: bool) -> Option<Self> {
        let kind = line.parsed.kind();
        let name = kind_name(&kind)?.to_uppercase();
        match kind {
            StatementKind::Select { locking: false } if !with_reads => return None,
            StatementKind::Ddl | StatementKind::Other | StatementKind::SetCommand => {
                let tokens = line.parsed.tokens();
                let words = tokens.iter().take(2).map(|token| token.text.to_uppercase());
                return Some(Self::named(words.collect::<Vec<_>>().join(" ")));
            }
            _ => {}
        }
        let Some(tree) = line.parsed.tree() else { return Some(Self::named(name)) };
        let relations = relations(tree);
        let tables: Vec<&Table> =
            tables.iter().filter(|table| relations.contains(&table.name)).collect();
        let (written, path) = (written(tree, &tables), path(tree, &tables));
        let is_change =
            matches!(kind, StatementKind::Update | StatementKind::Delete | StatementKind::Replace);
        let acts = is_change && tables.iter().any(|table| table.passes_on);
        let reach = [
            (acts, "with an action"),
            (tables.len() > 1, "over several tables"),
            (has_subquery_as_value(tree), "with a subquery"),
        ];
        let reach = reach.into_iter().filter(|(does, _)| *does).map(|(_, words)| words).collect();
        Some(Self { name, written, path, reach })
    }

    fn named(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Leaves out by which kind of index it finds its rows.
    pub(super) fn forget_path(&mut self) {
        self.path = None;
    }

    /// Leaves out what it does to keys.
    pub(super) fn forget_keys(&mut self) {
        self.written = None;
    }

    /// Whether it is a change that moves a key.
    pub(super) fn move_key(&self) -> bool {
        self.written.as_ref().is_some_and(|written| written.starts_with("moves"))
    }

    /// Whether it touches rows by way of others.
    pub(super) const fn reach_others(&self) -> bool {
        !self.reach.is_empty()
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let rest = self.written.iter().chain(&self.path).map(String::as_str);
        rest.chain(self.reach.iter().copied()).try_for_each(|words| write!(f, " {words}"))
    }
}

/// What a statement does to keys.
fn written(tree: &Statement, tables: &[&Table]) -> Option<String> {
    let text = match tree {
        Statement::Update(update) => {
            let columns =
                update.assignments.iter().filter_map(|assignment| match &assignment.target {
                    anchorite_sql::ast::AssignmentTarget::ColumnName(name) => Some(last_name(name)),
                    anchorite_sql::ast::AssignmentTarget::Tuple(_) => None,
                });
            let key = key_kind(&columns.collect(), tables)?;
            format!("moves {key}")
        }
        Statement::Insert(insert) => {
            let target = insert_table(insert);
            let table = tables.iter().find(|table| table.name == target);
            let keyed =
                table.is_some_and(|table| !table.primary.is_empty() || !table.unique.is_empty());
            let mut text = if keyed { "with key" } else { "without key" }.to_owned();
            text += conflict_clause(insert);
            let source = insert.source.as_ref().map(|query| query.body.as_ref());
            if matches!(source, Some(SetExpr::Select(_) | SetExpr::SetOperation { .. })) {
                text += " of a query";
            }
            text
        }
        _ => return None,
    };
    Some(text)
}

fn conflict_clause(insert: &Insert) -> &'static str {
    match &insert.on {
        Some(OnInsert::DuplicateKeyUpdate(_)) => " or update",
        Some(OnInsert::OnConflict(conflict)) => match conflict.action {
            OnConflictAction::DoNothing => " or nothing",
            OnConflictAction::DoUpdate(_) => " or update",
        },
        _ if insert.replace_into => " or replace",
        _ if insert.ignore || insert.or.is_some() => " or nothing",
        _ => "",
    }
}

/// By which kind of index a statement can find its rows. A range of the primary key is a scan too: the table
/// itself is in that order where the difference matters.
fn path(tree: &Statement, tables: &[&Table]) -> Option<String> {
    let condition: Option<&Expr> = match tree {
        Statement::Update(update) => update.selection.as_ref(),
        Statement::Delete(delete) => delete.selection.as_ref(),
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => select.selection.as_ref(),
            _ => return None,
        },
        _ => return None,
    };
    let columns = condition.map(|condition| columns_in(condition)).unwrap_or_default();
    let parts = condition.cloned().map(conjuncts).unwrap_or_default();
    let points: BTreeSet<String> = parts.iter().filter_map(column_of_lookup).collect();
    let primary = |column: &String| tables.iter().any(|table| table.primary.contains(column));
    let kind = match key_kind(&columns, tables) {
        Some(_) if points.iter().any(primary) => "primary key",
        Some("primary key") => {
            let others: BTreeSet<String> = columns.into_iter().filter(|c| !primary(c)).collect();
            key_kind(&others, tables).unwrap_or("scan")
        }
        other => other.unwrap_or("scan"),
    };
    Some(format!("by {kind}"))
}

/// The column of a condition that names single values: `a = 1`, `a IN (1, 2)`.
fn column_of_lookup(condition: &Expr) -> Option<String> {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            column_name(left).or_else(|| column_name(right))
        }
        Expr::InList { expr, negated: false, .. } => column_name(expr),
        Expr::Nested(inner) => column_of_lookup(inner),
        _ => None,
    }
}

/// The strongest kind of key that one of these columns belongs to.
fn key_kind(columns: &BTreeSet<String>, tables: &[&Table]) -> Option<&'static str> {
    let any = |keys: fn(&Table) -> &Vec<String>| {
        tables.iter().any(|table| keys(table).iter().any(|column| columns.contains(column)))
    };
    if any(|table| &table.primary) {
        Some("primary key")
    } else if any(|table| &table.unique) {
        Some("unique key")
    } else if any(|table| &table.foreign) {
        Some("foreign key")
    } else if any(|table| &table.indexed) {
        Some("index")
    } else {
        None
    }
}

/// The name of a kind that is signal.
pub(super) const fn kind_name(kind: &StatementKind) -> Option<&'static str> {
    match kind {
        StatementKind::Begin | StatementKind::Commit { .. } | StatementKind::Release(_) => None,
        StatementKind::Rollback { .. } => Some("rollback"),
        StatementKind::RollbackTo(_) => Some("rollback to"),
        StatementKind::Savepoint(_) => Some("savepoint"),
        StatementKind::Select { locking: true } => Some("locking select"),
        StatementKind::Select { locking: false } => Some("select"),
        StatementKind::Insert => Some("insert"),
        StatementKind::Update => Some("update"),
        StatementKind::Delete => Some("delete"),
        StatementKind::Replace => Some("replace"),
        StatementKind::Ddl => Some("ddl"),
        StatementKind::SetCommand => Some("set"),
        StatementKind::Other => Some("other"),
    }
}
