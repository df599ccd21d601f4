//! Writes that look at more than one row of one table: joins, queries of the table itself, MERGE.
//!
//! What such a write does must not depend on the order in which rows are visited, nor on which partner a row is joined
//! with first. So a row gets constants, sums of its own values, or values of a partner of which there can be only one;
//! a query in SET is not correlated; and a MERGE has a single source row, or sources with different keys.
//!
//! Source for queries of the written table in MySQL: they are refused (error 1093) unless they are derived tables that
//! are not merged (<https://dev.mysql.com/doc/refman/8.4/en/subquery-restrictions.html>).

use anchorite_model::sql::Dialect;

use crate::condition::Condition;
use crate::generator::Generator;

/// With what a table is joined.
struct Partner {
    table: usize,
    column: usize,
    /// The column of the written table that is compared with it.
    own: usize,
    /// Whether a row has at most one partner.
    is_unique: bool,
}

impl Generator<'_> {
    /// An UPDATE of the rows that have a partner in a table; `None` where the tables or the target do not allow it.
    pub(crate) fn joined_update(&mut self, table: usize) -> Option<String> {
        let is_mysql = self.grammar.dialect == Dialect::Mysql;
        let has_join = self.grammar.has(if is_mysql { "update-join" } else { "update-from" });
        let column = *self.random.try_pick(&self.free_columns(table)).filter(|_| has_join)?;
        // MySQL may read a row of the table after it has changed it.
        let partner = self.partner(table, !is_mysql)?;
        let value = self.joined_value(table, column, &partner);
        let condition = self.simple_condition(table, "a.");
        let name = &self.table(table).columns[column].name;
        let (own, other) = (&self.table(table).name, &self.table(partner.table).name);
        let on = self.on(table, &partner);
        self.remember_join(table, &partner, &condition, vec![(column, None)]);
        Some(if is_mysql {
            let clause = condition.clause();
            format!("UPDATE {own} a JOIN {other} b ON {on} SET a.{name} = {value}{clause}")
        } else {
            let also = &condition.sql;
            format!(
                "UPDATE {own} AS a SET {name} = {value} FROM {other} AS b WHERE {on} AND ({also})"
            )
        })
    }

    /// A DELETE of the rows that have a partner in a table.
    pub(crate) fn joined_delete(&mut self, table: usize) -> Option<String> {
        let is_mysql = self.grammar.dialect == Dialect::Mysql;
        if !self.grammar.has(if is_mysql { "delete-join" } else { "delete-using" }) {
            return None;
        }
        let partner = self.partner(table, true)?;
        let condition = self.simple_condition(table, "a.");
        let (own, other) = (&self.table(table).name, &self.table(partner.table).name);
        let on = self.on(table, &partner);
        let written =
            self.table(table).writable().into_iter().map(|column| (column, None)).collect();
        self.remember_join(table, &partner, &condition, written);
        Some(if is_mysql {
            format!("DELETE a FROM {own} a JOIN {other} b ON {on}{}", condition.clause())
        } else {
            format!("DELETE FROM {own} AS a USING {other} AS b WHERE {on} AND ({})", condition.sql)
        })
    }

    /// A condition with a query of the written table itself.
    pub(crate) fn own_table_condition(&mut self, table: usize) -> Option<Condition> {
        let definition = self.table(table);
        let column = self.random.below(definition.columns.len());
        let kind = definition.columns[column].kind;
        let sources = definition.columns_where(|_, source| source.kind == kind);
        let source = *self.random.try_pick(&sources)?;
        let inner = self.simple_condition(table, "");
        let (name, source) = (&definition.columns[column].name, &definition.columns[source].name);
        let from = self.own_rows(table, &inner);
        let sql = if kind.has_order() && self.random.percent(50) {
            let operator = *self.random.pick(&["=", "<", "<=", ">", ">="]);
            let aggregate = *self.random.pick(&["MIN", "MAX"]);
            format!("{name} {operator} (SELECT {aggregate}({source}) FROM {from})")
        } else {
            let not = if self.random.percent(25) { "NOT " } else { "" };
            format!("{name} {not}IN (SELECT {source} FROM {from})")
        };
        Some(Condition { sql, tested: vec![column] })
    }

    /// An aggregate of the table itself that fits a column of it.
    pub(crate) fn aggregate_of_own(&mut self, table: usize, column: usize) -> Option<String> {
        let definition = &self.table(table).columns[column];
        let sources = self.table(table).columns_where(|_, source| {
            source.fits_into(definition) && source.kind.has_order() && source.generated.is_none()
        });
        let source = *self.random.try_pick(&sources)?;
        let inner = self.simple_condition(table, "");
        let aggregate = *self.random.pick(&["MIN", "MAX"]);
        let from = self.own_rows(table, &inner);
        Some(format!(
            "(SELECT {aggregate}({}) FROM {from})",
            self.table(table).columns[source].name
        ))
    }

    /// The table's rows for a query inside a write of it, in a form that the target accepts.
    fn own_rows(&self, table: usize, inner: &Condition) -> String {
        let (name, clause) = (&self.table(table).name, inner.clause());
        if self.grammar.has("own-table") {
            format!("{name}{clause}")
        } else {
            format!("(SELECT DISTINCT * FROM {name}{clause}) d")
        }
    }

    /// A MERGE of constants, or of another table's rows, by the key.
    pub(crate) fn merge(&mut self, table: usize) -> Option<String> {
        let definition = self.table(table);
        let [key] = definition.best_key()? else { return None };
        let row = self.new_row(table);
        let (own, key_name) = (&definition.name, &definition.columns[*key].name);
        let partner = self.key_source(table, *key).filter(|_| self.random.percent(40));
        let (source, key_value) = match partner {
            Some((other, column)) => {
                let other = self.table(other);
                let name = &other.columns[column].name;
                (other.name.clone(), format!("b.{name}"))
            }
            None => {
                let sql_type = &definition.columns[*key].sql_type;
                let value = format!("CAST({} AS {sql_type})", self.sql(&row[*key]));
                (format!("(SELECT {value} AS k)"), "b.k".to_owned())
            }
        };
        let matched = self.when_matched(table);
        let columns = definition.writable();
        let values: Vec<String> = columns
            .iter()
            .map(|at| if at == key { key_value.clone() } else { self.sql(&row[*at]) })
            .collect();
        let missing = if self.random.percent(75) {
            format!(
                " WHEN NOT MATCHED THEN INSERT ({}) VALUES ({})",
                definition.names(&columns),
                values.join(", ")
            )
        } else {
            String::new()
        };
        let condition = self.same_key(table, &row);
        let written = columns.iter().map(|at| (*at, Some(row[*at].clone()))).collect();
        self.remember(table, &condition, written);
        Some(format!(
            "MERGE INTO {own} AS a USING {source} AS b ON a.{key_name} = {key_value}{matched}{missing}"
        ))
    }

    fn when_matched(&mut self, table: usize) -> String {
        let free = self.free_columns(table);
        let Some(column) = self.random.try_pick(&free).copied() else {
            return " WHEN MATCHED THEN DELETE".to_owned();
        };
        let condition = if self.random.percent(30) {
            format!(" AND {}", self.simple_condition(table, "a.").sql)
        } else {
            String::new()
        };
        if self.random.percent(25) {
            return format!(" WHEN MATCHED{condition} THEN DELETE");
        }
        let name = &self.table(table).columns[column].name;
        let value = if self.table(table).columns[column].is_arithmetic() {
            format!("a.{}", self.sum(table, column))
        } else {
            self.constant_sql(table, column)
        };
        format!(" WHEN MATCHED{condition} THEN UPDATE SET {name} = {value}")
    }

    /// A key of one column in another table whose values fit this key.
    fn key_source(&mut self, table: usize, key: usize) -> Option<(usize, usize)> {
        let other = self.other_table(table)?;
        let column = &self.table(table).columns[key];
        let keys = self.table(other).keys().filter(|key| key.len() == 1).map(|key| key[0]);
        let fits = |at: &usize| {
            let source = &self.table(other).columns[*at];
            source.fits_into(column) && !source.is_nullable
        };
        let fitting: Vec<usize> = keys.filter(fits).collect();
        Some((other, *self.random.try_pick(&fitting)?))
    }

    fn partner(&mut self, table: usize, may_be_same: bool) -> Option<Partner> {
        let others: Vec<usize> =
            (0..self.schema.tables.len()).filter(|at| may_be_same || *at != table).collect();
        let other = *self.random.try_pick(&others)?;
        let own = self.random.below(self.table(table).columns.len());
        let kind = self.table(table).columns[own].kind;
        let partners = self.table(other).columns_where(|_, column| column.kind == kind);
        let column = *self.random.try_pick(&partners)?;
        let is_unique = self.table(other).keys().any(|key| *key == [column]);
        Some(Partner { table: other, column, own, is_unique })
    }

    fn on(&self, table: usize, partner: &Partner) -> String {
        let own = &self.table(table).columns[partner.own].name;
        let other = &self.table(partner.table).columns[partner.column].name;
        format!("a.{own} = b.{other}")
    }

    fn joined_value(&mut self, table: usize, column: usize, partner: &Partner) -> String {
        let definition = &self.table(table).columns[column];
        let sources = self.table(partner.table).columns_where(|_, source| {
            partner.is_unique && source.fits_into(definition) && source.generated.is_none()
        });
        match self.random.try_pick(&sources) {
            Some(source) if self.random.percent(60) => {
                format!("b.{}", self.table(partner.table).columns[*source].name)
            }
            _ if definition.is_arithmetic() && self.random.percent(50) => {
                format!("a.{}", self.sum(table, column))
            }
            _ => self.constant_sql(table, column),
        }
    }

    /// The condition has prefixes, so it is of no use to other statements; what it tests is.
    fn remember_join(
        &mut self,
        table: usize,
        partner: &Partner,
        condition: &Condition,
        written: Vec<(usize, Option<crate::value::Value>)>,
    ) {
        let tested = [condition.tested.as_slice(), &[partner.own]].concat();
        self.touch(table, "", &tested, written);
    }
}
