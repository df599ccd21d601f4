//! Random WHERE conditions.
//!
//! Idea: conditions are typed, so that no row can raise an error while it is tested: a condition may be tested on any
//! rows in any order. Constants, and whole conditions, come from rows and from other transactions' statements, so that
//! transactions conflict.

use anchorite_model::sql::Dialect;

use crate::generator::Generator;
use crate::schema::Column;
use crate::value::{Kind, Value};

/// A condition with the columns that it tests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Condition {
    /// Without the word WHERE; empty for all rows.
    pub(crate) sql: String,
    pub(crate) tested: Vec<usize>,
}

impl Condition {
    fn new(sql: String, tested: &[usize]) -> Self {
        Self { sql, tested: tested.to_vec() }
    }

    /// ` WHERE …`, or nothing for all rows.
    pub(crate) fn clause(&self) -> String {
        if self.sql.is_empty() { String::new() } else { format!(" WHERE {}", self.sql) }
    }
}

/// What a condition may contain.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// The most levels of AND, OR and NOT.
    depth: usize,
    has_subqueries: bool,
}

impl Generator<'_> {
    /// Remembers what a statement touches.
    pub(crate) fn remember(
        &mut self,
        table: usize,
        condition: &Condition,
        written: Vec<(usize, Option<Value>)>,
    ) {
        self.touch(table, &condition.sql, &condition.tested, written);
    }

    /// A condition on a table, often one that conflicts with another transaction.
    pub(crate) fn condition(&mut self, table: usize) -> Condition {
        let weights = &self.grammar.weights.conflict;
        if self.random.percent(weights.same_predicate_percent)
            && let Some(touch) = self.foreign_touch(table)
        {
            return Condition::new(touch.predicate, &touch.tested);
        }
        if self.random.percent(weights.written_column_percent)
            && let Some(touch) = self.foreign_touch(table)
            && let Some((column, _)) = self.random.try_pick(&touch.written)
        {
            return self.on_column(table, *column, "");
        }
        self.free_condition(table, "", Limits { depth: 1, has_subqueries: true })
    }

    /// A condition without subqueries whose columns have this prefix.
    pub(crate) fn simple_condition(&mut self, table: usize, prefix: &str) -> Condition {
        self.free_condition(table, prefix, Limits { depth: 0, has_subqueries: false })
    }

    /// The whole key is one constant: at most one row, mostly one that exists.
    pub(crate) fn pinned(&mut self, table: usize, key: &[usize]) -> Condition {
        let row = self.random.try_pick(&self.rows[table]).cloned();
        let is_existing = self.random.percent(75);
        let parts: Vec<String> = key
            .iter()
            .map(|at| {
                let existing = row.as_ref().map(|row| row[*at].clone());
                let value = existing.filter(|value| is_existing && *value != Value::Null);
                let value = value.unwrap_or_else(|| self.constant(table, *at));
                format!("{} = {}", self.name(table, *at, ""), self.sql(&value))
            })
            .collect();
        Condition::new(parts.join(" AND "), key)
    }

    /// The key is that of this row; all rows if the table has no key.
    pub(crate) fn same_key(&self, table: usize, row: &[Value]) -> Condition {
        let key = self.table(table).best_key().unwrap_or_default();
        let parts: Vec<String> = key
            .iter()
            .filter(|at| row[**at] != Value::Null)
            .map(|at| format!("{} = {}", self.name(table, *at, ""), self.sql(&row[*at])))
            .collect();
        Condition::new(parts.join(" AND "), key)
    }

    /// A test of one column.
    pub(crate) fn on_column(&mut self, table: usize, column: usize, prefix: &str) -> Condition {
        let weights = &self.grammar.weights.predicate;
        let definition = &self.table(table).columns[column];
        let kind = definition.kind;
        let ordered = |weight: u32| if kind.has_order() { weight } else { 0 };
        let choice = self.random.weighted(&[
            (weights.compare, "compare"),
            (ordered(weights.key_range), "range"),
            (ordered(weights.between), "between"),
            (if kind.has_equality() { weights.in_list } else { 0 }, "list"),
            (if definition.is_nullable { weights.null } else { 0 }, "null"),
            (if kind == Kind::Text { weights.like } else { 0 }, "like"),
            (self.arithmetic_weight(table, column), "arithmetic"),
            (self.truth_weight(kind), "truth"),
        ]);
        let name = self.name(table, column, prefix);
        let sql = match choice {
            "range" => {
                let operator = *self.random.pick(&["<", "<=", ">", ">="]);
                format!("{name} {operator} {}", self.constant_sql(table, column))
            }
            "between" => {
                let mut ends = [self.constant(table, column), self.constant(table, column)];
                ends.sort();
                format!("{name} BETWEEN {} AND {}", self.sql(&ends[0]), self.sql(&ends[1]))
            }
            "list" => {
                let values: Vec<String> = (0..self.random.between(1, 3))
                    .map(|_| self.constant_sql(table, column))
                    .collect();
                let not = if self.random.percent(25) { "NOT " } else { "" };
                format!("{name} {not}IN ({})", values.join(", "))
            }
            "null" => {
                let not = if self.random.percent(50) { "NOT " } else { "" };
                format!("{name} IS {not}NULL")
            }
            "like" => {
                let pattern = *self.random.pick(&["a%", "%b", "%", "b_", "%a%"]);
                format!("{name} LIKE '{pattern}'")
            }
            "arithmetic" => self.arithmetic(table, column, &name),
            "truth" => self.truth(kind, &name),
            _ => self.comparison(table, column, &name),
        };
        Condition::new(sql, &[column])
    }

    fn free_condition(&mut self, table: usize, prefix: &str, limits: Limits) -> Condition {
        let weights = &self.grammar.weights.predicate;
        let key = self.table(table).best_key();
        let if_key = |weight: u32| if key.is_some() { weight } else { 0 };
        let if_deep = |weight: u32| if limits.depth > 0 { weight } else { 0 };
        let has_others = limits.has_subqueries && self.schema.tables.len() > 1;
        let single = weights.compare
            + weights.between
            + weights.in_list
            + weights.null
            + weights.like
            + weights.arithmetic
            + weights.truth;
        let choice = self.random.weighted(&[
            (if_deep(weights.all_rows), "all"),
            (if prefix.is_empty() { if_key(weights.key) } else { 0 }, "key"),
            (if_key(weights.key_range), "key column"),
            (single, "column"),
            (weights.columns, "columns"),
            (if_deep(weights.and_or), "and or"),
            (if_deep(weights.not), "not"),
            (if has_others { weights.subquery } else { 0 }, "subquery"),
        ]);
        match (choice, key) {
            ("all", _) if self.random.percent(70) => Condition::default(),
            ("all", _) => Condition::new("TRUE".to_owned(), &[]),
            ("key", Some(key)) => self.pinned(table, key),
            ("key column", Some(key)) => self.on_column(table, key[0], prefix),
            ("columns", _) => self.two_columns(table, prefix),
            ("and or", _) => {
                let deeper = Limits { depth: limits.depth - 1, ..limits };
                let left = self.free_condition(table, prefix, deeper);
                let right = self.free_condition(table, prefix, deeper);
                let operator = *self.random.pick(&["AND", "OR"]);
                let tested = [left.tested, right.tested].concat();
                Condition::new(format!("({}) {operator} ({})", left.sql, right.sql), &tested)
            }
            ("not", _) => {
                let deeper = Limits { depth: limits.depth - 1, ..limits };
                let inner = self.free_condition(table, prefix, deeper);
                Condition::new(format!("NOT ({})", inner.sql), &inner.tested)
            }
            ("subquery", _) => self.subquery(table, prefix),
            _ => {
                let column = self.random.below(self.table(table).columns.len());
                self.on_column(table, column, prefix)
            }
        }
    }

    fn comparison(&mut self, table: usize, column: usize, name: &str) -> String {
        let kind = self.table(table).columns[column].kind;
        if kind == Kind::Json {
            return self.inside_json(name);
        }
        let value = self.constant_sql(table, column);
        let null_safe =
            if self.grammar.has("null-safe-equal") { "<=>" } else { "IS NOT DISTINCT FROM" };
        let has_null_safe =
            self.grammar.has("null-safe-equal") || self.grammar.has("is-distinct-from");
        let ordered = if kind.has_order() { 6 } else { 0 };
        let operator = self.random.weighted(&[
            (55, "="),
            (12, "<>"),
            (ordered, "<"),
            (ordered, "<="),
            (ordered, ">"),
            (ordered, ">="),
            (if has_null_safe { 3 } else { 0 }, null_safe),
        ]);
        format!("{name} {operator} {value}")
    }

    /// A test of the number in a JSON document.
    fn inside_json(&mut self, name: &str) -> String {
        let operator = *self.random.pick(&["=", "<>", "<", ">="]);
        let number = self.random.between(1, 3);
        match self.grammar.dialect {
            Dialect::Postgres => format!("({name} ->> 'a') {operator} '{number}'"),
            Dialect::Mysql | Dialect::Sqlite => {
                format!("JSON_EXTRACT({name}, '$.a') {operator} {number}")
            }
        }
    }

    fn two_columns(&mut self, table: usize, prefix: &str) -> Condition {
        let table_columns = &self.table(table).columns;
        let column = self.random.below(table_columns.len());
        let is_like =
            |at: usize, other: &Column| at != column && other.kind == table_columns[column].kind;
        let others = self.table(table).columns_where(is_like);
        let Some(other) = self.random.try_pick(&others).copied() else {
            return self.on_column(table, column, prefix);
        };
        let operators: &[&str] = if table_columns[column].kind.has_order() {
            &["=", "<>", "<", ">="]
        } else {
            &["=", "<>"]
        };
        let operator = *self.random.pick(operators);
        let (left, right) = (self.name(table, column, prefix), self.name(table, other, prefix));
        Condition::new(format!("{left} {operator} {right}"), &[column, other])
    }

    fn arithmetic_weight(&self, table: usize, column: usize) -> u32 {
        let is_arithmetic = self.table(table).columns[column].is_arithmetic();
        if is_arithmetic { self.grammar.weights.predicate.arithmetic } else { 0 }
    }

    fn arithmetic(&mut self, table: usize, column: usize, name: &str) -> String {
        let kind = self.table(table).columns[column].kind;
        let value = self.constant_sql(table, column);
        let number = self.random.between(1, 3);
        let operator = *self.random.pick(&["=", "<>", "<", ">="]);
        match self.random.below(3) {
            0 if kind == Kind::Int => {
                let rest = self.random.below(2);
                format!("{name} % 2 {operator} {rest}")
            }
            1 => format!("{name} - {number} {operator} {value}"),
            _ => format!("{name} + {number} {operator} {value}"),
        }
    }

    fn truth_weight(&self, kind: Kind) -> u32 {
        let weight = self.grammar.weights.predicate.truth;
        let as_number = kind.is_number() && self.grammar.has("number-as-condition");
        // Boolean columns are hardly ever tested in other ways.
        if kind == Kind::Bool { weight * 4 } else { weight * u32::from(as_number) }
    }

    fn truth(&mut self, kind: Kind, name: &str) -> String {
        let forms: &[&str] = if kind == Kind::Bool {
            &["", "NOT ", "IS TRUE", "IS NOT TRUE"]
        } else {
            &["", "NOT "]
        };
        match *self.random.pick(forms) {
            "" => name.to_owned(),
            "NOT " => format!("NOT {name}"),
            test => format!("{name} {test}"),
        }
    }

    /// A test against another table.
    fn subquery(&mut self, table: usize, prefix: &str) -> Condition {
        let column = self.random.below(self.table(table).columns.len());
        let kind = self.table(table).columns[column].kind;
        let Some(other) = self.other_table(table) else {
            return self.on_column(table, column, prefix);
        };
        let partners = self.table(other).columns_where(|_, partner| partner.kind == kind);
        let Some(partner) = self.random.try_pick(&partners).copied() else {
            return self.on_column(table, column, prefix);
        };
        let inner = self.simple_condition(other, "");
        let other_name = &self.table(other).name;
        let partner_name = &self.table(other).columns[partner].name;
        let name = self.name(table, column, prefix);
        let not = if self.random.percent(25) { "NOT " } else { "" };
        let sql = match self.random.below(3) {
            0 if kind.has_order() => {
                let operator = *self.random.pick(&["=", "<", "<=", ">", ">="]);
                let aggregate = *self.random.pick(&["MIN", "MAX"]);
                format!(
                    "{name} {operator} (SELECT {aggregate}({partner_name}) FROM {other_name}{})",
                    inner.clause()
                )
            }
            1 => {
                let base = if prefix.is_empty() {
                    format!("{}.", self.table(table).name)
                } else {
                    prefix.to_owned()
                };
                let outer = self.name(table, column, &base);
                format!(
                    "{not}EXISTS (SELECT 1 FROM {other_name} WHERE {other_name}.{partner_name} = {outer})"
                )
            }
            _ => format!(
                "{name} {not}IN (SELECT {partner_name} FROM {other_name}{})",
                inner.clause()
            ),
        };
        Condition::new(sql, &[column])
    }

    fn name(&self, table: usize, column: usize, prefix: &str) -> String {
        format!("{prefix}{}", self.table(table).columns[column].name)
    }
}
