//! Random INSERT and REPLACE statements.
//!
//! The rows of one statement must not collide in an order that the server chooses. Rows of VALUES have a fixed order,
//! and each key occurs once. A query gives one row (an aggregate, a whole key), or keys that are already distinct,
//! shifted by a number that no other statement uses.

use crate::generator::Generator;
use crate::rows;
use crate::value::{Kind, Value};

/// How many times a fresh key is looked for.
const TRIES: usize = 8;
/// Fresh keys are below this, or as much above the number of rows; those of initial rows are below ten, or count them.
const KEYS: usize = 16;
/// Percentage of optional columns that are named.
const NAMED_PERCENT: u32 = 80;

impl Generator<'_> {
    /// An INSERT into a table.
    pub(crate) fn insert(&mut self, table: usize) -> String {
        let weights = &self.grammar.weights.insert;
        let has_key = self.table(table).best_key().is_some();
        let if_key = |weight: u32| if has_key { weight } else { 0 };
        let form = self.random.weighted(&[
            (weights.plain, "plain"),
            (if_key(self.grammar.if_has("insert-ignore", weights.ignore)), "ignore"),
            (if_key(self.grammar.if_has("on-conflict", weights.ignore)), "nothing"),
            (if_key(self.grammar.if_has("on-duplicate-key", weights.upsert)), "duplicate"),
            (if_key(self.grammar.if_has("on-conflict", weights.upsert)), "conflict"),
            (weights.query, "query"),
        ]);
        let end = match form {
            "nothing" => " ON CONFLICT DO NOTHING".to_owned(),
            "duplicate" | "conflict" => self.upsert_clause(table),
            _ => String::new(),
        };
        let verb = if form == "ignore" { "INSERT IGNORE INTO" } else { "INSERT INTO" };
        let sql = match form {
            "query" => self.insert_query(table),
            _ => self.insert_values(table, verb),
        };
        let is_plain = form == "plain";
        let returning = self.returning("insert-returning", table, !is_plain);
        sql + &end + &returning
    }

    /// The clause that turns an INSERT into a table with a key into an upsert; empty if there is none.
    pub(crate) fn upsert_clause(&mut self, table: usize) -> String {
        if self.grammar.has("on-duplicate-key") {
            let sets = self.upsert_sets(table, "VALUES(", ")");
            return if sets.is_empty() { sets } else { format!(" ON DUPLICATE KEY UPDATE {sets}") };
        }
        if !self.grammar.has("on-conflict") {
            return String::new();
        }
        let sets = self.upsert_sets(table, "excluded.", "");
        let definition = self.table(table);
        let key = definition.names(definition.best_key().unwrap_or_default());
        if sets.is_empty() {
            " ON CONFLICT DO NOTHING".to_owned()
        } else {
            format!(" ON CONFLICT ({key}) DO UPDATE SET {sets}")
        }
    }

    /// A REPLACE into a table.
    pub(crate) fn replace(&mut self, table: usize) -> String {
        self.insert_values(table, "REPLACE INTO")
    }

    /// One or several rows of constants.
    fn insert_values(&mut self, table: usize, verb: &str) -> String {
        let several = self.random.percent(self.grammar.weights.insert.several_rows_percent);
        let count = if several { self.random.between(2, 3) } else { 1 };
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for _ in 0..count {
            let row = self.new_row(table);
            let definition = self.table(table);
            let clashes =
                |key: &[usize]| rows.iter().any(|other| definition.collide(key, other, &row));
            if !definition.keys().any(clashes) {
                rows.push(row);
            }
        }
        self.insert_rows(table, verb, &rows)
    }

    /// These rows; optional columns are left out now and then.
    pub(crate) fn insert_rows(&mut self, table: usize, verb: &str, rows: &[Vec<Value>]) -> String {
        let columns = self.named_columns(table);
        let tuples: Vec<String> = rows
            .iter()
            .map(|row| {
                let values: Vec<String> = columns.iter().map(|at| self.sql(&row[*at])).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        let written = rows
            .iter()
            .flat_map(|row| columns.iter().map(|at| (*at, Some(row[*at].clone()))))
            .collect();
        let condition = rows.first().map(|row| self.same_key(table, row)).unwrap_or_default();
        self.remember(table, &condition, written);
        let definition = self.table(table);
        format!(
            "{verb} {} ({}) VALUES {}",
            definition.name,
            definition.names(&columns),
            tuples.join(", ")
        )
    }

    /// A row that probably satisfies the constraints; its key is fresh or one that exists.
    pub(crate) fn new_row(&mut self, table: usize) -> Vec<Value> {
        let definition = self.table(table);
        let mut row: Vec<Value> = definition
            .columns
            .iter()
            .map(|column| rows::any_value(self.grammar, column, &mut self.random))
            .collect();
        if let Some(check) = &definition.check
            && !check.allows(check.column, &row[check.column])
        {
            row[check.column] = self.constant(table, check.column);
        }
        if let Some(foreign) = &definition.foreign
            && let Some(parent) = self.random.try_pick(&self.rows[foreign.parent])
        {
            foreign.refer(&mut row, parent);
        }
        for key in definition.keys() {
            self.choose_key(table, key, &mut row);
        }
        row
    }

    fn choose_key(&mut self, table: usize, key: &[usize], row: &mut [Value]) {
        let existing = self.grammar.weights.insert.existing_key_percent;
        if self.random.percent(existing) && !self.rows[table].is_empty() {
            let model = self.random.pick(&self.rows[table]).clone();
            key.iter().for_each(|at| row[*at] = model[*at].clone());
            return;
        }
        for _ in 0..TRIES {
            let is_taken = |other: &Vec<Value>| self.table(table).collide(key, other, row);
            if !self.rows[table].iter().any(is_taken) {
                return;
            }
            let at = *self.random.pick(key);
            let definition = &self.table(table).columns[at];
            row[at] = if definition.kind == Kind::Int {
                let known = self.rows[table].len();
                let bound = if known < KEYS { KEYS } else { known + KEYS };
                Value::Int(i64::try_from(self.random.below(bound)).expect("a small number"))
            } else {
                self.fresh_constant(table, at)
            };
        }
    }

    /// The columns that an INSERT names.
    fn named_columns(&mut self, table: usize) -> Vec<usize> {
        let definition = self.table(table);
        let mut columns = definition.writable();
        columns.retain(|at| {
            let column = &definition.columns[*at];
            let is_needed =
                definition.is_key(*at) || (!column.is_nullable && column.default.is_none());
            is_needed || self.random.percent(NAMED_PERCENT)
        });
        if columns.is_empty() {
            columns = definition.writable();
        }
        if self.random.percent(15) {
            self.random.shuffle(&mut columns);
        }
        columns
    }

    /// What an upsert does with the existing row.
    fn upsert_sets(&mut self, table: usize, before: &str, after: &str) -> String {
        let free = self.free_columns(table);
        let Some(column) = self.random.try_pick(&free).copied() else { return String::new() };
        let definition = self.table(table);
        let name = &definition.columns[column].name;
        let is_arithmetic = definition.columns[column].is_arithmetic();
        match self.random.below(3) {
            0 => format!("{name} = {before}{name}{after}"),
            1 if is_arithmetic => {
                let sum = self.sum(table, column);
                format!("{name} = {}.{sum}", definition.name)
            }
            _ => format!("{name} = {}", self.constant_sql(table, column)),
        }
    }

    /// Rows from a query that cannot collide with each other.
    fn insert_query(&mut self, table: usize) -> String {
        let form = self.random.below(3);
        let shifted = if form == 0 { self.insert_shifted(table) } else { None };
        shifted.unwrap_or_else(|| {
            if form == 1 { self.insert_maximum(table) } else { self.insert_copy(table) }
        })
    }

    /// Copies of rows whose only key, a whole number, is shifted.
    fn insert_shifted(&mut self, table: usize) -> Option<String> {
        let definition = self.table(table);
        let [key] = definition.best_key()? else { return None };
        let column = &definition.columns[*key];
        let can_shift =
            column.is_arithmetic() && column.kind == Kind::Int && definition.keys().count() == 1;
        let shift = if can_shift { self.next_shift() } else { None }?;
        let columns = definition.writable();
        let values: Vec<String> = columns
            .iter()
            .map(|at| {
                let name = &definition.columns[*at].name;
                if at == key { format!("{name} + {shift}") } else { name.clone() }
            })
            .collect();
        let condition = self.condition(table);
        self.remember(table, &condition, vec![(*key, None)]);
        Some(format!(
            "INSERT INTO {0} ({1}) SELECT {2} FROM {0}{3}",
            definition.name,
            definition.names(&columns),
            values.join(", "),
            condition.clause()
        ))
    }

    /// One row, with an aggregate in one column.
    fn insert_maximum(&mut self, table: usize) -> String {
        let row = self.new_row(table);
        let columns = self.named_columns(table);
        let definition = self.table(table);
        let fits = |at: &&usize| {
            let column = &definition.columns[**at];
            column.kind == Kind::Int && column.is_arithmetic() && column.limit > i64::from(i8::MAX)
        };
        let counted = columns.iter().find(fits).copied();
        let values: Vec<String> = columns
            .iter()
            .map(|at| {
                if Some(*at) == counted {
                    format!("COALESCE(MAX({}), 0) + 1", definition.columns[*at].name)
                } else {
                    self.sql(&row[*at])
                }
            })
            .collect();
        if counted.is_none() {
            return self.insert_rows(table, "INSERT INTO", &[row]);
        }
        let condition = self.simple_condition(table, "");
        let written = columns.iter().map(|at| (*at, None)).collect();
        self.remember(table, &condition, written);
        format!(
            "INSERT INTO {0} ({1}) SELECT {2} FROM {0}{3}",
            definition.name,
            definition.names(&columns),
            values.join(", "),
            condition.clause()
        )
    }

    /// A changed copy of at most one row of any table that has a key.
    fn insert_copy(&mut self, table: usize) -> String {
        let row = self.new_row(table);
        let keyed: Vec<usize> = (0..self.schema.tables.len())
            .filter(|at| self.table(*at).best_key().is_some())
            .collect();
        let Some(source) = self.random.try_pick(&keyed).copied() else {
            return self.insert_rows(table, "INSERT INTO", &[row]);
        };
        let columns = self.named_columns(table);
        let (definition, origin) = (self.table(table), self.table(source));
        let values: Vec<String> = columns
            .iter()
            .map(|at| {
                let column = &definition.columns[*at];
                let partners = origin.columns_where(|_, partner| {
                    partner.fits_into(column) && partner.generated.is_none()
                });
                match self.random.try_pick(&partners) {
                    Some(partner) if !definition.is_key(*at) => {
                        origin.columns[*partner].name.clone()
                    }
                    _ => self.sql(&row[*at]),
                }
            })
            .collect();
        let condition = self.pinned(source, origin.best_key().unwrap_or_default());
        let written = columns.iter().map(|at| (*at, Some(row[*at].clone()))).collect();
        let inserted = self.same_key(table, &row);
        self.remember(table, &inserted, written);
        format!(
            "INSERT INTO {} ({}) SELECT {} FROM {}{}",
            definition.name,
            definition.names(&columns),
            values.join(", "),
            origin.name,
            condition.clause()
        )
    }
}
