//! Random queries.
//!
//! Their answers are multisets that do not depend on the order in which rows are visited: no LIMIT without an order by
//! the whole primary key, no window functions, no concatenating aggregates.

use crate::condition::Condition;
use crate::generator::Generator;

impl Generator<'_> {
    /// A query.
    pub(crate) fn select(&mut self, table: usize) -> String {
        let may_lock = self.has_locks();
        self.select_of(table, may_lock)
    }

    /// A query without locks.
    pub(crate) fn plain_select(&mut self, table: usize) -> String {
        self.select_of(table, false)
    }

    fn select_of(&mut self, table: usize, may_lock: bool) -> String {
        let weights = &self.grammar.weights.select;
        let form = self.random.weighted(&[
            (weights.rows, "rows"),
            (if may_lock { weights.locking } else { 0 }, "locking"),
            (weights.aggregate, "aggregate"),
            (weights.group, "group"),
            (weights.join, "join"),
            (weights.compound, "compound"),
            (self.grammar.if_has("with", weights.common_table), "with"),
            (weights.distinct, "distinct"),
            (weights.first_rows, "first"),
        ]);
        match form {
            "join" => return self.join(table, may_lock),
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
                let Some(column) = self.grouped_column(table) else {
                    return format!("SELECT {} FROM {name}{clause}", self.columns(table));
                };
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
                let Some(column) = self.grouped_column(table) else {
                    return format!("SELECT {} FROM {name}{clause}", self.columns(table));
                };
                format!("SELECT DISTINCT {} FROM {name}{clause}", definition.columns[column].name)
            }
            "first" if !definition.primary.is_empty() => {
                let order = definition.names(&definition.primary);
                let count = self.random.between(1, 3);
                format!("SELECT * FROM {name}{clause} ORDER BY {order} LIMIT {count}")
            }
            _ => {
                let hint = self.hint(table);
                format!("SELECT {} FROM {name}{hint}{clause}", self.columns(table))
            }
        }
    }

    /// Which index a query is to use, or not to use; mostly nothing.
    fn hint(&mut self, table: usize) -> String {
        let share = self.grammar.weights.select.hint_percent;
        let definition = self.table(table);
        if self.grammar.has("not-indexed") && self.random.percent(share) {
            return " NOT INDEXED".to_owned();
        }
        let primary = Some("PRIMARY").filter(|_| !definition.primary.is_empty());
        let names = definition.indexes.iter().map(|index| index.name.as_str());
        let names: Vec<&str> = names.chain(primary).collect();
        match self.random.try_pick(&names).copied() {
            Some(name) if self.grammar.has("force-index") && self.random.percent(share) => {
                let verb = self.random.pick(&["FORCE", "FORCE", "USE", "IGNORE"]);
                format!(" {verb} INDEX ({name})")
            }
            _ => String::new(),
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

    /// A column by which rows may be put together.
    fn grouped_column(&mut self, table: usize) -> Option<usize> {
        let columns = self.table(table).columns_where(|_, column| column.kind.is_one_spelling());
        self.random.try_pick(&columns).copied()
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
    fn join(&mut self, table: usize, may_lock: bool) -> String {
        let other = self.random.below(self.schema.tables.len());
        let (left, right) = (self.table(table), self.table(other));
        let column = self.random.below(left.columns.len());
        let kind = left.columns[column].kind;
        let partners = right.columns_where(|_, partner| partner.kind == kind);
        let Some(partner) = self.random.try_pick(&partners).copied() else {
            let condition = self.condition(table);
            return self.select_where(table, &condition);
        };
        let locks =
            may_lock && self.random.percent(self.grammar.weights.select.locking_join_percent);
        // Rows that an outer join adds cannot be locked.
        let way = if locks { "JOIN" } else { *self.random.pick(&["JOIN", "LEFT JOIN"]) };
        let condition = self.simple_condition(table, "a.");
        let query = format!(
            "SELECT a.{0}, b.* FROM {1} a {way} {2} b ON a.{0} = b.{3}{4}",
            left.columns[column].name,
            left.name,
            right.name,
            right.columns[partner].name,
            condition.clause()
        );
        let of = *self.random.pick(&["a", "b"]);
        if locks { self.with_lock(query, of) } else { query }
    }

    /// Two queries of one kind, put together.
    fn compound(&mut self, table: usize) -> String {
        let other = self.random.below(self.schema.tables.len());
        let (left, right) = (self.table(table), self.table(other));
        let column = self.random.below(left.columns.len());
        let kind = left.columns[column].kind;
        let partners = right
            .columns_where(|_, partner| partner.kind == kind && partner.kind.is_one_spelling());
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
