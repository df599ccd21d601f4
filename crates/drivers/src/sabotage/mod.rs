//! Sabotage: breaks isolation on purpose, between a session and its driver, on any target.
//!
//! Idea: an oracle that has never seen a fault proves nothing by reporting nothing. [`sabotaged`] wraps a target;
//! statements are passed on, and now and then one is rewritten, answered with other rows, or undone without the session
//! knowing. What the stage then sees is what a DBMS with that fault would show.
//!
//! Rules:
//!
//! * A sabotage acts only where transactions overlap (another session of the case has a transaction open, or
//!   had one open since this transaction began). A serial run on the same wrapper is honest, as it is on a
//!   DBMS with a real isolation fault. Only [`Sabotage::WriteSkew`] is always on: a weaker level shows
//!   nothing in a serial run.
//! * It acts once per overlap: from the moment when a transaction is open until none is. So kept sessions need no reset
//!   between two cases, and the same schedule has the same effect.
//! * What it needs besides the session (the committed state) it reads over a separate connection, whose statements
//!   never wait: one that would is cancelled. If it cannot act, the statement runs honestly.
//!
//! Assumption: one thread drives all sessions of a sabotaged target, one case at a time. Sessions that run at the same
//! time, each in a thread of its own, are those of [`sabotaged_at_full_speed`]: there overlaps have no end, so the
//! sabotage acts in one of a few statements, and locks are given away by their holder instead of by a watcher.
//!
//! Blind spots: sabotages that have to read the statement leave writes with joins, CTEs or several tables alone; rows
//! are recognised by their values, so a row with a value that cannot be compared (JSON in PostgreSQL) is never chosen.

mod aside;
mod ends;
mod errors;
mod images;
mod reads;
mod records;
mod schema;
mod session;
mod shared;
mod shared_schema;
mod writes;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use anchorite_model::{Level, TargetInfo};

use crate::{Schema, Target, TargetError, Turn};
use shared::Shared;
use shared_schema::lock;

/// A way to break isolation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sabotage {
    /// See [`Sabotage::sentence`]; the same for all of them.
    DirtyRead,
    #[expect(missing_docs, reason = "the sentence tells")]
    NonRepeatableRead,
    #[expect(missing_docs, reason = "the sentence tells")]
    Phantom,
    #[expect(missing_docs, reason = "the sentence tells")]
    StaleSnapshot,
    #[expect(missing_docs, reason = "the sentence tells")]
    OwnWriteInvisible,
    #[expect(missing_docs, reason = "the sentence tells")]
    RowMissed,
    #[expect(missing_docs, reason = "the sentence tells")]
    ReadLockNotTaken,
    #[expect(missing_docs, reason = "the sentence tells")]
    WriteSkew,
    #[expect(missing_docs, reason = "the sentence tells")]
    LostUpdate,
    #[expect(missing_docs, reason = "the sentence tells")]
    ConflictIgnored,
    #[expect(missing_docs, reason = "the sentence tells")]
    LockNotTaken,
    #[expect(missing_docs, reason = "the sentence tells")]
    EarlyCommit,
    #[expect(missing_docs, reason = "the sentence tells")]
    RowSkipped,
    #[expect(missing_docs, reason = "the sentence tells")]
    WriteLost,
    #[expect(missing_docs, reason = "the sentence tells")]
    DuplicateExecution,
    #[expect(missing_docs, reason = "the sentence tells")]
    CommitLost,
    #[expect(missing_docs, reason = "the sentence tells")]
    CommitTorn,
    #[expect(missing_docs, reason = "the sentence tells")]
    RollbackKept,
    #[expect(missing_docs, reason = "the sentence tells")]
    SavepointKept,
    #[expect(missing_docs, reason = "the sentence tells")]
    FailureInvented,
    #[expect(missing_docs, reason = "the sentence tells")]
    ErrorExchanged,
}

impl Sabotage {
    /// Every sabotage: those of reads first, then those that change what is stored, then those of errors.
    pub const ALL: [Self; 21] = [
        Self::DirtyRead,
        Self::NonRepeatableRead,
        Self::Phantom,
        Self::StaleSnapshot,
        Self::OwnWriteInvisible,
        Self::RowMissed,
        Self::ReadLockNotTaken,
        Self::WriteSkew,
        Self::LostUpdate,
        Self::ConflictIgnored,
        Self::LockNotTaken,
        Self::EarlyCommit,
        Self::RowSkipped,
        Self::WriteLost,
        Self::DuplicateExecution,
        Self::CommitLost,
        Self::CommitTorn,
        Self::RollbackKept,
        Self::SavepointKept,
        Self::FailureInvented,
        Self::ErrorExchanged,
    ];

    /// The name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DirtyRead => "dirty-read",
            Self::NonRepeatableRead => "non-repeatable-read",
            Self::Phantom => "phantom",
            Self::StaleSnapshot => "stale-snapshot",
            Self::OwnWriteInvisible => "own-write-invisible",
            Self::RowMissed => "row-missed",
            Self::ReadLockNotTaken => "read-lock-not-taken",
            Self::WriteSkew => "write-skew",
            Self::LostUpdate => "lost-update",
            Self::ConflictIgnored => "conflict-ignored",
            Self::LockNotTaken => "lock-not-taken",
            Self::EarlyCommit => "early-commit",
            Self::RowSkipped => "row-skipped",
            Self::WriteLost => "write-lost",
            Self::DuplicateExecution => "duplicate-execution",
            Self::CommitLost => "commit-lost",
            Self::CommitTorn => "commit-torn",
            Self::RollbackKept => "rollback-kept",
            Self::SavepointKept => "savepoint-kept",
            Self::FailureInvented => "failure-invented",
            Self::ErrorExchanged => "error-exchanged",
        }
    }

    /// What goes wrong, for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::DirtyRead => {
                "a SELECT is answered with rows that another transaction has not committed"
            }
            Self::NonRepeatableRead => {
                "a SELECT shows values that were committed after its snapshot"
            }
            Self::Phantom => "a SELECT gains or loses rows by a commit after its snapshot",
            Self::StaleSnapshot => "a SELECT is answered from before a commit that it should see",
            Self::OwnWriteInvisible => "a SELECT does not see what its own transaction wrote",
            Self::RowMissed => "a SELECT leaves out a row that it should show",
            Self::ReadLockNotTaken => "a SELECT … FOR UPDATE or FOR SHARE locks nothing",
            Self::WriteSkew => "a serializable session really runs at a weaker level",
            Self::LostUpdate => {
                "an UPDATE overwrites another's committed change as if it had not seen it"
            }
            Self::ConflictIgnored => "a write that has to fail because of a conflict goes through",
            Self::LockNotTaken => "a statement that has to wait for another's lock goes on at once",
            Self::EarlyCommit => {
                "a write is committed, its locks released, before its transaction ends"
            }
            Self::RowSkipped => "an UPDATE or DELETE leaves out a row that it should hit",
            Self::WriteLost => "a write is answered and has no effect",
            Self::DuplicateExecution => "a write is executed twice",
            Self::CommitLost => "a COMMIT is answered and rolls back",
            Self::CommitTorn => "a COMMIT keeps only the transaction's first write",
            Self::RollbackKept => "a ROLLBACK is answered and commits",
            Self::SavepointKept => "a ROLLBACK TO SAVEPOINT is answered and undoes nothing",
            Self::FailureInvented => {
                "a write fails as if others were in the way, who have done nothing yet"
            }
            Self::ErrorExchanged => "a write that breaks a constraint fails with another error",
        }
    }

    /// Whether it changes what is stored in the end; the others change only what reads return.
    pub const fn changes_final_state(self) -> bool {
        !matches!(
            self,
            Self::DirtyRead
                | Self::NonRepeatableRead
                | Self::Phantom
                | Self::StaleSnapshot
                | Self::OwnWriteInvisible
                | Self::RowMissed
                | Self::ReadLockNotTaken
                | Self::ErrorExchanged
        )
    }

    /// Whether it is always on, instead of acting now and then.
    pub const fn is_always_on(self) -> bool {
        matches!(self, Self::WriteSkew)
    }

    /// Whether it can show at this level; `None` = a level that is not known by name.
    pub fn applies(self, level: Option<Level>) -> bool {
        match self {
            Self::WriteSkew => level.is_none_or(|level| level == Level::Serializable),
            Self::DirtyRead => level != Some(Level::ReadUncommitted),
            Self::NonRepeatableRead | Self::Phantom | Self::ConflictIgnored => {
                level.is_none_or(|level| level > Level::ReadCommitted)
            }
            _ => true,
        }
    }
}

impl fmt::Display for Sabotage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that is not the name of a sabotage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown sabotage '{0}'")]
pub struct UnknownSabotage(pub String);

impl FromStr for Sabotage {
    type Err = UnknownSabotage;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|sabotage| sabotage.name() == text);
        found.ok_or_else(|| UnknownSabotage(text.to_owned()))
    }
}

/// The same target, with this fault in it.
pub fn sabotaged(target: &dyn Target, sabotage: Sabotage) -> Sabotaged<'_> {
    let shared = Shared::new(target.info().clone(), target.levels().to_vec(), sabotage);
    Sabotaged { target, shared: Arc::new(shared) }
}

/// The same for sessions that run at the same time, each in a thread of its own.
pub fn sabotaged_at_full_speed(target: &dyn Target, sabotage: Sabotage) -> Sabotaged<'_> {
    let mut shared = Shared::new(target.info().clone(), target.levels().to_vec(), sabotage);
    shared.is_racing = true;
    Sabotaged { target, shared: Arc::new(shared) }
}

/// A target with a fault in it. All sessions of its schemas together are one case at a time.
pub struct Sabotaged<'t> {
    target: &'t dyn Target,
    shared: Arc<Shared>,
}

impl Sabotaged<'_> {
    /// How many times the sabotage has acted so far. One that is always on is not counted.
    pub fn acts(&self) -> u64 {
        lock(&self.shared.records).acts
    }
}

impl Target for Sabotaged<'_> {
    fn info(&self) -> &TargetInfo {
        self.target.info()
    }

    fn levels(&self) -> &[Level] {
        self.target.levels()
    }

    fn turn(&self) -> Option<Box<dyn Turn>> {
        self.target.turn()
    }

    fn create_schema(&self) -> Result<Box<dyn Schema>, TargetError> {
        let schema = self.target.create_schema()?;
        Ok(schema::wrap(&self.shared, schema))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_can_be_read_back() {
        for sabotage in Sabotage::ALL {
            assert_eq!(sabotage.name().parse(), Ok(sabotage));
        }
        assert!("chaos".parse::<Sabotage>().is_err());
    }
}
