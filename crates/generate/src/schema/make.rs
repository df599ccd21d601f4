//! Random tables with their constraints.

use super::column::{any_column, generated_column, key_column};
use super::index::add_indexes;
use super::links::{add_foreign_key, unique};
use super::partition::partitions;
use super::programs::{trigger, views};
use super::{Check, Schema, Table};
use crate::Grammar;
use crate::random::Random;
use crate::value::{Kind, Value};

/// Makes 1 to 3 tables.
pub(crate) fn make(grammar: &Grammar<'_>, random: &mut Random) -> Schema {
    let weights = &grammar.weights.case;
    let count = random.weighted(&[
        (weights.one_table, 1),
        (weights.two_tables, 2),
        (weights.three_tables, 3),
    ]);
    let mut tables: Vec<Table> = Vec::new();
    for number in 0..count {
        let mut table = columns_and_keys(grammar, random, number);
        add_foreign_key(grammar, random, &mut table, &mut tables);
        add_details(grammar, random, &mut table);
        tables.push(table);
    }
    for table in &mut tables {
        write_ddl(grammar, random, table);
        if random.percent(grammar.weights.schema.index_percent) {
            add_indexes(grammar, random, table);
        }
    }
    let (views, mut more) = views(grammar, random, &tables);
    more.extend(trigger(grammar, random, &tables));
    Schema { tables, views, more }
}

fn columns_and_keys(grammar: &Grammar<'_>, random: &mut Random, number: usize) -> Table {
    let weights = &grammar.weights.schema;
    let mut columns: Vec<_> =
        (0..random.between(1, 4)).map(|at| any_column(grammar, random, format!("c{at}"))).collect();
    for column in &mut columns {
        column.is_nullable = !random.percent(weights.not_null_percent);
    }
    let mut primary = Vec::new();
    if !random.percent(weights.no_key_percent) {
        let key_size = if random.percent(weights.composite_key_percent) { 2 } else { 1 };
        for part in 0..key_size {
            let name = if key_size == 1 { "pk".to_owned() } else { format!("k{part}") };
            let is_text = random.percent(weights.text_key_percent);
            let place = if random.percent(weights.key_last_percent) { columns.len() } else { part };
            columns.insert(place.min(columns.len()), key_column(grammar, random, name, is_text));
        }
        primary =
            (0..columns.len()).filter(|at| columns[*at].name.starts_with(['p', 'k'])).collect();
        if primary.len() > 1 && random.percent(30) {
            primary.reverse();
        }
    }
    Table {
        name: format!("t{number}"),
        columns,
        primary,
        uniques: Vec::new(),
        unique_clauses: Vec::new(),
        unique_indexes: Vec::new(),
        check: None,
        foreign: None,
        indexes: Vec::new(),
        is_parent: false,
        ddl: Vec::new(),
    }
}

/// UNIQUE, CHECK, DEFAULT and a generated column.
fn add_details(grammar: &Grammar<'_>, random: &mut Random, table: &mut Table) {
    let weights = &grammar.weights.schema;
    let foreign: Vec<usize> =
        table.foreign.iter().flat_map(|foreign| foreign.columns.iter().copied()).collect();
    let free = table.columns_where(|at, _| !table.primary.contains(&at) && !foreign.contains(&at));
    let can_be_unique = |at: &usize| {
        let column = &table.columns[*at];
        !column.is_long && (column.kind.has_order() && column.kind != Kind::Float)
    };
    if random.percent(weights.unique_percent) {
        let mut candidates: Vec<usize> = free.iter().copied().filter(can_be_unique).collect();
        random.shuffle(&mut candidates);
        let size = if random.percent(weights.composite_unique_percent) { 2 } else { 1 };
        candidates.truncate(size);
        if !candidates.is_empty() {
            unique(grammar, random, table, candidates);
        }
    }
    if grammar.has("check") && random.percent(weights.check_percent) {
        table.check = any_check(random, table, &free);
    }
    for at in &free {
        let is_long = table.columns[*at].is_long;
        if !is_long && random.percent(weights.default_percent) {
            let value = table.columns[*at].kind.any_value(random, 0);
            if table.check.as_ref().is_none_or(|check| check.allows(*at, &value)) {
                table.columns[*at].default = Some(value);
            }
        }
    }
    let bases: Vec<usize> = free
        .into_iter()
        .filter(|at| table.columns[*at].kind == Kind::Int && table.columns[*at].is_arithmetic())
        .collect();
    if random.percent(weights.generated_percent)
        && let Some(base) = random.try_pick(&bases)
        && let Some(column) = generated_column(grammar, random, &table.columns[*base])
    {
        table.columns.push(column);
    }
}

fn any_check(random: &mut Random, table: &Table, free: &[usize]) -> Option<Check> {
    let fits = |at: &&usize| {
        let kind = table.columns[**at].kind;
        matches!(kind, Kind::Int | Kind::Decimal | Kind::Text)
    };
    let candidates: Vec<usize> = free.iter().filter(fits).copied().collect();
    let column = *random.try_pick(&candidates)?;
    let kind = table.columns[column].kind;
    let is_inequality = kind == Kind::Text || random.percent(50);
    let value = match kind {
        Kind::Int if !is_inequality => Value::Int(0),
        Kind::Decimal if !is_inequality => Value::Quarters(0),
        _ => kind.any_value(random, 0),
    };
    Some(Check { column, is_inequality, value })
}

impl Check {
    /// Whether a row with this value in this column passes.
    pub(crate) fn allows(&self, column: usize, value: &Value) -> bool {
        let fails = if self.is_inequality { *value == self.value } else { *value < self.value };
        column != self.column || *value == Value::Null || !fails
    }

    fn sql(&self, grammar: &Grammar<'_>, table: &Table) -> String {
        let operator = if self.is_inequality { "<>" } else { ">=" };
        let value = self.value.sql(grammar.product);
        format!("CHECK ({} {operator} {value})", table.columns[self.column].name)
    }
}

fn write_ddl(grammar: &Grammar<'_>, random: &mut Random, table: &mut Table) {
    let weights = &grammar.weights.schema;
    let special = !table.primary.is_empty() && random.percent(weights.without_rowid_percent);
    let nonclustered = special && grammar.has("nonclustered");
    let without_rowid = special && grammar.has("without-rowid");
    let inline_key = table.primary.len() == 1 && !nonclustered && random.percent(70);
    let mut parts: Vec<String> = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let mut part = format!("{} {}", column.name, column.sql_type);
        if let Some(expression) = &column.generated {
            part.push_str(&format!(" {expression}"));
        }
        let is_inline_key = inline_key && table.primary.contains(&at);
        if !column.is_nullable && !is_inline_key {
            part.push_str(" NOT NULL");
        }
        if let Some(default) = &column.default {
            part.push_str(&format!(" DEFAULT {}", default.sql(grammar.product)));
        }
        if is_inline_key {
            part.push_str(" PRIMARY KEY");
        }
        parts.push(part);
    }
    if !table.primary.is_empty() && !inline_key {
        let how = if nonclustered { " NONCLUSTERED" } else { "" };
        parts.push(format!("PRIMARY KEY ({}){how}", table.names(&table.primary)));
    }
    parts.extend(table.unique_clauses.iter().cloned());
    parts.extend(table.check.as_ref().map(|check| check.sql(grammar, table)));
    parts.extend(table.foreign.as_ref().map(|foreign| foreign.clause.clone()));
    let wants_parts = !table.is_parent && random.percent(weights.partition_percent);
    let partitions = if wants_parts { partitions(grammar, random, table) } else { None };
    let (end, more) = partitions.unwrap_or_default();
    let end = if without_rowid { " WITHOUT ROWID".to_owned() } else { end };
    table.ddl.push(format!("CREATE TABLE {} ({}){end}", table.name, parts.join(", ")));
    table.ddl.extend(more);
    table.ddl.extend(table.unique_indexes.iter().cloned());
}
