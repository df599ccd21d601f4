//! What a transaction is to do, before it is SQL.
//!
//! Idea: a plan is made from a seed and the transaction's number alone. So whoever knows the two can make it again: a
//! witness shows the statements of transactions that ended long ago, and nobody has to remember them.

/// What an UPDATE does to the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Another value, whatever the row held.
    Set(i64),
    /// The old value and this.
    Add(i64),
}

/// How a row is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A SELECT.
    Plain,
    /// A SELECT … FOR UPDATE.
    Locking,
}

/// What is computed from the values of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Their sum.
    Sum,
    /// How many there are.
    Count,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

impl Aggregate {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Count, Self::Min, Self::Max];

    /// As SQL.
    pub const fn sql(self) -> &'static str {
        match self {
            Self::Sum => "SUM(v)",
            Self::Count => "COUNT(v)",
            Self::Min => "MIN(v)",
            Self::Max => "MAX(v)",
        }
    }

    /// What it is of these values; `None` without any.
    pub fn of(self, values: impl Iterator<Item = i64> + Clone) -> Option<i128> {
        let values = values.map(i128::from);
        values.clone().next()?;
        match self {
            Self::Sum => Some(values.sum()),
            Self::Count => i128::try_from(values.count()).ok(),
            Self::Min => values.min(),
            Self::Max => values.max(),
        }
    }
}

/// A read that consists of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compound {
    /// Two groups, one after the other: UNION ALL.
    Union,
    /// The rows whose keys a subquery finds by the group.
    Subquery,
    /// The rows that a join of the table with itself finds by the group.
    Join,
}

/// One statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Reads a row by its key.
    Read(u64, Look),
    /// Reads all rows of a group, by the column that says which group a row belongs to.
    ReadGroup(u64, Look),
    /// What is computed from a group's values, beside its rows.
    Compute(Aggregate, u64),
    /// Reads a group, and for [`Compound::Union`] another one, in a statement that consists of several.
    ReadCompound(Compound, [u64; 2]),
    /// Changes a row by its key.
    Write(u64, Change),
    /// Changes all rows of a group.
    WriteGroup(u64, Change),
    /// Puts a row in the place of another one with its key: REPLACE, or an INSERT that becomes an UPDATE.
    Replace(u64),
    /// Adds an item to a row's list.
    Append(u64),
    /// A new row of a group.
    Insert(u64, u64),
    /// Deletes a row by its key.
    Delete(u64),
}

/// How a transaction is meant to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its statements.
    pub ops: Vec<Op>,
    /// How it ends.
    pub end: End,
    /// Whether it is sent as one text, if the protocol allows; else each statement waits for the answer of the last.
    pub at_once: bool,
}

impl Plan {
    /// Whether all that it writes to a row is independent of what the row held.
    pub fn is_blind(&self, row: u64) -> bool {
        self.ops.iter().all(|op| match op {
            Op::Write(of, Change::Add(_)) | Op::Append(of) | Op::Replace(of) => *of != row,
            Op::WriteGroup(_, Change::Add(_)) => false,
            _ => true,
        })
    }
}
