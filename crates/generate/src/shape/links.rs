//! Shapes in which one transaction relies on what the other takes away: a parent row, a key that is in use, a lock.

use super::{A, B, Move};
use crate::generator::Generator;

impl Generator<'_> {
    /// One refers to a row that the other deletes, or whose key it changes.
    pub(super) fn parent_leaves(&mut self) -> Option<Vec<Move>> {
        let tables = self.schema.tables.iter().enumerate();
        let links: Vec<_> =
            tables.filter_map(|(at, table)| Some((at, table.foreign.clone()?))).collect();
        let (child, foreign) = self.random.try_pick(&links)?.clone();
        let parents = &self.rows[foreign.parent];
        let is_alone = |parent: &&Vec<crate::value::Value>| {
            !self.rows[child].iter().any(|row| foreign.refers(row, parent))
        };
        let alone: Vec<_> = parents.iter().filter(is_alone).cloned().collect();
        // A parent with children cannot be removed anyway, so the other transaction would add nothing.
        let parent = self.random.try_pick(if alone.is_empty() { parents } else { &alone })?.clone();

        let mut row = self.new_row(child);
        foreign.refer(&mut row, &parent);
        let is_new = self.rows[child].is_empty() || self.random.percent(70);
        let refers = if is_new {
            self.as_transaction(A).insert_rows(child, "INSERT INTO", &[row])
        } else {
            let old = self.random.pick(&self.rows[child]).clone();
            let condition = self.same_key(child, &old);
            let pairs = foreign.columns.iter().zip(&foreign.parent_columns);
            let assignments: Vec<_> = pairs
                .map(|(own, other)| self.constant_assignment(*own, parent[*other].clone()))
                .collect();
            self.as_transaction(A).update_where(child, &assignments, &condition)
        };
        let condition = self.same_key(foreign.parent, &parent);
        let leaves = if self.random.percent(70) {
            self.as_transaction(B).delete_where(foreign.parent, &condition)
        } else {
            let column = *self.random.pick(&foreign.parent_columns);
            let other = self.fresh_constant(foreign.parent, column);
            let assignment = self.constant_assignment(column, other);
            self.as_transaction(B).update_where(foreign.parent, &[assignment], &condition)
        };
        let mut lines = vec![Move::Statement(A, refers), Move::Statement(B, leaves)];
        if self.random.percent(40) {
            lines.reverse();
        }
        let (Move::Statement(first, _) | Move::End(first) | Move::Rollback(first)) = lines[0];
        lines.push(if self.random.percent(20) { Move::Rollback(first) } else { Move::End(first) });
        Some(lines)
    }

    /// One changes, deletes or inserts a row that the other inserts or, if it exists, updates.
    pub(super) fn upsert_meets(&mut self, table: usize) -> Option<Vec<Move>> {
        let key = self.table(table).best_key()?;
        let mut row = self.new_row(table);
        let is_there = self.random.percent(75);
        let model = self.random.try_pick(&self.rows[table]).filter(|_| is_there).cloned();
        if let Some(model) = &model {
            key.iter().for_each(|at| row[*at] = model[*at].clone());
        }
        let first = match &model {
            Some(model) => {
                let condition = self.same_key(table, model);
                self.as_transaction(A).write_where(table, &condition)
            }
            None => {
                self.as_transaction(A).insert_rows(table, "INSERT INTO", std::slice::from_ref(&row))
            }
        };
        let upsert = self.as_transaction(B).insert_rows(table, "INSERT INTO", &[row]);
        let upsert = upsert + &self.upsert_clause(table);
        let mut lines = vec![Move::Statement(A, first), Move::Statement(B, upsert)];
        lines.push(if self.random.percent(25) { Move::Rollback(A) } else { Move::End(A) });
        Some(lines)
    }

    /// One locks rows by reading them; the other wants to write them.
    pub(super) fn locked_rows(&mut self, table: usize) -> Vec<Move> {
        let rows = self.row_or_rows(table);
        let lock = self.as_transaction(A).locking_where(table, &rows);
        let same = if self.random.percent(60) { rows.clone() } else { self.row_or_rows(table) };
        let mut lines = vec![
            Move::Statement(A, lock),
            Move::Statement(B, self.as_transaction(B).change_where(table, &same)),
        ];
        if self.random.percent(50) {
            lines.push(Move::Statement(A, self.as_transaction(A).change_where(table, &rows)));
        }
        lines.push(Move::End(A));
        lines
    }

    /// Both share a lock on some rows, then they write rows among them.
    pub(super) fn shared_rows(&mut self, table: usize) -> Vec<Move> {
        let rows = self.row_or_rows(table);
        let mut lines: Vec<Move> = [A, B]
            .into_iter()
            .map(|who| Move::Statement(who, self.as_transaction(who).sharing_where(table, &rows)))
            .collect();
        let writers = if self.random.percent(60) { vec![A, B] } else { vec![B] };
        for who in writers {
            let sql = self.as_transaction(who).change_where(table, &rows);
            lines.push(Move::Statement(who, sql));
        }
        lines
    }
}
