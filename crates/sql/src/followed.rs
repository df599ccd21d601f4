//! The statements that can be followed row by row, and the tables that they are about.
//!
//! Idea: a query of one table, INSERT … VALUES, UPDATE and DELETE of one table, with plain conditions. A statement is
//! understood only if printing the parts that were taken from it gives the whole statement again, so that no clause is
//! overlooked. Assumption: what the parser prints means what was written.

use anchorite_model::sql::Dialect;
use anchorite_model::{Case, Run, Value};
use sqlparser::ast::{
    Assignment, AssignmentTarget, ColumnOption, CreateTable, Expr, FromTable, Insert, ObjectName,
    Query, ReferentialAction, SelectItem, SetExpr, Statement, TableConstraint, TableFactor,
    TableObject, TableWithJoins,
};

use crate::formula::{Formula, NOWHERE};
use crate::parse::parse;

/// A table of the case.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its name, in lower case.
    pub name: String,
    /// Its columns' names, in lower case.
    pub columns: Vec<String>,
    /// Whether a column that an INSERT leaves out gets NULL.
    null_if_left_out: Vec<bool>,
}

/// A row with the index of the table that it is in.
pub type Row = (usize, Vec<Value>);

/// The tables of a case, in the order of their creation.
#[derive(Debug, Clone)]
pub struct Tables {
    /// How its SQL is spelt.
    pub dialect: Dialect,
    /// The tables.
    pub all: Vec<Table>,
}

/// A query of one table.
#[derive(Debug, Clone)]
pub struct Read {
    /// Index of the table.
    pub table: usize,
    /// Which columns it returns, in order.
    pub columns: Vec<usize>,
    /// Which rows; `None` = all.
    pub filter: Option<Formula>,
    /// `FOR UPDATE` and the like.
    pub locking: bool,
}

/// A write to one table, which is named by its index.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "named as SQL names them")]
pub enum Write {
    /// New rows.
    Insert { table: usize, rows: Vec<Vec<Value>> },
    /// Changed rows.
    Update { table: usize, set: Vec<(usize, Formula)>, filter: Option<Formula> },
    /// Rows that go.
    Delete { table: usize, filter: Option<Formula> },
}

impl Tables {
    /// The tables that the set-up creates, with their rows; `None` if it does anything that is not understood.
    pub fn of(case: &Case, dialect: Dialect) -> Option<(Self, Vec<Row>)> {
        let mut tables = Self { dialect, all: Vec::new() };
        let mut rows = Vec::new();
        for statement in &case.setup {
            match parse(&statement.sql, dialect)? {
                Statement::CreateTable(create) => tables.all.push(table(&create)?),
                Statement::CreateIndex(_) => {}
                Statement::Insert(insert) => match tables.insert(&insert)? {
                    Write::Insert { table, rows: new } => {
                        rows.extend(new.into_iter().map(|row| (table, row)));
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
        Some((tables, rows))
    }

    /// Whether the server counts only rows that an UPDATE changed, not all that it matched.
    pub fn counts_changes(&self) -> bool {
        self.dialect == Dialect::Mysql
    }

    /// Whether a run ended with exactly these rows in a table.
    pub fn is_final(&self, run: &Run, table: usize, mut rows: Vec<&Vec<Value>>) -> bool {
        let Table { name, columns, .. } = &self.all[table];
        let found = run.final_state.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.is_some_and(|(_, found)| {
            let names = found.columns.iter().map(|name| name.to_lowercase());
            let mut real: Vec<&Vec<Value>> = found.rows.iter().collect();
            real.sort();
            rows.sort();
            names.eq(columns.iter().cloned()) && rows == real
        })
    }

    /// The query, if it is understood.
    pub fn read(&self, sql: &str) -> Option<Read> {
        let Statement::Query(query) = parse(sql, self.dialect)? else { return None };
        // The order of the rows does not matter.
        let query = Query { order_by: None, ..*query };
        let SetExpr::Select(select) = query.body.as_ref() else { return None };
        let [from] = select.from.as_slice() else { return None };
        let table = self.plain_table(from)?;
        let names = &self.all[table].columns;
        let column = |name: &str| names.iter().position(|known| known.eq_ignore_ascii_case(name));
        let mut columns = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(_) => columns.extend(0..names.len()),
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                    columns.push(column(&name.value)?)
                }
                _ => return None,
            }
        }
        let items: Vec<String> = select.projection.iter().map(ToString::to_string).collect();
        let locks: String = query.locks.iter().map(|lock| format!(" {lock}")).collect();
        let filter = select.selection.as_ref();
        let whole = format!("SELECT {} FROM {from}{}{locks}", items.join(", "), clause(filter));
        let locking = !query.locks.is_empty();
        let filter = filter.map(Formula::of);
        (whole == query.to_string()).then_some(Read { table, columns, filter, locking })
    }

    /// The write, if it is understood.
    pub fn write(&self, sql: &str) -> Option<Write> {
        let tree = parse(sql, self.dialect)?;
        let printed = tree.to_string();
        match tree {
            Statement::Insert(insert) => self.insert(&insert),
            Statement::Update(update) => {
                let table = self.plain_table(&update.table)?;
                let set = self.assignments(table, &update.assignments)?;
                let told: Vec<String> =
                    update.assignments.iter().map(ToString::to_string).collect();
                let filter = update.selection.as_ref();
                let whole =
                    format!("UPDATE {} SET {}{}", update.table, told.join(", "), clause(filter));
                let filter = filter.map(Formula::of);
                (whole == printed).then_some(Write::Update { table, set, filter })
            }
            Statement::Delete(delete) => {
                let FromTable::WithFromKeyword(from) = &delete.from else { return None };
                let [from] = from.as_slice() else { return None };
                let table = self.plain_table(from)?;
                let filter = delete.selection.as_ref();
                let whole = format!("DELETE FROM {from}{}", clause(filter));
                let filter = filter.map(Formula::of);
                (whole == printed).then_some(Write::Delete { table, filter })
            }
            _ => None,
        }
    }

    fn assignments(
        &self,
        table: usize,
        assignments: &[Assignment],
    ) -> Option<Vec<(usize, Formula)>> {
        let names = &self.all[table].columns;
        let mut set: Vec<(usize, Formula)> = Vec::new();
        for assignment in assignments {
            let AssignmentTarget::ColumnName(name) = &assignment.target else { return None };
            let name = last_name(name)?;
            let column = names.iter().position(|known| *known == name)?;
            // MySQL uses the values that it has just assigned, the standard the previous ones.
            let formula = Formula::of(&assignment.value);
            let is_first = set.is_empty() || formula.is_constant();
            let is_new = set.iter().all(|(known, _)| *known != column);
            if !(is_first && is_new) {
                return None;
            }
            set.push((column, formula));
        }
        Some(set)
    }

    fn insert(&self, insert: &Insert) -> Option<Write> {
        let TableObject::TableName(name) = &insert.table else { return None };
        let table = self.find(name)?;
        let Table { columns: names, null_if_left_out, .. } = &self.all[table];
        let mut places = Vec::new();
        for column in &insert.columns {
            let column = last_name(column)?;
            places.push(names.iter().position(|known| *known == column)?);
        }
        if places.is_empty() {
            places = (0..names.len()).collect();
        }
        let left_out = (0..names.len()).filter(|column| !places.contains(column));
        if left_out.into_iter().any(|column| !null_if_left_out[column]) {
            return None;
        }
        let source = insert.source.as_ref()?;
        let SetExpr::Values(values) = source.body.as_ref() else { return None };
        let mut rows = Vec::new();
        for given in &values.rows {
            let mut row = vec![Value::Null; names.len()];
            if given.len() != places.len() {
                return None;
            }
            for (place, expr) in places.iter().zip(given.iter()) {
                row[*place] = Formula::of(expr).value(NOWHERE)?;
            }
            rows.push(row);
        }
        let columns: Vec<String> = insert.columns.iter().map(ToString::to_string).collect();
        let columns =
            if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
        let whole = format!("INSERT INTO {name}{columns} {source}");
        (whole == insert.to_string()).then_some(Write::Insert { table, rows })
    }

    fn plain_table(&self, from: &TableWithJoins) -> Option<usize> {
        let TableFactor::Table { name, .. } = &from.relation else { return None };
        (from.to_string() == name.to_string()).then(|| self.find(name))?
    }

    fn find(&self, name: &ObjectName) -> Option<usize> {
        let name = last_name(name)?;
        self.all.iter().position(|table| table.name == name)
    }
}

fn clause(filter: Option<&Expr>) -> String {
    filter.map(|filter| format!(" WHERE {filter}")).unwrap_or_default()
}

fn last_name(name: &ObjectName) -> Option<String> {
    let [part] = name.0.as_slice() else { return None };
    Some(part.as_ident()?.value.to_lowercase())
}

/// A table whose rows are exactly what statements write to it.
fn table(create: &CreateTable) -> Option<Table> {
    let mut table =
        Table { name: last_name(&create.name)?, columns: Vec::new(), null_if_left_out: Vec::new() };
    for column in &create.columns {
        let mut null_if_left_out = true;
        for option in &column.options {
            match &option.option {
                ColumnOption::Null
                | ColumnOption::NotNull
                | ColumnOption::Unique(_)
                | ColumnOption::Check(_) => {}
                // SQLite numbers an INTEGER PRIMARY KEY by itself.
                ColumnOption::PrimaryKey(_) | ColumnOption::Default(_) => null_if_left_out = false,
                ColumnOption::ForeignKey(key) => {
                    quiet(key.on_delete)?;
                    quiet(key.on_update)?;
                }
                _ => return None,
            }
        }
        let counts_by_itself = column.data_type.to_string().to_uppercase().contains("SERIAL");
        table.columns.push(column.name.value.to_lowercase());
        table.null_if_left_out.push(null_if_left_out && !counts_by_itself);
    }
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::ForeignKey(key) => {
                quiet(key.on_delete)?;
                quiet(key.on_update)?;
            }
            TableConstraint::PrimaryKey(_) => table.null_if_left_out.fill(false),
            TableConstraint::Unique(_) | TableConstraint::Check(_) | TableConstraint::Index(_) => {}
            _ => return None,
        }
    }
    (!table.columns.is_empty() && create.query.is_none()).then_some(table)
}

/// Whether a foreign key has no actions.
const fn quiet(action: Option<ReferentialAction>) -> Option<()> {
    match action {
        None | Some(ReferentialAction::NoAction | ReferentialAction::Restrict) => Some(()),
        Some(_) => None,
    }
}
