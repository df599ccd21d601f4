//! Shapes in which a row moves: its key, its indexed value, or away and back.

use super::{A, B, Move, number_keys};
use crate::condition::Condition;
use crate::generator::Generator;
use crate::value::Value;

/// Keys move mostly backwards: scans go forwards.
const BACKWARDS_PERCENT: u32 = 75;

impl Generator<'_> {
    /// A key moves, mostly twice and backwards; a scan of the other transaction has to wait in between.
    pub(super) fn key_moves(&mut self, table: usize) -> Option<Vec<Move>> {
        let definition = self.table(table);
        let keys = number_keys(definition);
        let key = *self.random.try_pick(&keys)?;
        let row = self.random.try_pick(&self.rows[table])?.clone();
        let from = row[key].as_int()?;
        let steps = [self.step(), self.step()];
        let sign = if self.random.percent(BACKWARDS_PERCENT) { -1 } else { 1 };
        let via = from.checked_add(sign * steps[0])?;
        let to = via.checked_add(sign * steps[1])?;
        let is_twice = self.random.percent(75);
        let is_alone = self.rows[table].len() == 1 && self.random.percent(60);
        let name = &definition.columns[key].name;
        let at = |value: i64| {
            let sql = if is_alone { String::new() } else { format!("{name} = {value}") };
            Condition { sql, tested: vec![key] }
        };
        let mut lines = Vec::new();
        let first = self.constant_assignment(key, Value::Int(via));
        lines.push(Move::Statement(
            A,
            self.as_transaction(A).update_where(table, &[first], &at(from)),
        ));
        lines.push(Move::Statement(B, self.scan(table, key)));
        if is_twice {
            let second = self.constant_assignment(key, Value::Int(to));
            let sql = self.as_transaction(A).update_where(table, &[second], &at(via));
            lines.push(Move::Statement(A, sql));
        }
        lines.push(Move::End(A));
        if self.random.percent(30) {
            lines.push(Move::Statement(B, self.scan(table, key)));
        }
        lines.push(Move::End(B));
        Some(lines)
    }

    fn step(&mut self) -> i64 {
        i64::try_from(self.random.between(1, 3)).expect("a small number")
    }

    /// A write, or a locking read, of all rows or of a range of the key.
    fn scan(&mut self, table: usize, key: usize) -> String {
        self.transaction = B;
        let condition = if self.random.percent(50) {
            Condition::default()
        } else if self.random.percent(60) {
            let name = &self.table(table).columns[key].name;
            let operator = *self.random.pick(&["<=", ">=", "<", ">"]);
            let sql = format!("{name} {operator} {}", self.constant_sql(table, key));
            Condition { sql, tested: vec![key] }
        } else {
            self.condition(table)
        };
        self.write_where(table, &condition)
    }

    /// An indexed value moves, and mostly back, alongside a write that looks for it.
    pub(super) fn index_move(&mut self, table: usize) -> Option<Vec<Move>> {
        let definition = self.table(table);
        let free = self.free_columns(table);
        let mut columns: Vec<usize> = definition.indexes.iter().map(|index| index.column).collect();
        columns.retain(|column| free.contains(column));
        let column = *self.random.try_pick(&columns)?;
        let row = self.random.try_pick(&self.rows[table])?.clone();
        let from = Some(row[column].clone()).filter(|value| *value != Value::Null)?;
        let to = self.fresh_constant(table, column);
        let name = &definition.columns[column].name;
        let is = |generator: &Self, value: &Value| Condition {
            sql: format!("{name} = {}", generator.sql(value)),
            tested: vec![column],
        };
        let (old, new) = (is(self, &from), is(self, &to));
        let there = self.constant_assignment(column, to);
        let back = self.constant_assignment(column, from);
        let mut lines = Vec::new();
        lines.push(Move::Statement(A, self.as_transaction(A).update_where(table, &[there], &old)));
        let sought = if self.random.percent(60) { &old } else { &new };
        lines.push(Move::Statement(B, self.as_transaction(B).write_where(table, sought)));
        if self.random.percent(60) {
            lines.push(Move::Statement(
                A,
                self.as_transaction(A).update_where(table, &[back], &new),
            ));
        }
        lines.push(Move::End(A));
        Some(lines)
    }

    /// A row is deleted and inserted again, alongside a write that looks for it.
    pub(super) fn reinsert(&mut self, table: usize) -> Option<Vec<Move>> {
        self.table(table).best_key()?;
        let old = self.random.try_pick(&self.rows[table])?.clone();
        let condition = self.same_key(table, &old);
        let mut new = old.clone();
        if self.random.percent(60) {
            let other = self.new_row(table);
            for column in self.free_columns(table) {
                new[column] = other[column].clone();
            }
        }
        let mut lines = Vec::new();
        lines.push(Move::Statement(A, self.as_transaction(A).delete_where(table, &condition)));
        let sought = if self.random.percent(60) {
            condition
        } else {
            self.as_transaction(B).condition(table)
        };
        let beside = Move::Statement(B, self.as_transaction(B).write_where(table, &sought));
        let again =
            Move::Statement(A, self.as_transaction(A).insert_rows(table, "INSERT INTO", &[new]));
        lines.extend(if self.random.percent(70) { [beside, again] } else { [again, beside] });
        lines.push(Move::End(A));
        Some(lines)
    }
}
