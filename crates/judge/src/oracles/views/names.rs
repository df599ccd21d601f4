//! The names of what is wrong with a statement.

/// A read saw what nobody had committed.
pub const DIRTY: &str = "dirty read";
/// A read saw an older state than it should.
pub const STALE: &str = "stale read";
/// A read saw what was committed after its snapshot.
pub const LATER: &str = "non-repeatable read";
/// A read did not see what its own transaction had written.
pub const OWN: &str = "own write not seen";
/// A read did not return a row that every view of it has.
pub const MISSED: &str = "row missed";
/// A read returned what no state gives.
pub const WRONG_ROWS: &str = "wrong rows";
/// A write did what no view gives.
pub const WRONG_WRITE: &str = "wrong write";
/// A statement had to wait for another transaction, and did not.
pub const MISSING_LOCK: &str = "missing lock";
/// A statement failed although nobody else was there, and alone it does not.
pub const WRONG_FAILURE: &str = "wrong failure";
/// Every statement did what it should, and the tables end otherwise.
pub const WRONG_END: &str = "wrong end";
