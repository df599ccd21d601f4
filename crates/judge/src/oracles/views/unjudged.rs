//! Why a statement, or all of a run, is not judged: fixed sentences, so that they can be counted.

use crate::oracles::final_state::mechanism::Unfollowed;

/// What is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Unjudged {
    /// A write is not followed.
    #[error("{0}")]
    Write(Unfollowed),
    /// Tables change during the schedule.
    #[error("there is DDL in the schedule")]
    Ddl,
    /// The set-up does more than to make and fill tables.
    #[error("the set-up makes something that a copy of its tables does not have")]
    SetUp,
    /// What a read depends on beside rows.
    #[error("what a read returns depends on more than the rows")]
    NotOnlyRows,
    /// LIMIT without a total order.
    #[error("a read returns some of its rows, and which ones may depend on their order")]
    SomeRows,
    /// Nothing is claimed.
    #[error("nothing is claimed about what a read of this kind sees")]
    NoClaim,
    /// A read of a table that is no longer known.
    #[error("a read looks at a table in which a write was not followed")]
    UnknownTable,
    /// SKIP LOCKED.
    #[error("a read skips what others have locked")]
    SkipsLocked,
    /// Rows that a statement has written which still waits.
    #[error("a read may have seen a part of a write that was still waiting")]
    UnderWay,
    /// A view that cannot be put into tables.
    #[error("the rows that a read may have seen cannot be put into the tables")]
    Filling,
    /// Snapshot and own writes.
    #[error(
        "a read meets rows that its own transaction has written over what its snapshot does not contain"
    )]
    OverSnapshot,
    /// A subquery of a locking read.
    #[error("a locking read has a query inside, which may not lock what it reads")]
    Nested,
    /// Rows that changed while a statement waited.
    #[error("too many rows changed while a read waited")]
    Rows,
    /// The branches.
    #[error("too many courses are possible")]
    Courses,
    /// Statements that one COMMIT released.
    #[error("too many statements were set free at once")]
    Together,
    /// Versions that are not committed, and not all followed.
    #[error("a write that met other transactions may have looked at what they have not committed")]
    MetOthers,
    /// A constraint that is checked later.
    #[error("a constraint may be checked only at the end of a transaction")]
    Deferred,
}

impl From<Unfollowed> for Unjudged {
    fn from(reason: Unfollowed) -> Self {
        Self::Write(reason)
    }
}
