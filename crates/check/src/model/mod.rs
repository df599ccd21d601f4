//! The history: transactions with their reads and writes, in flat arrays.
//!
//! Idea: one array of operations, one of transactions; a transaction is a range of operations, a
//! session is a number, keys are dense `u32` ids. The initial state is not an entry: it is the
//! writer [`crate::resolve::INIT`], which precedes every transaction.
//! Assumption: a history has fewer than 2³² − 8 operations (checked while reading).

mod atom;
mod builder;
mod lists;

pub use atom::{Atom, SymbolKind, Symbols, is_plain_name};
pub use builder::{BuildError, HistoryBuilder};
pub use lists::{ListRef, Lists};

/// Index of a transaction in [`History::txns`].
pub type TxnId = u32;
/// Index of a key in [`History::keys`].
pub type KeyId = u32;
/// Index of an operation in [`History::ops`].
pub type OpId = u32;

/// No such time, transaction or operation.
pub const NONE: u32 = u32::MAX;
/// A time that was not recorded.
pub const NO_TIME: u64 = u64::MAX;

/// What one operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum OpKind {
    /// Reads a single value.
    Read,
    /// Writes a single value.
    Write,
    /// Appends a value to a list.
    Append,
    /// Reads a whole list; the value is a [`ListRef`].
    ReadList,
    /// A read whose result was not recorded (a transaction of unknown outcome).
    ReadUnknown,
    /// Creates a row with a value.
    Insert,
    /// Deletes a row.
    Delete,
    /// Reads all rows that match a predicate; the value is an index into [`History::predicates`].
    ReadPredicate,
}

impl OpKind {
    /// Whether the operation installs a version.
    #[inline]
    pub fn is_write(self) -> bool {
        matches!(self, OpKind::Write | OpKind::Append | OpKind::Insert | OpKind::Delete)
    }
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The key it is about; [`NONE`] for predicate reads.
    pub key: KeyId,
    /// What it does.
    pub kind: OpKind,
    /// The value written or read.
    pub value: Atom,
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// It committed.
    Committed,
    /// It was rolled back.
    Aborted,
    /// Unknown; its writes count if a transaction read them.
    Unknown,
}

/// One transaction: a range of operations with its session, times and outcome.
#[derive(Clone, Copy, Debug)]
pub struct Txn {
    /// First operation; the range ends where the next transaction's begins.
    pub first_op: OpId,
    /// Which session ran it.
    pub session: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// When it was invoked, in any unit that grows; [`NO_TIME`] if not recorded.
    pub invoked: u64,
    /// When it was answered.
    pub completed: u64,
    /// Its number in the input.
    pub label: i64,
}

/// How a predicate selects rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// Every row that exists.
    True,
    /// Rows with this value.
    Equals(Atom),
    /// Rows whose value leaves this remainder: modulus, remainder.
    Modulo(i64, i64),
    /// Given by its text only; what it matched and what it saw is listed.
    Text(Box<str>),
}

/// One predicate read: what matched and, where recorded, which versions it examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredicateRead {
    /// The condition.
    pub predicate: Predicate,
    /// Rows that were returned, with their values.
    pub matched: Vec<(KeyId, Atom)>,
    /// Rows that were examined and did not match, with their values, where recorded.
    pub unmatched: Vec<(KeyId, Atom)>,
    /// Versions that were not examined, and whether they would match, where recorded.
    pub others: Vec<(KeyId, Atom, bool)>,
}

/// Which kind of workload the operations form: decides how version orders are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// Single reads and writes.
    Registers,
    /// Appends to lists and reads of whole lists.
    ListAppend,
    /// Rows of a closed universe with predicate reads.
    Predicates,
}

/// A recorded history.
#[derive(Debug)]
pub struct History {
    /// All operations, those of one transaction next to each other.
    pub ops: Vec<Op>,
    /// All transactions; those of one session in session order.
    pub txns: Vec<Txn>,
    /// Names of the keys.
    pub keys: Vec<Atom>,
    /// Names of the sessions.
    pub sessions: Vec<Atom>,
    /// Values that are not small integers.
    pub symbols: Symbols,
    /// Values of list reads.
    pub lists: Lists,
    /// Predicate reads.
    pub predicates: Vec<PredicateRead>,
    /// The value that every key has before the first write, unless listed in `initial_of`.
    pub initial: Atom,
    /// Initial values of single keys, sorted by key.
    pub initial_of: Vec<(KeyId, Atom)>,
    /// Version numbers of writes (operation, number), sorted by operation: a known version order.
    pub version_numbers: Vec<(OpId, u64)>,
    /// Texts of operations (operation, index into `symbols`), sorted by operation.
    pub texts: Vec<(OpId, Atom)>,
    /// What the operations are.
    pub workload: Workload,
}

impl History {
    /// The operations of a transaction.
    #[inline]
    pub fn range(&self, txn: TxnId) -> std::ops::Range<usize> {
        let first = self.txns[txn as usize].first_op as usize;
        let end =
            self.txns.get(txn as usize + 1).map_or(self.ops.len(), |next| next.first_op as usize);
        first..end
    }

    /// The initial value of a key.
    pub fn initial_value(&self, key: KeyId) -> Atom {
        match self.initial_of.binary_search_by_key(&key, |entry| entry.0) {
            Ok(at) => self.initial_of[at].1,
            Err(_) => self.initial,
        }
    }

    /// The transaction of an operation, by binary search: for messages, not for loops.
    pub fn txn_of(&self, op: OpId) -> TxnId {
        self.txns.partition_point(|txn| txn.first_op <= op) as TxnId - 1
    }

    /// The name of a key.
    pub fn key_name(&self, key: KeyId) -> String {
        self.keys.get(key as usize).map_or_else(|| "?".to_owned(), |name| self.symbols.show(*name))
    }

    /// The name of a transaction: `T` and the number that the input gave it.
    pub fn txn_name(&self, txn: TxnId) -> String {
        format!("T{}", self.txns[txn as usize].label)
    }

    /// Whether real time was recorded for at least one transaction.
    pub fn has_real_time(&self) -> bool {
        let is_timed = |txn: &Txn| {
            txn.invoked != NO_TIME && (txn.completed != NO_TIME || txn.outcome == Outcome::Unknown)
        };
        self.txns.iter().any(is_timed)
    }

    /// The text of an operation, where the input carried one.
    pub fn op_text(&self, op: OpId) -> Option<&str> {
        let at = self.texts.binary_search_by_key(&op, |entry| entry.0).ok()?;
        self.symbols.get(self.texts[at].1).map(|(_, text)| text)
    }
}
