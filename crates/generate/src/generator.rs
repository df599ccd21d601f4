//! What the statement generators share: tables, rows, the random stream, and the earlier statements.
//!
//! Idea: conflicts come from reuse. Every statement leaves a [`Touch`]: which table, which predicate, which columns it
//! tests and writes. Later statements of other transactions use it.

use crate::Grammar;
use crate::random::Random;
use crate::rows::{self, Rows};
use crate::schema::{Schema, Table};
use crate::value::{Kind, Value};

/// What a statement touches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Touch {
    /// The transaction it belongs to.
    pub(crate) transaction: usize,
    pub(crate) table: usize,
    /// Its WHERE without the word; empty for all rows.
    pub(crate) predicate: String,
    /// Columns that the predicate tests.
    pub(crate) tested: Vec<usize>,
    /// Columns that are written, with their new constants.
    pub(crate) written: Vec<(usize, Option<Value>)>,
}

/// Everything that a statement is generated from.
pub(crate) struct Generator<'s> {
    pub(crate) grammar: &'s Grammar<'s>,
    pub(crate) schema: &'s Schema,
    pub(crate) rows: Rows,
    pub(crate) random: Random,
    pub(crate) touches: Vec<Touch>,
    /// The transaction whose statements are being generated.
    pub(crate) transaction: usize,
    /// The table that the case is about.
    pub(crate) hot: usize,
    /// How many key shifts were used; see [`Generator::next_shift`].
    shifts: u32,
    /// How many names were given to new columns and indexes.
    names: usize,
}

/// Sums of distinct shifts must stay distinct and fit a SMALLINT.
const SHIFTS_MAX: u32 = 7;
const SHIFT_UNIT: i64 = 100;
const ROWS_FOR_SHIFTS: usize = 10;

impl<'s> Generator<'s> {
    pub(crate) fn new(
        grammar: &'s Grammar<'s>,
        schema: &'s Schema,
        rows: Rows,
        mut random: Random,
    ) -> Self {
        let hot = random.below(schema.tables.len());
        Self {
            grammar,
            schema,
            rows,
            random,
            touches: Vec::new(),
            transaction: 0,
            hot,
            shifts: 0,
            names: 0,
        }
    }

    /// A table by its number.
    pub(crate) fn table(&self, number: usize) -> &'s Table {
        &self.schema.tables[number]
    }

    /// The number of a table: mostly the one that the case is about.
    pub(crate) fn any_table(&mut self) -> usize {
        if self.random.percent(self.grammar.weights.conflict.same_table_percent) {
            self.hot
        } else {
            self.random.below(self.schema.tables.len())
        }
    }

    /// The number of a table that is not this one.
    pub(crate) fn other_table(&mut self, than: usize) -> Option<usize> {
        let others: Vec<usize> = (0..self.schema.tables.len()).filter(|at| *at != than).collect();
        self.random.try_pick(&others).copied()
    }

    /// A constant for comparison with, or assignment to, a column. Never NULL.
    pub(crate) fn constant(&mut self, table: usize, column: usize) -> Value {
        let weights = &self.grammar.weights;
        if self.random.percent(weights.conflict.row_value_percent) {
            let mut known: Vec<Value> =
                self.rows[table].iter().map(|row| row[column].clone()).collect();
            let others = self.touches.iter().filter(|touch| touch.table == table);
            let written = others.flat_map(|touch| &touch.written);
            known.extend(
                written.filter(|(at, _)| *at == column).filter_map(|(_, value)| value.clone()),
            );
            known.retain(|value| *value != Value::Null);
            if let Some(value) = self.random.try_pick(&known) {
                return value.clone();
            }
        }
        self.fresh_constant(table, column)
    }

    /// A constant that need not occur in any row. Never NULL.
    pub(crate) fn fresh_constant(&mut self, table: usize, column: usize) -> Value {
        let column = &self.schema.tables[table].columns[column];
        match rows::any_value(self.grammar, column, &mut self.random) {
            Value::Null if column.generated.is_some() => Kind::Int.any_value(&mut self.random, 0),
            Value::Null => column.kind.any_value(&mut self.random, 0),
            value => value,
        }
    }

    /// A constant as SQL.
    pub(crate) fn sql(&self, value: &Value) -> String {
        value.sql(self.grammar.product)
    }

    /// A constant for a column, as SQL.
    pub(crate) fn constant_sql(&mut self, table: usize, column: usize) -> String {
        let value = self.constant(table, column);
        self.sql(&value)
    }

    /// A number by which a key may be shifted in many rows at once without any collision, whatever other statements did
    /// before: every shift is a different power of two times a hundred, and unshifted keys are less than fifty apart,
    /// so equal sums have the same shifts and the same origin.
    pub(crate) fn next_shift(&mut self) -> Option<i64> {
        // Where rows are numbered through, their keys are further apart.
        if self.rows.iter().any(|rows| rows.len() > ROWS_FOR_SHIFTS) {
            return None;
        }
        let shift = SHIFT_UNIT << self.shifts;
        self.shifts += 1;
        (self.shifts <= SHIFTS_MAX).then_some(shift)
    }

    /// A number for the name of a new column, index or savepoint.
    pub(crate) fn next_name(&mut self) -> usize {
        self.names += 1;
        self.names
    }

    /// What another transaction touched in this table.
    pub(crate) fn foreign_touch(&mut self, table: usize) -> Option<Touch> {
        let transaction = self.transaction;
        let others: Vec<&Touch> = self
            .touches
            .iter()
            .filter(|touch| touch.table == table && touch.transaction != transaction)
            .collect();
        self.random.try_pick(&others).map(|touch| (*touch).clone())
    }

    /// Remembers that a statement touches rows.
    pub(crate) fn touch(
        &mut self,
        table: usize,
        predicate: &str,
        tested: &[usize],
        written: Vec<(usize, Option<Value>)>,
    ) {
        self.touches.push(Touch {
            transaction: self.transaction,
            table,
            predicate: predicate.to_owned(),
            tested: tested.to_vec(),
            written,
        });
    }
}
