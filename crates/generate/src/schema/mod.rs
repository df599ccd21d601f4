//! Tables as the generator sees them: what statements may do with each column, and the DDL that creates them.
//!
//! Assumption: nothing is left to the server that two executions could decide differently (no AUTO_INCREMENT, no
//! DEFAULT expressions). A collision of unique keys can be foreseen: they compare whole columns, beginnings of them, or
//! expressions that differ where the column does.

mod column;
mod index;
mod links;
mod make;
mod partition;
mod programs;

pub(crate) use index::any_index;
pub(crate) use make::make;

use crate::value::{Kind, Value};

/// All tables of a case.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) tables: Vec<Table>,
    /// The views, each with its table.
    pub(crate) views: Vec<View>,
    /// The statements that create views and triggers.
    pub(crate) more: Vec<String>,
}

/// A view of one table.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) name: String,
    pub(crate) table: usize,
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// Columns of the primary key; empty if there is none.
    pub(crate) primary: Vec<usize>,
    /// Columns of each further unique constraint or index.
    pub(crate) uniques: Vec<Vec<usize>>,
    /// How they are written: in CREATE TABLE, or as statements behind it.
    pub(crate) unique_clauses: Vec<String>,
    pub(crate) unique_indexes: Vec<String>,
    pub(crate) check: Option<Check>,
    pub(crate) foreign: Option<Foreign>,
    pub(crate) indexes: Vec<Index>,
    /// Whether a later table refers to this one.
    pub(crate) is_parent: bool,
    /// The statements that create it, with its indexes.
    pub(crate) ddl: Vec<String>,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The type as spelt in SQL.
    pub(crate) sql_type: String,
    /// The limit of integers; nothing that we generate reaches it, except extremes.
    pub(crate) limit: i64,
    /// Also holds the smallest and the largest numbers, and takes no part in arithmetic.
    pub(crate) is_extreme: bool,
    /// Can be indexed only by a prefix, and has no DEFAULT.
    pub(crate) is_long: bool,
    pub(crate) is_nullable: bool,
    pub(crate) default: Option<Value>,
    /// The expression of a generated column.
    pub(crate) generated: Option<String>,
    /// How many characters of it a unique key compares, if not all.
    pub(crate) prefix: Option<usize>,
}

/// A CHECK of one column.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) column: usize,
    /// `<>` or `>=`.
    pub(crate) is_inequality: bool,
    pub(crate) value: Value,
}

/// A foreign key, to the primary key of an earlier table or of the table itself.
#[derive(Debug, Clone)]
pub(crate) struct Foreign {
    pub(crate) columns: Vec<usize>,
    pub(crate) parent: usize,
    /// The columns of the parent, in the same order.
    pub(crate) parent_columns: Vec<usize>,
    /// The clause of CREATE TABLE.
    pub(crate) clause: String,
}

/// A secondary index that can be dropped.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    pub(crate) name: String,
    /// Its first column.
    pub(crate) column: usize,
}

impl Table {
    /// Whether the column is part of a primary or unique key.
    pub(crate) fn is_key(&self, column: usize) -> bool {
        self.primary.contains(&column) || self.uniques.iter().any(|key| key.contains(&column))
    }

    /// The primary key, else a unique one.
    pub(crate) fn best_key(&self) -> Option<&[usize]> {
        if self.primary.is_empty() {
            self.uniques.first().map(Vec::as_slice)
        } else {
            Some(&self.primary)
        }
    }

    /// All keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[usize]> {
        let primary = Some(self.primary.as_slice()).filter(|key| !key.is_empty());
        primary.into_iter().chain(self.uniques.iter().map(Vec::as_slice))
    }

    /// Whether two rows cannot both be there, going by one key; NULL counts as any other value.
    pub(crate) fn collide(&self, key: &[usize], left: &[Value], right: &[Value]) -> bool {
        key.iter().all(|at| {
            let prefix = self.columns[*at].prefix;
            left[*at].beginning(prefix) == right[*at].beginning(prefix)
        })
    }

    /// The columns that satisfy a condition.
    pub(crate) fn columns_where(&self, fits: impl Fn(usize, &Column) -> bool) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(at, column)| fits(*at, column)).map(|(at, _)| at).collect()
    }

    /// The columns that statements may write.
    pub(crate) fn writable(&self) -> Vec<usize> {
        self.columns_where(|_, column| column.generated.is_none())
    }

    /// The names of these columns, separated by commas.
    pub(crate) fn names(&self, columns: &[usize]) -> String {
        let names: Vec<&str> = columns.iter().map(|at| self.columns[*at].name.as_str()).collect();
        names.join(", ")
    }
}

impl Foreign {
    /// Lets a row refer to this one.
    pub(crate) fn refer(&self, row: &mut [Value], parent: &[Value]) {
        for (own, other) in self.columns.iter().zip(&self.parent_columns) {
            row[*own] = parent[*other].clone();
        }
    }

    /// Whether a row refers to this one.
    pub(crate) fn refers(&self, row: &[Value], parent: &[Value]) -> bool {
        let mut pairs = self.columns.iter().zip(&self.parent_columns);
        pairs.all(|(own, other)| row[*own] == parent[*other])
    }
}

impl Column {
    /// Whether `+` and `-` with small numbers are safe.
    pub(crate) fn is_arithmetic(&self) -> bool {
        !self.is_extreme && matches!(self.kind, Kind::Int | Kind::Decimal | Kind::Float)
    }

    /// Whether all its values fit the other column.
    pub(crate) fn fits_into(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.limit <= other.limit
            && (!self.is_extreme || other.is_extreme)
    }
}
