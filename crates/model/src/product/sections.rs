//! The sections of a descriptor about connecting to a product and about its peculiarities.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Level;

/// What a URL leaves out, and how a server is recognised.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Connection {
    /// The usual administrator.
    pub user: String,
    /// The usual port.
    pub port: u16,
    /// The database that always exists; empty if none is needed.
    pub database: String,
    /// Words in a server's version, in lower case, of which this product has at least one; empty: none is needed.
    pub says: Vec<String>,
    /// Words that it does not have.
    pub never_says: Vec<String>,
    /// The groups of an option file that its client reads; empty: its client is libpq.
    pub option_groups: Vec<String>,
    /// The command line of its client for a private server; `{port}` stands for the port.
    pub client: String,
}

/// The peculiarities of its version numbers.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VersionText {
    /// The version proper comes after this text, if a server prints it.
    pub behind: String,
    /// How many numbers name a series (`15`, `10.11`).
    pub series: usize,
    /// How many numbers name a release, oldest first: from a first number on.
    pub release: Vec<ReleaseNumbers>,
    /// The first version that tells its clients when it is shut down; `None`: none does.
    pub announces_shutdown: Option<String>,
}

/// The words, in lower case, by which it says why it ended. What every program says (`assertion`) is not among them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EndWords {
    /// In a line of its log: it crashed. The more telling ones come first.
    pub log_crashed: Vec<String>,
    /// In a line of its log, while it lives on: something is wrong that SQL must not cause.
    pub log_alarm: Vec<String>,
    /// In a line of its log: somebody sent it a signal.
    pub log_killed: Vec<String>,
    /// To its clients: a part of it has crashed.
    pub told_crashed: Vec<String>,
    /// To its clients: it is being shut down.
    pub told_stopped: Vec<String>,
}

/// How many numbers name a release.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseNumbers {
    /// From this first number on.
    pub since: u64,
    /// The count.
    pub numbers: usize,
}

impl Default for VersionText {
    fn default() -> Self {
        Self { behind: String::new(), series: 2, release: Vec::new(), announces_shutdown: None }
    }
}

impl VersionText {
    /// How many numbers a release with this first one has.
    pub fn numbers_of_release(&self, first: u64) -> usize {
        let known = self.release.iter().rev().find(|release| release.since <= first);
        known.map_or(3, |release| release.numbers)
    }
}

/// The peculiarities of its transactions.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Transactions {
    /// Whether DDL first commits the transaction that it is in.
    pub ddl_commits: bool,
    /// Whether a SAVEPOINT outside a transaction begins one.
    pub savepoint_begins: bool,
    /// Whether a locking read for share takes a lock.
    pub shared_locks: bool,
    /// Whether a statement outside a transaction waits for the locks of others before it writes.
    pub single_statements_wait: bool,
    /// The statements that take a snapshot without a lock, by variant of the engine; `*` is any.
    pub snapshot: BTreeMap<String, Vec<String>>,
    /// The level that a session needs for that.
    #[serde(deserialize_with = "some_level")]
    pub snapshot_level: Option<Level>,
    /// The variants of an embedded engine in which a COMMIT waits for readers.
    pub readers_block_commit: Vec<String>,
    /// Whether a statement that waits has done nothing yet.
    pub waits_before_work: bool,
    /// Whether a shared lock may be one of an index alone, and keep nobody from the row itself.
    pub locks_indexes_alone: bool,
    /// The statement after which a session fills tables without checking foreign keys.
    pub foreign_keys_unchecked: Option<String>,
}

impl Default for Transactions {
    fn default() -> Self {
        Self {
            ddl_commits: false,
            savepoint_begins: false,
            shared_locks: true,
            single_statements_wait: true,
            snapshot: BTreeMap::new(),
            snapshot_level: None,
            readers_block_commit: Vec::new(),
            waits_before_work: false,
            locks_indexes_alone: false,
            foreign_keys_unchecked: None,
        }
    }
}

impl Transactions {
    /// The statements that take a snapshot, in a variant of the engine; empty if there are none.
    pub fn snapshot_in(&self, variant: &str) -> &[String] {
        let any = || self.snapshot.get("*");
        self.snapshot.get(variant).or_else(any).map_or(&[], Vec::as_slice)
    }
}

/// How levels are set and read back.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Levels {
    /// The levels that it really has, weakest first.
    pub level: Vec<LevelText>,
    /// Queries for a session's level; the first that the server understands counts.
    pub read_back: Vec<String>,
    /// Whether the real level is visible only inside a transaction.
    pub read_back_inside: bool,
    /// Variables that affect isolation in addition to the level; they can be used in `words` as `{name}`.
    pub beside: Vec<String>,
    /// How the level is shown; `{level}` is the server's word.
    pub words: Option<String>,
    /// How a word that is not a level of the product is shown.
    pub unknown_words: Option<String>,
    /// Settings that change what a level is.
    pub changed_by: Vec<LevelChange>,
}

/// One level.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelText {
    /// The level.
    #[serde(deserialize_with = "level")]
    pub name: Level,
    /// The statements that set it in a session.
    pub set: Vec<String>,
    /// A variable without which a server does not have the level.
    pub needs: Option<String>,
}

/// A setting that changes what a level is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelChange {
    /// The variable.
    pub variable: String,
    /// The value that has this effect.
    pub value: String,
    /// At these levels.
    #[serde(deserialize_with = "levels")]
    pub at: Vec<Level>,
    /// The level that the first of them then also is.
    #[serde(deserialize_with = "level")]
    pub makes: Level,
    /// What is shown with the level.
    pub words: String,
}

fn level<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(serde::de::Error::custom)
}

fn some_level<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Level>, D::Error> {
    level(deserializer).map(Some)
}

fn levels<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Level>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| name.parse().map_err(serde::de::Error::custom)).collect()
}

impl Levels {
    /// What is said about a level.
    pub fn get(&self, level: Level) -> Option<&LevelText> {
        self.level.iter().find(|known| known.name == level)
    }

    /// The statements that set a session's level. A product without a level named snapshot has it, if at all, as
    /// repeatable read.
    pub fn set(&self, level: Level) -> &[String] {
        let instead = (level == Level::Snapshot).then_some(Level::RepeatableRead);
        let known = self.get(level).or_else(|| self.get(instead?));
        known.map_or(&[], |known| &known.set)
    }
}

/// The preparation of a session before its first statement.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionText {
    /// The statements; `{seconds}` and `{milliseconds}` stand for the limit on a wait for a lock.
    pub prepare: Vec<String>,
    /// The longest limit that the server accepts, in seconds.
    pub lock_wait_max: u64,
    /// The statement that ends what another connection executes, and the one that ends the connection; `{id}` is its
    /// number.
    pub cancel: String,
    /// See `cancel`.
    pub kill: String,
    /// A query that counts the connections with a number: 0 when it has ended. `None` where nobody can be asked.
    pub listed: Option<String>,
    /// A query for the connection's own number, if the greeting does not contain it.
    pub id: Option<String>,
    /// What keeps the server's background work from ending waits; empty where nothing is needed.
    pub stillness: Option<String>,
    /// How to find out when deleted rows no longer have an effect: a name of the driver.
    pub purge: Option<String>,
}

impl Default for SessionText {
    fn default() -> Self {
        Self {
            prepare: Vec::new(),
            lock_wait_max: u64::MAX,
            cancel: "KILL QUERY {id}".to_owned(),
            kill: "KILL {id}".to_owned(),
            listed: None,
            id: None,
            stillness: None,
            purge: None,
        }
    }
}

/// How to ask it who waits for whom.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Waits {
    /// Probes of the driver, in the order in which they are tried.
    pub probe: Vec<Probe>,
    /// A query, for the probe `query`: one row per wait, with the waiting connection, the one that it waits for, and
    /// what for.
    pub query: String,
    /// What the process list says of a waiting connection (`row lock` for "Waiting for row lock"): then the query is
    /// asked only if it says so, for a view that must be spared.
    pub state: Option<String>,
}

/// A probe of the driver.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Its name in the driver.
    pub name: String,
    /// The first version that it applies to, by the first numbers of what the server says.
    pub since: Option<String>,
    /// The first version that it no longer applies to.
    pub before: Option<String>,
}

impl Probe {
    /// Whether it applies to a server of this version.
    pub fn is_for(&self, version: &str) -> bool {
        let numbers = |text: &str| -> Vec<u64> {
            let parts = text.split(|c: char| !c.is_ascii_digit());
            parts.map_while(|part| part.parse().ok()).collect()
        };
        let version = numbers(version);
        self.since.as_ref().is_none_or(|since| version >= numbers(since))
            && self.before.as_ref().is_none_or(|before| version < numbers(before))
    }
}

/// A query for settings, which returns names and values.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The statement.
    pub sql: String,
    /// The prefix for each name.
    #[serde(default)]
    pub prefix: String,
}

/// How it reports that its own data is damaged.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Damage {
    /// The codes of the errors that say so.
    pub codes: Vec<String>,
    /// Of these, the codes with which an OPTIMISTIC transaction may find out at its COMMIT that a key is taken: nothing
    /// is damaged then.
    pub late_duplicates: Vec<String>,
}

/// What scripts for its developers look like.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scripts {
    /// The form that they use: `mtr` or `spec`.
    pub native: Option<String>,
    /// Statements that a session needs, in addition to its level, to behave as in Anchorite.
    pub session: Vec<String>,
    /// The beginning of an mtr test.
    pub mtr_opening: Vec<String>,
    /// The errors of conflicts, for a test that was written without a run.
    pub conflict_errors: Vec<String>,
    /// A query that says whether the connection `{id}` waits for a row.
    pub mtr_waits: String,
    /// Where its issues are: the prefixes of an issue's name and of its address.
    pub tracker: BTreeMap<String, String>,
}
