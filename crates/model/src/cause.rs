//! What went wrong in a run, as data.
//!
//! Idea: an oracle says that a run is wrong; a cause says what was done, by which statement, to which row, and what had
//! happened to that row meanwhile. It is typed, so that findings can be named by it and compared; printed, it is a
//! sentence that anyone can check.
//!
//! A name contains only what tells causes apart. Which statement it was, which row and which level is what one case
//! happens to show: it is in the sentence, not in the name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What was done, and what should have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// A write took place on a row that another transaction had written or locked and not yet ended.
    DidNotWait,
    /// A write took place on a row that had changed since the snapshot, where only an error is right.
    ConflictMissed,
    /// A statement used a version that its own view no longer contained: a newer one had been committed.
    StaleVersionUsed,
    /// A statement used a version that nobody had committed.
    UncommittedVersionUsed,
    /// A statement used a version that was committed only after its snapshot.
    LaterVersionUsed,
    /// A statement did not see what its own transaction had written.
    OwnWriteUnseen,
    /// A statement missed a row that matches in every version that it could see.
    RowMissed,
    /// What a statement wrote, or a transaction committed, is not there.
    VersionLost,
    /// What was rolled back is still there.
    RollbackKept,
    /// A statement was applied twice.
    AppliedTwice,
    /// A statement failed although nothing that it could see gives a reason.
    FailedWithoutCause,
    /// A statement failed with an error of another class than in every serial order.
    FailedOtherwise,
    /// The server has ended a transaction, and has not said so.
    EndedUntold,
    /// The server has not ended a circle of waits.
    DeadlockNotEnded,
    /// Each statement by itself did what it should, but no order of the transactions gives the result.
    NoOrder,
    /// The statements give another result inside transactions than one by one, without any concurrency.
    WrongInTransaction,
    /// A constraint does not hold at the end.
    ConstraintBroken,
    /// The server calls its own data damaged.
    DataDamaged,
    /// Another target, or the same data in another schema, gives another answer.
    AnsweredDifferently,
    /// What shows only after other cases, without a version of the case itself that a statement wrongly used.
    LeftoverUsed,
    /// What no single deviation explains.
    Unexplained,
}

impl Deed {
    /// The word of names and of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DidNotWait => "did-not-wait",
            Self::ConflictMissed => "conflict-missed",
            Self::StaleVersionUsed => "stale-version-used",
            Self::UncommittedVersionUsed => "uncommitted-version-used",
            Self::LaterVersionUsed => "later-version-used",
            Self::OwnWriteUnseen => "own-write-unseen",
            Self::RowMissed => "row-missed",
            Self::VersionLost => "version-lost",
            Self::RollbackKept => "rollback-kept",
            Self::AppliedTwice => "applied-twice",
            Self::FailedWithoutCause => "failed-without-cause",
            Self::FailedOtherwise => "failed-otherwise",
            Self::EndedUntold => "ended-untold",
            Self::DeadlockNotEnded => "deadlock-not-ended",
            Self::NoOrder => "no-order",
            Self::WrongInTransaction => "wrong-in-transaction",
            Self::ConstraintBroken => "constraint-broken",
            Self::DataDamaged => "data-damaged",
            Self::AnsweredDifferently => "answered-differently",
            Self::LeftoverUsed => "leftover-used",
            Self::Unexplained => "unexplained",
        }
    }

    /// Whether it says only what was missing or failed, and not what a statement used instead.
    pub const fn is_an_effect(self) -> bool {
        matches!(
            self,
            Self::RowMissed
                | Self::VersionLost
                | Self::FailedWithoutCause
                | Self::FailedOtherwise
                | Self::WrongInTransaction
                | Self::ConstraintBroken
                | Self::DataDamaged
                | Self::AnsweredDifferently
                | Self::Unexplained
        )
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::DidNotWait => "wrote {row} without waiting for the transaction that held it",
            Self::ConflictMissed => "wrote {row}, which had changed since its snapshot",
            Self::StaleVersionUsed => "used an older version of {row} than it had to",
            Self::UncommittedVersionUsed => "used a version of {row} that nobody had committed",
            Self::LaterVersionUsed => {
                "used a version of {row} that was committed after its snapshot"
            }
            Self::OwnWriteUnseen => "did not see what its own transaction had written to {row}",
            Self::RowMissed => "missed {row}, which matches in every version that it could see",
            Self::VersionLost => "succeeded, but what was written to {row} is not there",
            Self::RollbackKept => "took back what was written to {row}, but it is still there",
            Self::AppliedTwice => "was applied twice",
            Self::FailedWithoutCause => "failed, and nothing that it could see gives a reason",
            Self::FailedOtherwise => "failed with an error that no order of the transactions gives",
            Self::EndedUntold => {
                "was answered as if its transaction went on, but that had been ended, and what was \
                 written to {row} is not there"
            }
            Self::DeadlockNotEnded => "waited in a circle that the server did not end",
            Self::NoOrder => {
                "each statement by itself did what it should, but no order of the transactions \
                 gives the result"
            }
            Self::WrongInTransaction => {
                "gives another result inside its transaction than outside, without any concurrency"
            }
            Self::ConstraintBroken => "left a constraint broken",
            Self::DataDamaged => "found the data damaged, in the server's own words",
            Self::AnsweredDifferently => "was answered differently elsewhere",
            Self::LeftoverUsed => "something was used that earlier cases had left behind",
            Self::Unexplained => "no single deviation explains the result",
        }
    }
}

/// What other transactions had done to the row meanwhile.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Meanwhile {
    /// Nothing, or nothing that matters.
    #[default]
    Nothing,
    /// Its primary key was moved.
    PrimaryKeyMoved,
    /// A unique key was moved.
    UniqueKeyMoved,
    /// A value in another index was changed.
    IndexEntryMoved,
    /// Other values were changed.
    Changed,
    /// It was inserted.
    Inserted,
    /// It was deleted.
    Deleted,
    /// It was deleted, and inserted again with the same key.
    Replaced,
}

impl Meanwhile {
    /// The word of names and of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::PrimaryKeyMoved => "primary-key-moved",
            Self::UniqueKeyMoved => "unique-key-moved",
            Self::IndexEntryMoved => "index-entry-moved",
            Self::Changed => "changed",
            Self::Inserted => "inserted",
            Self::Deleted => "deleted",
            Self::Replaced => "replaced",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::PrimaryKeyMoved => "another transaction had moved its primary key meanwhile",
            Self::UniqueKeyMoved => "another transaction had moved a unique key of it meanwhile",
            Self::IndexEntryMoved => "another transaction had changed an indexed value meanwhile",
            Self::Changed => "another transaction had changed it meanwhile",
            Self::Inserted => "another transaction had inserted it meanwhile",
            Self::Deleted => "another transaction had deleted it meanwhile",
            Self::Replaced => "another transaction had deleted and inserted it again meanwhile",
        }
    }
}

/// What a statement did not wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Awaited {
    /// A row that another transaction had written.
    Row,
    /// A row that another transaction had read to lock it.
    LockingRead,
    /// A unique key that another transaction had written.
    UniqueKey,
    /// A place without a row, which another transaction had searched.
    Gap,
    /// A row at the other end of a foreign key.
    Reference,
}

impl Awaited {
    /// The word of names and of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::LockingRead => "locking-read",
            Self::UniqueKey => "unique-key",
            Self::Gap => "gap",
            Self::Reference => "reference",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Row => "took {row} without waiting for the transaction that had written it",
            Self::LockingRead => {
                "took {row} without waiting for the transaction that had read and locked it"
            }
            Self::UniqueKey => {
                "used a unique key without waiting for the transaction that had written it"
            }
            Self::Gap => {
                "put a row where another transaction had searched, without waiting for its end"
            }
            Self::Reference => {
                "did not wait for the transaction that had written the other end of a foreign key"
            }
        }
    }
}

/// What takes part beside plain rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// An action of a foreign key.
    Action,
    /// A foreign key.
    ForeignKey,
    /// A constraint that a written row breaks.
    Constraint,
    /// A clause that says what to do if the key is taken.
    Conflict,
    /// A query inside the statement.
    Subquery,
}

impl Part {
    /// The word of names and of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::ForeignKey => "foreign-key",
            Self::Constraint => "constraint",
            Self::Conflict => "conflict-clause",
            Self::Subquery => "subquery",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Action => "an action of a foreign key takes part",
            Self::ForeignKey => "a foreign key takes part",
            Self::Constraint => "a constraint takes part",
            Self::Conflict => "a clause for keys that are taken takes part",
            Self::Subquery => "a query inside the statement takes part",
        }
    }
}

/// The statement that did it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Doer {
    /// Its number in the schedule, 1-based.
    pub n: usize,
    /// Its transaction.
    pub transaction: String,
    /// Its kind (`UPDATE`).
    pub kind: String,
    /// By which path it finds its rows (`primary key`, `unique key`, `index`, `scan`), where that is known.
    pub path: Option<String>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cause {
    /// What was done.
    pub deed: Deed,
    /// What other transactions had done to the row.
    pub meanwhile: Meanwhile,
    /// What it did not wait for, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<Awaited>,
    /// What else took part.
    pub part: Option<Part>,
    /// Which statement did it; `None` if it was no single one.
    pub statement: Option<Doer>,
    /// The table and the row, spelled out.
    pub row: Option<String>,
    /// The transactions that the statement had waited for.
    pub waited_for: Vec<String>,
}

impl Cause {
    /// A cause of which nothing else is known.
    pub const fn of(deed: Deed) -> Self {
        let meanwhile = Meanwhile::Nothing;
        Self {
            deed,
            meanwhile,
            awaited: None,
            part: None,
            statement: None,
            row: None,
            waited_for: Vec::new(),
        }
    }

    /// A statement that did not wait for this.
    pub fn unawaited(awaited: Awaited) -> Self {
        Self { awaited: Some(awaited), ..Self::of(Deed::DidNotWait) }
    }

    /// The name: two cases with one cause have the same, two causes have two.
    pub fn name(&self) -> String {
        match self.part {
            // That a row breaks a constraint is how a mistake shows, not what it is.
            Some(Part::Constraint) | None => self.kind(),
            Some(part) => format!("{}-{}", self.kind(), part.name()),
        }
    }

    /// The name without what takes part: a smaller case may do without it.
    pub fn kind(&self) -> String {
        if let Some(awaited) = self.awaited {
            return format!("{}-for-{}", self.deed.name(), awaited.name());
        }
        // Which key moved decides only about rows that are missed.
        match (self.deed, self.meanwhile) {
            (Deed::RowMissed, Meanwhile::Nothing) => self.deed.name().to_owned(),
            (Deed::RowMissed, moved) => format!("{}-{}", self.deed.name(), moved.name()),
            (deed, _) => deed.name().to_owned(),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Doer { n, transaction, kind, path }) = &self.statement {
            write!(f, "step {n} of {transaction} ({kind}")?;
            path.iter().try_for_each(|path| write!(f, " by {path}"))?;
            f.write_str(") ")?;
        }
        let row = self.row.as_deref().unwrap_or("a row");
        let sentence = self.awaited.map_or(self.deed.sentence(), Awaited::sentence);
        f.write_str(&sentence.replace("{row}", row))?;
        if self.meanwhile != Meanwhile::Nothing {
            write!(f, "; {}", self.meanwhile.sentence())?;
        }
        if !self.waited_for.is_empty() {
            write!(f, "; it had waited for {}", self.waited_for.join(" and "))?;
        }
        self.part.map_or(Ok(()), |part| write!(f, "; {}", part.sentence()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_waited_for_is_part_of_the_name() {
        let cause = Cause { row: Some("(9, 1) of t".to_owned()), ..Cause::unawaited(Awaited::Row) };
        assert_eq!(cause.name(), "did-not-wait-for-row");
        let told = "took (9, 1) of t without waiting for the transaction that had written it";
        assert_eq!(cause.to_string(), told);
    }

    #[test]
    fn a_cause_is_a_name_and_a_sentence() {
        let doer = Doer {
            n: 5,
            transaction: "t2".to_owned(),
            kind: "DELETE".to_owned(),
            path: Some("scan".to_owned()),
        };
        let cause = Cause {
            meanwhile: Meanwhile::PrimaryKeyMoved,
            statement: Some(doer),
            row: Some("(9, 1) of t".to_owned()),
            waited_for: vec!["t1".to_owned()],
            ..Cause::of(Deed::RowMissed)
        };
        assert_eq!(cause.name(), "row-missed-primary-key-moved");
        assert_eq!(
            cause.to_string(),
            "step 5 of t2 (DELETE by scan) missed (9, 1) of t, which matches in every version that it could see; \
             another transaction had moved its primary key meanwhile; it had waited for t1"
        );
        let json = serde_json::to_string(&cause).expect("it can be written");
        assert_eq!(serde_json::from_str::<Cause>(&json).expect("it can be read"), cause);
    }
}
