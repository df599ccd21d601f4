//! Random UPDATE and DELETE statements.

use crate::condition::Condition;
use crate::generator::Generator;
use crate::set::Assignment;

/// Percentage of the updates that move a key that name one row.
const PINNED_MOVE_PERCENT: u32 = 70;

impl Generator<'_> {
    /// An UPDATE of a table.
    pub(crate) fn update(&mut self, table: usize) -> String {
        let weights = &self.grammar.weights.set;
        if self.random.percent(weights.join_percent)
            && let Some(sql) = self.joined_update(table)
        {
            return sql;
        }
        let key = self.table(table).best_key();
        let moves_key =
            self.random.percent(weights.move_key_percent) || self.free_columns(table).is_empty();
        let key_move = if moves_key { self.key_move(table) } else { None };
        match (key_move, key) {
            (Some(assignment), Some(key)) => {
                let is_pinned = self.random.percent(PINNED_MOVE_PERCENT);
                let condition =
                    if is_pinned { self.pinned(table, key) } else { self.condition(table) };
                self.update_where(table, &[assignment], &condition)
            }
            _ => {
                let assignments = self.assignments(table);
                let condition = self.write_condition(table);
                let sql = self.update_where(table, &assignments, &condition);
                if self.grammar.has("update-ignore")
                    && self.random.percent(weights.update_ignore_percent)
                    && self.is_harmless(table, &assignments)
                {
                    return sql.replacen("UPDATE", "UPDATE IGNORE", 1);
                }
                let limit = self.ordered_limit(table);
                let returning = self.returning("update-returning", table, !limit.is_empty());
                sql + &limit + &returning
            }
        }
    }

    /// An UPDATE with these assignments and this condition.
    pub(crate) fn update_where(
        &mut self,
        table: usize,
        assignments: &[Assignment],
        condition: &Condition,
    ) -> String {
        let definition = self.table(table);
        let parts: Vec<String> = assignments
            .iter()
            .map(|part| format!("{} = {}", definition.columns[part.column].name, part.sql))
            .collect();
        let written = assignments.iter().map(|part| (part.column, part.value.clone())).collect();
        self.remember(table, condition, written);
        format!("UPDATE {} SET {}{}", definition.name, parts.join(", "), condition.clause())
    }

    /// A DELETE from a table.
    pub(crate) fn delete(&mut self, table: usize) -> String {
        if self.random.percent(self.grammar.weights.set.join_percent)
            && let Some(sql) = self.joined_delete(table)
        {
            return sql;
        }
        let condition = self.write_condition(table);
        let sql = self.delete_where(table, &condition);
        let limit = self.ordered_limit(table);
        let returning = self.returning("delete-returning", table, !limit.is_empty());
        sql + &limit + &returning
    }

    /// A DELETE with this condition.
    pub(crate) fn delete_where(&mut self, table: usize, condition: &Condition) -> String {
        let written =
            self.table(table).writable().into_iter().map(|column| (column, None)).collect();
        self.remember(table, condition, written);
        format!("DELETE FROM {}{}", self.table(table).name, condition.clause())
    }

    /// A condition of a write; now and then it reads the written table itself.
    fn write_condition(&mut self, table: usize) -> Condition {
        let share = self.grammar.weights.set.own_table_percent;
        let own = self.random.percent(share).then(|| self.own_table_condition(table));
        own.flatten().unwrap_or_else(|| self.condition(table))
    }

    /// Whether no constraint can reject the assignments.
    fn is_harmless(&self, table: usize, assignments: &[Assignment]) -> bool {
        let table = self.table(table);
        assignments.iter().all(|part| {
            let checked = table.check.as_ref().is_some_and(|check| check.column == part.column);
            let refers = table
                .foreign
                .as_ref()
                .is_some_and(|foreign| foreign.columns.contains(&part.column));
            !checked && !refers && table.columns[part.column].is_nullable
        })
    }

    /// ` ORDER BY` the primary key ` LIMIT n`; rare.
    fn ordered_limit(&mut self, table: usize) -> String {
        let definition = self.table(table);
        let is_wanted = self.grammar.has("ordered-limit")
            && self.random.percent(self.grammar.weights.set.ordered_limit_percent);
        if definition.primary.is_empty() || !is_wanted {
            return String::new();
        }
        let count = self.random.between(1, 2);
        format!(" ORDER BY {} LIMIT {count}", definition.names(&definition.primary))
    }

    /// ` RETURNING` some columns; rare.
    pub(crate) fn returning(&mut self, feature: &str, table: usize, is_taken: bool) -> String {
        let share = self.grammar.weights.insert.returning_percent;
        if is_taken || !self.grammar.has(feature) || !self.random.percent(share) {
            return String::new();
        }
        let columns = self.table(table).columns.len();
        let column = self.random.below(columns);
        format!(" RETURNING {}", self.table(table).columns[column].name)
    }
}
