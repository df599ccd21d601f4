//! Why a run is not followed to its end: fixed sentences, so that they can be counted.

/// What is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Unfollowed {
    /// Tables change during the schedule.
    #[error("there is DDL in the schedule")]
    Ddl,
    /// A query inside a write, and a statement that has done a part of its work.
    #[error(
        "a query inside a write may have read what a statement had written that was still waiting"
    )]
    DirtyQuery,
    /// What a query inside a write reads of the table that is written.
    #[error("a write that reads its own table may have read what is not committed there")]
    DirtyTable,
    /// The views of a query inside a write.
    #[error("too many states with uncommitted versions are possible")]
    DirtyViews,
    /// Versions that nobody committed count, and are not followed.
    #[error(
        "an UPDATE may have judged a row by what a statement had written that was still waiting"
    )]
    UnseenVersions,
    /// There is no evaluator.
    #[error("the set-up does more than to fill tables with some rows")]
    SetUp,
    /// Several tables, joins, LIMIT.
    #[error("a write is too complex to be followed")]
    Complex,
    /// A table that is not there at the end.
    #[error("a written table is not there at the end")]
    NoTable,
    /// The snapshots of transactions.
    #[error("too many snapshots are possible")]
    Snapshots,
    /// The branches.
    #[error("too many courses are possible")]
    Courses,
    /// The rows of one statement.
    #[error("too many rows may be judged either way")]
    Rows,
    /// Statements that one COMMIT released.
    #[error("too many statements were set free at once")]
    Together,
    /// A join is not looked at again.
    #[error(
        "a row was changed meanwhile and judged again by a condition with a query in it, which may keep what it found \
         before"
    )]
    JudgedAgain,
    /// A statement that cannot be taken apart, while others committed.
    #[error("a write that needs whole tables waited while they changed")]
    WholeTables,
    /// The query of an INSERT, while others committed.
    #[error("what an INSERT that waited has read is not known")]
    InsertRead,
    /// The rows of an INSERT, while others committed.
    #[error("the rows of an INSERT that waited may have met others at different times")]
    InsertRows,
    /// The keys of an optimistic transaction.
    #[error("the keys of an optimistic transaction are checked when it commits")]
    Optimistic,
    /// The access path.
    #[error("in which order a scan that waited came to its rows is not known")]
    ScanOrder,
    /// The access path, where only a scan is excused.
    #[error("whether an UPDATE that skipped a row scanned its table is not known")]
    Search,
    /// What it would have done to a version that it may have met is an error.
    #[error("a write fails on a version of a row that it may have met")]
    FailsOnRow,
    /// The database does not tell what a statement does.
    #[error("a write cannot be tried on given rows")]
    Untried,
}
