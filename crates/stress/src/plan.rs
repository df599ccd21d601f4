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

/// One statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Reads a row by its key.
    Read(u64, Look),
    /// Reads all rows of a group, by the column that says which group a row belongs to.
    ReadGroup(u64, Look),
    /// The sum of a group's values.
    Sum(u64),
    /// Changes a row by its key.
    Write(u64, Change),
    /// Changes all rows of a group.
    WriteGroup(u64, Change),
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
            Op::Write(of, Change::Add(_)) | Op::Append(of) => *of != row,
            Op::WriteGroup(_, Change::Add(_)) => false,
            _ => true,
        })
    }
}
