//! What CREATE statements say: tables, their columns, and which of them are keys.

use std::collections::BTreeSet;

use sqlparser::ast::{
    ColumnOption, CreateTable, DataType, Expr, ForeignKeyConstraint, FunctionArg, FunctionArgExpr,
    FunctionArguments, IndexColumn, ReferentialAction, Statement, TableConstraint, Value,
};

use crate::parsed_statement::ParsedStatement;
use crate::syntax::{column_name, columns_in, last_name};

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Its name, in lower case.
    pub name: String,
    /// Its columns' names in order, in lower case.
    pub columns: Vec<String>,
    /// Those that hold integers.
    pub integers: Vec<String>,
    /// Columns of the primary key.
    pub primary: Vec<String>,
    /// Columns that are said to be NOT NULL.
    pub not_null: Vec<String>,
    /// Columns of unique constraints and indexes.
    pub unique: Vec<String>,
    /// The columns of each of these, where they are whole columns.
    pub unique_keys: Vec<Vec<String>>,
    /// Columns of other indexes.
    pub indexed: Vec<String>,
    /// All indexes but the primary key, where they are of whole columns and rise.
    pub indexes: Vec<Index>,
    /// Columns of foreign keys, on either side.
    pub foreign: Vec<String>,
    /// Generated columns.
    pub generated: Vec<String>,
    /// Whether changes to its rows affect rows that refer to them: CASCADE, SET NULL, SET DEFAULT.
    pub passes_on: bool,
}

/// An index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// Its name, in lower case; that of its first column if it was given none, as MySQL does it.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
}

impl Table {
    /// The key by which rows are found: the primary key, or else the first unique one without NULLs, which serves as
    /// one.
    pub fn row_key(&self) -> &[String] {
        let is_full = |key: &&Vec<String>| key.iter().all(|column| self.not_null.contains(column));
        match self.primary.is_empty() {
            true => self.unique_keys.iter().find(is_full).map_or(&[], Vec::as_slice),
            false => &self.primary,
        }
    }

    fn add_unique(&mut self, name: Option<String>, columns: &[IndexColumn]) {
        self.unique.extend(names(columns));
        let whole = columns.iter().map(|column| column_name(&column.column.expr));
        self.unique_keys.extend(whole.collect::<Option<Vec<String>>>());
        self.add_index(name, columns);
    }

    fn add_index(&mut self, name: Option<String>, columns: &[IndexColumn]) {
        let rising = columns.iter().map(|column| {
            let falls = column.column.options.asc == Some(false);
            column_name(&column.column.expr).filter(|_| !falls)
        });
        if let Some(columns) = rising.collect::<Option<Vec<String>>>() {
            let first = columns.first().cloned().unwrap_or_default();
            self.indexes.push(Index { name: name.unwrap_or(first), columns });
        }
    }
}

/// The tables that a set-up creates, as far as it could be parsed.
pub fn tables(setup: &[ParsedStatement]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let outlines: Vec<_> = setup.iter().filter_map(ParsedStatement::outline).collect();
    for tree in &outlines {
        match tree.as_ref() {
            Statement::CreateTable(create) => tables.push(table(create)),
            Statement::CreateIndex(index) => {
                let name = last_name(&index.table_name);
                if let Some(table) = tables.iter_mut().find(|table| table.name == name) {
                    let name = index.name.as_ref().map(last_name);
                    if index.unique {
                        table.add_unique(name, &index.columns);
                    } else {
                        table.indexed.extend(names(&index.columns));
                        table.add_index(name, &index.columns);
                    }
                }
            }
            _ => {}
        }
    }
    for key in outlines.iter().flat_map(|tree| foreign_keys(tree)) {
        let name = last_name(&key.foreign_table);
        if let Some(table) = tables.iter_mut().find(|table| table.name == name) {
            table
                .foreign
                .extend(key.referred_columns.iter().map(|column| column.value.to_lowercase()));
            table.passes_on |= [key.on_delete, key.on_update].into_iter().flatten().any(passes_on);
        }
    }
    tables
}

fn table(create: &CreateTable) -> Table {
    let mut table = Table { name: last_name(&create.name), ..Table::default() };
    for column in &create.columns {
        let name = column.name.value.to_lowercase();
        for option in &column.options {
            match &option.option {
                ColumnOption::PrimaryKey(_) => table.primary.push(name.clone()),
                ColumnOption::NotNull => table.not_null.push(name.clone()),
                ColumnOption::Unique(_) => {
                    table.unique.push(name.clone());
                    table.unique_keys.push(vec![name.clone()]);
                    table.indexes.push(Index { name: name.clone(), columns: vec![name.clone()] });
                }
                ColumnOption::ForeignKey(_) => table.foreign.push(name.clone()),
                ColumnOption::Generated { .. } => table.generated.push(name.clone()),
                _ => {}
            }
        }
        if is_integer(&column.data_type) {
            table.integers.push(name.clone());
        }
        table.columns.push(name);
    }
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::PrimaryKey(key) => table.primary.extend(names(&key.columns)),
            TableConstraint::Unique(key) => {
                let name = key.index_name.as_ref().or(key.name.as_ref());
                table.add_unique(name.map(|name| name.value.to_lowercase()), &key.columns);
            }
            TableConstraint::Index(index) => {
                let name = index.name.as_ref().map(|name| name.value.to_lowercase());
                table.indexed.extend(names(&index.columns));
                table.add_index(name, &index.columns);
            }
            TableConstraint::ForeignKey(key) => {
                table.foreign.extend(key.columns.iter().map(|column| column.value.to_lowercase()));
            }
            _ => {}
        }
    }
    table
}

const fn is_integer(kind: &DataType) -> bool {
    use DataType::{BigInt, Int, Integer, SmallInt};
    matches!(kind, Int(_) | Integer(_) | BigInt(_) | SmallInt(_))
}

/// The foreign keys that a statement creates.
fn foreign_keys(tree: &Statement) -> Vec<&ForeignKeyConstraint> {
    let Statement::CreateTable(create) = tree else { return Vec::new() };
    let of_columns = create.columns.iter().flat_map(|column| &column.options);
    let of_columns = of_columns.filter_map(|option| match &option.option {
        ColumnOption::ForeignKey(key) => Some(key),
        _ => None,
    });
    let of_table = create.constraints.iter().filter_map(|constraint| match constraint {
        TableConstraint::ForeignKey(key) => Some(key),
        _ => None,
    });
    of_columns.chain(of_table).collect()
}

const fn passes_on(action: ReferentialAction) -> bool {
    use ReferentialAction::{Cascade, SetDefault, SetNull};
    matches!(action, Cascade | SetNull | SetDefault)
}

/// The columns of an index: whole ones, beginnings (`a(2)`, which parses as a call), and those that an expression
/// depends on.
pub fn names(columns: &[IndexColumn]) -> Vec<String> {
    let beginning = |expr: &Expr| match expr {
        Expr::Function(call) => match &call.args {
            FunctionArguments::List(list) if matches!(list.args.as_slice(), [one] if is_number(one)) => {
                Some(last_name(&call.name))
            }
            _ => None,
        },
        expr => column_name(expr),
    };
    let names = |column: &IndexColumn| {
        let expr = &column.column.expr;
        beginning(expr).map_or_else(|| columns_in(expr), |name| BTreeSet::from([name]))
    };
    columns.iter().flat_map(names).collect()
}

fn is_number(argument: &FunctionArg) -> bool {
    matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))
        if matches!(value.value, Value::Number(..)))
}
