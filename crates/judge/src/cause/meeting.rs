//! A statement among the others: whether somebody else touched a row meanwhile.

use crate::evidence::transactions::{Performed, Transaction};
use crate::evidence::versions::{Row, Version, Writer};

/// A statement and the others around it.
pub(super) struct Meeting<'a, 'r> {
    pub writer: Writer,
    pub transactions: &'a [Transaction<'r>],
    pub statement: &'a Performed<'r>,
}

impl Meeting<'_, '_> {
    /// Whether somebody else made or committed a version since the transaction began, or by a statement that was sent
    /// before this one was answered: of two that were released together, either may have come first.
    pub(super) fn met(&self, version: &Version) -> bool {
        let Some(other) = version.writer.filter(|other| *other != self.writer) else {
            return false;
        };
        let meanwhile = self.transactions[self.writer].began..=self.statement.end;
        let mut statements = self.transactions[other].statements.iter();
        let made_by = statements.find(|statement| statement.end == version.made);
        meanwhile.contains(&version.made)
            || version.committed.is_some_and(|at| meanwhile.contains(&at))
            || made_by.is_some_and(|statement| meanwhile.contains(&statement.start))
    }

    /// Whether nobody else touched the row.
    pub(super) fn is_untouched(&self, row: &Row) -> bool {
        !row.versions.iter().any(|version| self.met(version))
    }
}
