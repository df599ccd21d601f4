//! The classic anomalies as shapes: lost updates, phantoms, write skew, dirty writes.

use super::{A, B, Move};
use crate::condition::Condition;
use crate::generator::Generator;

impl Generator<'_> {
    /// Both read the same rows, then both write them.
    pub(super) fn lost_update(&mut self, table: usize) -> Option<Vec<Move>> {
        let condition = self.row_or_rows(table);
        let column = *self.random.try_pick(&self.free_columns(table))?;
        let reads = self.random.percent(60);
        let mut lines = Vec::new();
        for who in [A, B] {
            if reads {
                lines.push(Move::Statement(
                    who,
                    self.as_transaction(who).select_where(table, &condition),
                ));
            }
        }
        for who in [A, B] {
            let assignment = if self.table(table).columns[column].is_arithmetic() {
                let sql = self.sum(table, column);
                crate::set::Assignment { column, sql, value: None }
            } else {
                self.assignment(table, column)
            };
            let sql = self.as_transaction(who).update_where(table, &[assignment], &condition);
            lines.push(Move::Statement(who, sql));
        }
        Some(lines)
    }

    /// One writes the column that the other's condition tests.
    pub(super) fn semi_consistent(&mut self, table: usize) -> Option<Vec<Move>> {
        let free = self.free_columns(table);
        let tested = *self.random.try_pick(&free)?;
        let value = self.constant(table, tested);
        let assignment = self.constant_assignment(tested, value);
        let which =
            if self.random.percent(50) { Condition::default() } else { self.condition(table) };
        let first = self.as_transaction(A).update_where(table, &[assignment], &which);
        let test = self.on_column(table, tested, "");
        let second = match self.random.below(10) {
            0..=6 => {
                let written = *self.random.pick(&free);
                let assignment = self.assignment(table, written);
                self.as_transaction(B).update_where(table, &[assignment], &test)
            }
            _ => self.as_transaction(B).write_where(table, &test),
        };
        Some(vec![
            Move::Statement(A, first),
            Move::Statement(B, second),
            Move::End(A),
            Move::End(B),
        ])
    }

    /// A row appears in the range that the other changes.
    pub(super) fn phantom(&mut self, table: usize) -> Option<Vec<Move>> {
        let range = self.condition(table);
        let first = self.as_transaction(A).write_where(table, &range);
        let appears = if self.random.percent(75) {
            let row = self.new_row(table);
            self.as_transaction(B).insert_rows(table, "INSERT INTO", &[row])
        } else {
            self.as_transaction(B).update(table)
        };
        let again = self.as_transaction(A).write_where(table, &range);
        let mut lines = vec![Move::Statement(A, first), Move::Statement(B, appears)];
        if self.random.percent(60) {
            lines.push(Move::End(B));
        }
        lines.push(Move::Statement(A, again));
        Some(lines)
    }

    /// Both read some rows, then each writes one of them.
    pub(super) fn write_skew(&mut self, table: usize) -> Option<Vec<Move>> {
        let key = self.table(table).best_key()?;
        let range =
            if self.random.percent(50) { Condition::default() } else { self.condition(table) };
        let mut lines = Vec::new();
        for who in [A, B] {
            lines.push(Move::Statement(who, self.as_transaction(who).select_where(table, &range)));
        }
        for who in [A, B] {
            let row = self.pinned(table, key);
            lines.push(Move::Statement(who, self.as_transaction(who).change_where(table, &row)));
        }
        Some(lines)
    }

    /// Both write the same two rows, in opposite order.
    pub(super) fn crossing(&mut self, table: usize) -> Option<Vec<Move>> {
        let key = self.table(table).best_key()?;
        let rows = [self.pinned(table, key), self.pinned(table, key)];
        let mut lines = Vec::new();
        for (who, row) in [(A, 0), (B, 1), (A, 1), (B, 0)] {
            lines.push(Move::Statement(
                who,
                self.as_transaction(who).change_where(table, &rows[row]),
            ));
        }
        Some(lines)
    }

    /// A write is rolled back while another waits for it.
    pub(super) fn undone(&mut self, table: usize) -> Option<Vec<Move>> {
        let rows = self.row_or_rows(table);
        let to_savepoint = self.grammar.has("savepoint") && self.random.percent(50);
        let mut lines = Vec::new();
        if to_savepoint {
            if self.random.percent(50) {
                lines.push(Move::Statement(A, self.as_transaction(A).change_where(table, &rows)));
            }
            lines.push(Move::Statement(A, "SAVEPOINT s0".to_owned()));
        }
        lines.push(Move::Statement(A, self.as_transaction(A).write_where(table, &rows)));
        lines.push(Move::Statement(B, self.as_transaction(B).change_where(table, &rows)));
        if to_savepoint {
            lines.push(Move::Statement(A, "ROLLBACK TO SAVEPOINT s0".to_owned()));
        } else {
            lines.push(Move::Rollback(A));
        }
        Some(lines)
    }

    /// Both insert the same key.
    pub(super) fn same_key_twice(&mut self, table: usize) -> Option<Vec<Move>> {
        let key = self.table(table).best_key()?;
        let first = self.new_row(table);
        let mut second = self.new_row(table);
        key.iter().for_each(|at| second[*at] = first[*at].clone());
        let verbs: &[&str] = if self.grammar.has("replace") {
            &["INSERT INTO", "REPLACE INTO"]
        } else {
            &["INSERT INTO"]
        };
        let verb = *self.random.pick(verbs);
        let mut lines = vec![
            Move::Statement(A, self.as_transaction(A).insert_rows(table, "INSERT INTO", &[first])),
            Move::Statement(B, self.as_transaction(B).insert_rows(table, verb, &[second])),
        ];
        if self.random.percent(40) {
            lines.push(Move::Rollback(A));
        }
        Some(lines)
    }

    /// One row by its key, or any rows.
    pub(super) fn row_or_rows(&mut self, table: usize) -> Condition {
        match self.table(table).best_key() {
            Some(key) if self.random.percent(50) => self.pinned(table, key),
            _ => self.condition(table),
        }
    }
}
