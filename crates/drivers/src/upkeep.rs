//! How the tables of a schema are reset between two cases: data, one value per schema.
//!
//! Idea: creating tables costs milliseconds, deleting their rows a fraction of one. But deleted rows leave traces:
//! InnoDB's index entries take locks until purge has removed them, PostgreSQL's dead rows fill pages. What has to be
//! done about that differs by product; the code that does it is the same for all (the stage's arena).

use anchorite_model::Answer;

/// What can be done with a schema that is reused. The default can do nothing: then a schema is replaced by a new one
/// when its tables have to change.
#[derive(Debug, Clone, Default)]
pub struct Upkeep {
    /// Switches a session that was opened in another schema of the same target to this one.
    pub enter: Option<String>,
    /// Drops everything in the schema.
    pub clear: Vec<String>,
    /// Allows all rows to be deleted whatever refers to them; comes before the deletes.
    pub before_delete: Vec<String>,
    /// Undoes that; comes after the deletes.
    pub after_delete: Vec<String>,
    /// Stops background work of the server, like [`crate::Schema::hold_still`], until the session's COMMIT.
    pub stillness: Vec<String>,
    /// How to find out when deleted rows no longer have an effect; `None` if they never have one.
    pub purge: Option<PurgeQuestion>,
    /// After this many bytes of row versions the tables are truncated instead, so that rows are placed on pages, and
    /// pages are counted, as in new tables.
    pub worn_after: Option<usize>,
}

/// How to ask a server how far it has removed deleted rows.
#[derive(Debug, Clone, Copy)]
pub struct PurgeQuestion {
    /// The question.
    pub sql: &'static str,
    /// Reads the answer; `None` if it says nothing.
    pub read: fn(&Answer) -> Option<PurgeProgress>,
}

/// How far a server has removed deleted rows, in numbers that grow with each transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgeProgress {
    /// Every transaction that has ended has a smaller number.
    pub next: u64,
    /// What transactions with smaller numbers deleted is removed, or is being removed.
    pub purged: u64,
    /// Nothing is being removed at the moment.
    pub is_idle: bool,
}
