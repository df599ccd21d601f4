//! Tables as the generator sees them: what statements may do with each column, and the DDL that creates them.
//!
//! Assumption: nothing is left to the server that two executions could decide differently (no AUTO_INCREMENT, no
//! DEFAULT expressions). Unique constraints compare whole columns, never expressions or prefixes, so that a collision
//! can be foreseen.

mod column;
mod index;
mod make;
mod partition;

pub(crate) use index::any_index;
pub(crate) use make::make;

use crate::value::{Kind, Value};

/// All tables of a case.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) tables: Vec<Table>,
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// Columns of the primary key; empty if there is none.
    pub(crate) primary: Vec<usize>,
    /// Columns of each further unique constraint.
    pub(crate) uniques: Vec<Vec<usize>>,
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
}

/// A CHECK of one column.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) column: usize,
    /// `<>` or `>=`.
    pub(crate) is_inequality: bool,
    pub(crate) value: Value,
}

/// A foreign key of one column, to the primary key of an earlier table.
#[derive(Debug, Clone)]
pub(crate) struct Foreign {
    pub(crate) column: usize,
    pub(crate) parent: usize,
    pub(crate) parent_column: usize,
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
