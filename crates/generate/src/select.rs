//! Random queries.
//!
//! Their answers are multisets that do not depend on the order in which rows are visited: no LIMIT without an order by
//! the whole primary key, no window functions, no concatenating aggregates.

use crate::condition::Condition;
use crate::generator::Generator;

impl Generator<'_> {
    /// A query.
    pub(crate) fn select(&mut self, table: usize) -> String {
        let weights = &self.grammar.weights.select;
        let has_locks = !self.locks().is_empty();
        let form = self.random.weighted(&[
            (weights.rows, "rows"),
            (if has_locks { weights.locking } else { 0 }, "locking"),
            (weights.aggregate, "aggregate"),
            (weights.group, "group"),
            (weights.join, "join"),
            (weights.compound, "compound"),
            (self.grammar.if_has("with", weights.common_table), "with"),
            (weights.distinct, "distinct"),
            (weights.first_rows, "first"),
        ]);
        match form {
            "join" => return self.join(table),
            "compound" => return self.compound(table),
            _ => (),
        }
        let condition = self.condition(table);
        self.remember(table, &condition, Vec::new());
        let definition = self.table(table);
        let (name, clause) = (&definition.name, condition.clause());
        match form {
            "locking" => self.locking_where(table, &condition),
            "aggregate" => format!("SELECT {} FROM {name}{clause}", self.aggregates(table)),
            "group" => {
                let column = self.random.below(definition.columns.len());
                let by = &definition.columns[column].name;
                let having = if self.random.percent(30) { " HAVING COUNT(*) > 1" } else { "" };
                format!("SELECT {by}, COUNT(*) FROM {name}{clause} GROUP BY {by}{having}")
            }
            "with" => {
                let outer = self.simple_condition(table, "");
                format!(
                    "WITH w AS (SELECT * FROM {name}{clause}) SELECT * FROM w{}",
                    outer.clause()
                )
            }
            "distinct" => {
                let column = self.random.below(definition.columns.len());
                format!("SELECT DISTINCT {} FROM {name}{clause}", definition.columns[column].name)
            }
            "first" if !definition.primary.is_empty() => {
                let order = definition.names(&definition.primary);
                let count = self.random.between(1, 3);
                format!("SELECT * FROM {name}{clause} ORDER BY {order} LIMIT {count}")
            }
            _ => format!("SELECT {} FROM {name}{clause}", self.columns(table)),
        }
    }

    /// The rows of a table that meet a condition.
    pub(crate) fn select_where(&mut self, table: usize, condition: &Condition) -> String {
        self.remember(table, condition, Vec::new());
        format!(
            "SELECT {} FROM {}{}",
            self.columns(table),
            self.table(table).name,
            condition.clause()
        )
    }

    /// The same, with locks if the target has them.
    pub(crate) fn locking_where(&mut self, table: usize, condition: &Condition) -> String {
        let locks = self.locks();
        let Some(lock) = self.random.try_pick(&locks).copied() else {
            return self.select_where(table, condition);
        };
        let nowait = self.grammar.weights.select.nowait_percent;
        let can_refuse = lock == "FOR UPDATE" && self.grammar.has("nowait");
        let end = if can_refuse && self.random.percent(nowait) { " NOWAIT" } else { "" };
        format!("{} {lock}{end}", self.select_where(table, condition))
    }

    /// The locking clauses that the target has; the strongest one counts twice.
    fn locks(&self) -> Vec<&'static str> {
        let all = [
            ("for-update", "FOR UPDATE"),
            ("for-update", "FOR UPDATE"),
            ("for-share", "FOR SHARE"),
            ("lock-in-share-mode", "LOCK IN SHARE MODE"),
            ("for-no-key-update", "FOR NO KEY UPDATE"),
        ];
        let offered = all.into_iter().filter(|(feature, _)| self.grammar.has(feature));
        offered.map(|(_, lock)| lock).collect()
    }

    fn columns(&mut self, table: usize) -> String {
        let definition = self.table(table);
        if self.random.percent(60) {
            return "*".to_owned();
        }
        let mut columns: Vec<usize> = (0..definition.columns.len()).collect();
        self.random.shuffle(&mut columns);
        columns.truncate(self.random.between(1, columns.len()));
        definition.names(&columns)
    }

    fn aggregates(&mut self, table: usize) -> String {
        let definition = self.table(table);
        let column = self.random.below(definition.columns.len());
        let (name, kind) = (&definition.columns[column].name, definition.columns[column].kind);
        let sums = definition.columns[column].is_arithmetic();
        let form = self.random.weighted(&[
            (3, "COUNT(*)"),
            (if sums { 4 } else { 0 }, "SUM"),
            (if kind.has_order() { 3 } else { 0 }, "MIN"),
            (if kind.has_order() { 3 } else { 0 }, "MAX"),
            (2, "COUNT(DISTINCT"),
        ]);
        match form {
            "COUNT(*)" => form.to_owned(),
            "COUNT(DISTINCT" => format!("COUNT(*), {form} {name})"),
            _ => format!("COUNT(*), {form}({name})"),
        }
    }

    /// Two tables, or one table twice, joined over columns of one kind.
    fn join(&mut self, table: usize) -> String {
        let other = self.random.below(self.schema.tables.len());
        let (left, right) = (self.table(table), self.table(other));
        let column = self.random.below(left.columns.len());
        let kind = left.columns[column].kind;
        let partners = right.columns_where(|_, partner| partner.kind == kind);
        let Some(partner) = self.random.try_pick(&partners).copied() else {
            let condition = self.condition(table);
            return self.select_where(table, &condition);
        };
        let way = *self.random.pick(&["JOIN", "LEFT JOIN"]);
        let condition = self.simple_condition(table, "a.");
        format!(
            "SELECT a.{0}, b.* FROM {1} a {way} {2} b ON a.{0} = b.{3}{4}",
            left.columns[column].name,
            left.name,
            right.name,
            right.columns[partner].name,
            condition.clause()
        )
    }

    /// Two queries of one kind, put together.
    fn compound(&mut self, table: usize) -> String {
        let other = self.random.below(self.schema.tables.len());
        let (left, right) = (self.table(table), self.table(other));
        let column = self.random.below(left.columns.len());
        let kind = left.columns[column].kind;
        let partners = right.columns_where(|_, partner| partner.kind == kind);
        let conditions = [self.condition(table), self.simple_condition(other, "")];
        let Some(partner) = self.random.try_pick(&partners).copied() else {
            return self.select_where(table, &conditions[0]);
        };
        let operator = self.random.weighted(&[
            (3, "UNION"),
            (3, "UNION ALL"),
            (self.grammar.if_has("except", 2), "EXCEPT"),
            (self.grammar.if_has("intersect", 2), "INTERSECT"),
        ]);
        format!(
            "SELECT {} FROM {}{} {operator} SELECT {} FROM {}{}",
            left.columns[column].name,
            left.name,
            conditions[0].clause(),
            right.columns[partner].name,
            right.name,
            conditions[1].clause()
        )
    }
}
