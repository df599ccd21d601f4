//! Random assignments of an UPDATE.
//!
//! What an UPDATE of several rows does must not depend on the order in which it visits them. For columns outside unique
//! keys any expression over the same row will do. For columns of keys there are two forms:
//!
//! * a constant: a row that moves there can only collide with a row that stays there, so the statement fails in every
//!   order or in none;
//! * a shift by a number that no other statement uses ([`Generator::next_shift`]): no two rows ever collide.
//!
//! Numbers stay small: no statement adds more than ten, and columns of small types take no values of larger ones.

use anchorite_model::sql::Dialect;

use crate::generator::Generator;
use crate::schema::Column;
use crate::value::{Kind, Value};

/// `column = sql`
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) column: usize,
    pub(crate) sql: String,
    /// The constant, if it is one.
    pub(crate) value: Option<Value>,
}

/// The narrowest type that holds all shifts.
const SHIFT_ROOM: i64 = 20_000;

impl Generator<'_> {
    /// Assignments to one or two columns outside keys; none if there are no such columns.
    pub(crate) fn assignments(&mut self, table: usize) -> Vec<Assignment> {
        let free: Vec<usize> = self.free_columns(table);
        let mut chosen: Vec<usize> = Vec::new();
        let same_column = self.grammar.weights.conflict.same_column_percent;
        if self.random.percent(same_column)
            && let Some(touch) = self.foreign_touch(table)
        {
            let mut theirs: Vec<usize> = touch.written.iter().map(|(column, _)| *column).collect();
            theirs.extend(touch.tested);
            theirs.retain(|column| free.contains(column));
            chosen.extend(self.random.try_pick(&theirs));
        }
        if chosen.is_empty() {
            chosen.extend(self.random.try_pick(&free));
        }
        if self.random.percent(self.grammar.weights.set.several_columns_percent) {
            let others: Vec<usize> = free.into_iter().filter(|at| !chosen.contains(at)).collect();
            chosen.extend(self.random.try_pick(&others));
        }
        chosen.into_iter().map(|column| self.assignment(table, column)).collect()
    }

    /// The columns that may be assigned anything.
    pub(crate) fn free_columns(&self, table: usize) -> Vec<usize> {
        let table = self.table(table);
        table.columns_where(|at, column| column.generated.is_none() && !table.is_key(at))
    }

    /// An assignment to a column of a key.
    pub(crate) fn key_move(&mut self, table: usize) -> Option<Assignment> {
        let keys: Vec<usize> = self.table(table).keys().flatten().copied().collect();
        let column = *self.random.try_pick(&keys)?;
        let definition = &self.table(table).columns[column];
        let can_shift = definition.kind == Kind::Int
            && definition.is_arithmetic()
            && definition.limit > SHIFT_ROOM;
        if can_shift
            && self.random.percent(30)
            && let Some(shift) = self.next_shift()
        {
            let sign = *self.random.pick(&["+", "-"]);
            let sql = format!("{0} {sign} {shift}", definition.name);
            return Some(Assignment { column, sql, value: None });
        }
        let value = self.fresh_constant(table, column);
        Some(Assignment { column, sql: self.sql(&value), value: Some(value) })
    }

    /// An assignment of this constant.
    pub(crate) fn constant_assignment(&self, column: usize, value: Value) -> Assignment {
        Assignment { column, sql: self.sql(&value), value: Some(value) }
    }

    /// What is assigned to a column: the name of a form.
    fn form(&mut self, definition: &Column, has_sources: bool) -> &'static str {
        let weights = &self.grammar.weights.set;
        let if_true = |condition: bool, weight: u32| if condition { weight } else { 0 };
        let is_arithmetic = definition.is_arithmetic();
        let adds = is_arithmetic || (definition.kind == Kind::Unsigned && !definition.is_extreme);
        let has_default = self.grammar.has("default-word")
            && (definition.default.is_some() || definition.is_nullable)
            && !definition.is_long;
        self.random.weighted(&[
            (weights.constant, "constant"),
            (weights.same_value, "same"),
            (if_true(adds, weights.add), "add"),
            (if_true(has_sources, weights.copy), "copy"),
            (if_true(is_arithmetic || definition.kind == Kind::Bool, weights.negate), "negate"),
            (if_true(definition.kind == Kind::Text, weights.append), "append"),
            (weights.case, "case"),
            (weights.coalesce, "coalesce"),
            (if_true(self.schema.tables.len() > 1, weights.query), "query"),
            (weights.own_query, "own query"),
            (if_true(has_default, weights.default), "default"),
            (if_true(definition.is_nullable, weights.null), "null"),
        ])
    }

    /// An assignment to a column outside keys.
    pub(crate) fn assignment(&mut self, table: usize, column: usize) -> Assignment {
        let definition = &self.table(table).columns[column];
        let sources = self.table(table).columns_where(|at, source| {
            at != column && source.fits_into(definition) && source.generated.is_none()
        });
        let form = self.form(definition, !sources.is_empty());
        let name = &definition.name;
        let computed = |sql: String| Assignment { column, sql, value: None };
        match form {
            "same" => computed(name.clone()),
            "add" => computed(self.sum(table, column)),
            "copy" => {
                let source = *self.random.pick(&sources);
                computed(self.table(table).columns[source].name.clone())
            }
            "negate" if definition.kind == Kind::Bool => computed(format!("NOT {name}")),
            "negate" if definition.limit > SHIFT_ROOM && self.random.percent(50) => {
                computed(format!("10 - {name}"))
            }
            "negate" => computed(format!("-{name}")),
            "append" => {
                let end = *self.random.pick(&["a", "b"]);
                computed(match self.grammar.dialect {
                    Dialect::Mysql => format!("CONCAT({name}, '{end}')"),
                    Dialect::Postgres | Dialect::Sqlite => format!("{name} || '{end}'"),
                })
            }
            "case" => {
                let condition = self.simple_condition(table, "");
                let value = self.constant_sql(table, column);
                computed(format!("CASE WHEN {} THEN {value} ELSE {name} END", condition.sql))
            }
            "coalesce" => {
                let value = self.constant_sql(table, column);
                computed(format!("COALESCE({name}, {value})"))
            }
            "query" => match self.aggregate_of_other(table, column) {
                Some(sql) => computed(sql),
                None => computed(name.clone()),
            },
            "own query" => match self.aggregate_of_own(table, column) {
                Some(sql) => computed(sql),
                None => computed(name.clone()),
            },
            "default" => computed("DEFAULT".to_owned()),
            "null" => Assignment { column, sql: "NULL".to_owned(), value: Some(Value::Null) },
            _ => {
                let value = self.constant(table, column);
                self.constant_assignment(column, value)
            }
        }
    }

    /// The column plus or minus a small number.
    pub(crate) fn sum(&mut self, table: usize, column: usize) -> String {
        let definition = &self.table(table).columns[column];
        let number = self.random.between(1, 3);
        let sign =
            if definition.kind == Kind::Unsigned || self.random.percent(70) { "+" } else { "-" };
        match definition.kind {
            Kind::Decimal | Kind::Float => format!("{} {sign} {number}.25", definition.name),
            _ => format!("{} {sign} {number}", definition.name),
        }
    }

    fn aggregate_of_other(&mut self, table: usize, column: usize) -> Option<String> {
        let definition = &self.table(table).columns[column];
        let other = self.other_table(table)?;
        let sources = self.table(other).columns_where(|_, source| {
            source.fits_into(definition) && source.kind.has_order() && source.generated.is_none()
        });
        let source = *self.random.try_pick(&sources)?;
        let inner = self.simple_condition(other, "");
        let aggregate = *self.random.pick(&["MIN", "MAX"]);
        let (source, other) = (&self.table(other).columns[source].name, &self.table(other).name);
        Some(format!("(SELECT {aggregate}({source}) FROM {other}{})", inner.clause()))
    }
}
