//! Cases around a core that is known to show bugs: two transactions, their statements and their order are given;
//! tables, columns, rows, values and everything else are random.
//!
//! Sources: the shapes of published bugs (MDEV-27992: a key that moves backwards past a scan; MDEV-26643: a
//! semi-consistent read; WriteCheck's figure 1: a row that is deleted and inserted again) and of the classic anomalies.
//!
//! Assumption: a shape may need something that the tables lack (a key, an index, two rows); then the case is generated
//! without a shape.

mod classic;
mod links;
mod moves;

use crate::condition::Condition;
use crate::generator::Generator;
use crate::schema::Table;

/// Two transactions with their order.
pub(crate) struct Shape {
    pub(crate) transactions: [Vec<String>; 2],
    /// The transaction of each statement.
    pub(crate) order: Vec<usize>,
}

/// The first transaction of a shape, and the second.
const A: usize = 0;
const B: usize = 1;

/// What happens in a shape.
#[derive(Debug, Clone)]
enum Move {
    /// A statement.
    Statement(usize, String),
    /// The transaction ends in a random way.
    End(usize),
    /// The transaction is rolled back.
    Rollback(usize),
}

/// Percentage of positions at which further statements are added.
const EXTRA_PERCENT: u32 = 12;

impl Generator<'_> {
    /// A shape that the tables allow, or `None`.
    pub(crate) fn shape(&mut self) -> Option<Shape> {
        let weights = &self.grammar.weights.shape;
        let is_linked = self.schema.tables.iter().any(|table| table.foreign.is_some());
        let parent_leaves = if is_linked { weights.parent_leaves } else { 0 };
        let locked = self.grammar.if_has("for-update", weights.locked);
        let shared = if self.has_locks() { weights.shared } else { 0 };
        let form = self.random.weighted(&[
            (weights.key_moves, "key moves"),
            (weights.lost_update, "lost update"),
            (weights.semi_consistent, "semi-consistent"),
            (weights.phantom, "phantom"),
            (weights.reinsert, "reinsert"),
            (weights.write_skew, "write skew"),
            (weights.crossing, "crossing"),
            (weights.undone, "undone"),
            (weights.index_move, "index move"),
            (weights.same_key, "same key"),
            (parent_leaves, "parent leaves"),
            (weights.upsert, "upsert"),
            (locked, "locked"),
            (shared, "shared"),
        ]);
        let table = self.hot;
        let lines = match form {
            "key moves" => self.key_moves(table),
            "lost update" => self.lost_update(table),
            "semi-consistent" => self.semi_consistent(table),
            "phantom" => self.phantom(table),
            "reinsert" => self.reinsert(table),
            "write skew" => self.write_skew(table),
            "crossing" => self.crossing(table),
            "undone" => self.undone(table),
            "index move" => self.index_move(table),
            "parent leaves" => self.parent_leaves(),
            "upsert" => self.upsert_meets(table),
            "locked" => Some(self.locked_rows(table)),
            "shared" => Some(self.shared_rows(table)),
            _ => self.same_key_twice(table),
        }?;
        Some(self.complete(lines))
    }

    /// Adds BEGIN, COMMIT and a few more statements.
    fn complete(&mut self, lines: Vec<Move>) -> Shape {
        let mut shape = Shape { transactions: [Vec::new(), Vec::new()], order: Vec::new() };
        let mut is_open = [false; 2];
        let mut add = |who: usize, sql: String| {
            shape.transactions[who].push(sql);
            shape.order.push(who);
        };
        let begins_together = self.random.percent(60);
        if begins_together {
            for who in [A, B] {
                add(who, self.begin());
                is_open[who] = true;
            }
        }
        let mut has_ended = [false; 2];
        for line in lines {
            let (Move::Statement(who, _) | Move::End(who) | Move::Rollback(who)) = line;
            if !is_open[who] {
                add(who, self.begin());
                is_open[who] = true;
            }
            if self.random.percent(EXTRA_PERCENT) {
                self.transaction = who;
                let table = self.any_table();
                add(who, self.statement(table, false));
            }
            has_ended[who] |= !matches!(line, Move::Statement(..));
            match line {
                Move::Statement(_, sql) => add(who, sql),
                Move::End(_) => add(who, self.end()),
                Move::Rollback(_) => add(who, "ROLLBACK".to_owned()),
            }
        }
        let mut rest = [A, B];
        self.random.shuffle(&mut rest);
        for who in rest {
            if !has_ended[who] {
                add(who, self.end());
            }
        }
        shape
    }

    /// A write of the rows that meet the condition, or a read that locks them.
    fn write_where(&mut self, table: usize, condition: &Condition) -> String {
        match self.random.below(10) {
            0..=3 if !self.free_columns(table).is_empty() => {
                let assignments = self.assignments(table);
                self.update_where(table, &assignments, condition)
            }
            4 => self.locking_where(table, condition),
            _ => self.delete_where(table, condition),
        }
    }

    /// An update of the rows that meet the condition; a deletion where no column is free.
    fn change_where(&mut self, table: usize, condition: &Condition) -> String {
        if self.free_columns(table).is_empty() {
            return self.delete_where(table, condition);
        }
        let assignments = self.assignments(table);
        self.update_where(table, &assignments, condition)
    }

    /// Makes the statements that follow those of this transaction.
    fn as_transaction(&mut self, who: usize) -> &mut Self {
        self.transaction = who;
        self
    }
}

/// Integer columns that are a key by themselves.
fn number_keys(table: &Table) -> Vec<usize> {
    let keys = table.keys().filter(|key| key.len() == 1).map(|key| key[0]);
    keys.filter(|at| table.columns[*at].kind == crate::value::Kind::Int).collect()
}
