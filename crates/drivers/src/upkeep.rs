//! How the tables of a schema are made as good as new between two cases: data, one value per schema.
//!
//! Idea: creating tables costs milliseconds, deleting their rows a fraction of one. But deleted rows leave
//! traces: InnoDB's index entries take locks until purge has removed them, PostgreSQL's dead rows fill pages.
//! What has to be done about that differs by product; who does it is the same for all (the stage's arena).

use anchorite_model::Answer;

/// What can be done with a schema that is used again and again. The default can do nothing: then a schema is
/// left for a new one when its tables have to change.
#[derive(Debug, Clone, Default)]
pub struct Upkeep {
    /// Moves a session that was opened in another schema of the same target into this one.
    pub enter: Option<String>,
    /// Drops everything in the schema.
    pub clear: Vec<String>,
    /// Lets all rows be deleted whatever refers to them; stands before the deletes.
    pub before_delete: Vec<String>,
    /// Takes that back; stands behind the deletes.
    pub after_delete: Vec<String>,
    /// Keeps the server from interfering, like [`crate::Schema::hold_still`], until the session's COMMIT.
    pub stillness: Vec<String>,
    /// How to learn when deleted rows are not felt any more; `None` where they never are.
    pub purge: Option<PurgeQuestion>,
    /// After so many bytes of row versions the tables are truncated instead, so that rows lie on their
    /// pages, and pages are counted, as in new tables.
    pub worn_after: Option<usize>,
}

/// How a server is asked how far it has removed what was deleted.
#[derive(Debug, Clone, Copy)]
pub struct PurgeQuestion {
    /// The question.
    pub sql: &'static str,
    /// Reads the answer; `None` if it says nothing.
    pub read: fn(&Answer) -> Option<PurgeProgress>,
}

/// How far a server has removed what was deleted, in numbers that grow with each transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgeProgress {
    /// Every transaction that has ended has a smaller number.
    pub next: u64,
    /// What transactions with smaller numbers deleted is removed, or is being removed.
    pub purged: u64,
    /// Nothing is being removed at the moment.
    pub is_idle: bool,
}
