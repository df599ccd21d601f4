//! The options of the grammar that a product may lack, each with a probe.
//!
//! Idea: the base grammar is plain SQL that every product has. Everything beyond it has a name and a probe: a few
//! statements that only work where the option exists. A product's descriptor lists the names that it is known to have,
//! so that cases are correct without asking a server. Running the probes on a server gives a
//! [`Support`] that is true for that version, whatever the product calls itself.
//!
//! Assumption: an option that a server accepts has the same meaning everywhere. Where it does not (`||` is OR in
//! MySQL), it is not an option but part of the dialect.

use anchorite_model::nearest::did_you_mean;
use anchorite_model::{Case, Header, Product, Statement, Step};

use crate::Support;

/// One option of the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Its name in a [`Support`] file.
    pub name: &'static str,
    /// Statements that only work where it exists.
    probe: &'static [&'static str],
}

/// The table that probes work on.
const TABLE: &str = "CREATE TABLE probe (pk INT PRIMARY KEY, c0 INT, c1 VARCHAR(20))";
const ROW: &str = "INSERT INTO probe (pk, c0, c1) VALUES (1, 1, 'a')";

const fn feature(name: &'static str, probe: &'static [&'static str]) -> Feature {
    Feature { name, probe }
}

/// Every option.
pub const FEATURES: &[Feature] = &[
    // Types.
    feature("tinyint", &["CREATE TABLE probe (c0 TINYINT)"]),
    feature("unsigned", &["CREATE TABLE probe (c0 INT UNSIGNED)"]),
    feature("enum", &["CREATE TABLE probe (c0 ENUM('a', 'b'))"]),
    feature(
        "datetime",
        &[
            "CREATE TABLE probe (c0 DATETIME)",
            "INSERT INTO probe (c0) VALUES ('2024-01-01 00:00:00')",
        ],
    ),
    feature("blob", &["CREATE TABLE probe (c0 BLOB)", "INSERT INTO probe (c0) VALUES (x'01')"]),
    feature("text-key", &["CREATE TABLE probe (c0 TEXT PRIMARY KEY)"]),
    // Tables.
    feature("check", &["CREATE TABLE probe (c0 INT, CHECK (c0 >= 0))"]),
    feature(
        "foreign-key",
        &[
            "CREATE TABLE probe (pk INT PRIMARY KEY)",
            "CREATE TABLE child (c0 INT, FOREIGN KEY (c0) REFERENCES probe (pk) ON DELETE CASCADE ON UPDATE CASCADE)",
        ],
    ),
    feature(
        "generated-stored",
        &["CREATE TABLE probe (c0 INT, g0 BIGINT GENERATED ALWAYS AS (c0 + 1) STORED)"],
    ),
    feature(
        "generated-virtual",
        &["CREATE TABLE probe (c0 INT, g0 BIGINT GENERATED ALWAYS AS (c0 + 1) VIRTUAL)"],
    ),
    feature("without-rowid", &["CREATE TABLE probe (c0 INT PRIMARY KEY) WITHOUT ROWID"]),
    feature("nonclustered", &["CREATE TABLE probe (c0 INT, PRIMARY KEY (c0) NONCLUSTERED)"]),
    feature(
        "partition-hash",
        &["CREATE TABLE probe (c0 INT PRIMARY KEY) PARTITION BY HASH (c0) PARTITIONS 2"],
    ),
    feature(
        "partition-range",
        &["CREATE TABLE probe (c0 INT PRIMARY KEY) PARTITION BY RANGE (c0) \
            (PARTITION p0 VALUES LESS THAN (3), PARTITION p1 VALUES LESS THAN MAXVALUE)"],
    ),
    feature(
        "partition-tables",
        &[
            "CREATE TABLE probe (c0 INT PRIMARY KEY) PARTITION BY HASH (c0)",
            "CREATE TABLE probe_0 PARTITION OF probe FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        ],
    ),
    // Indexes.
    feature("index-prefix", &[TABLE, "CREATE INDEX i0 ON probe (c1(2))"]),
    feature("index-expression", &[TABLE, "CREATE INDEX i0 ON probe ((c0 + 1))"]),
    feature("index-partial", &[TABLE, "CREATE INDEX i0 ON probe (c0) WHERE c0 > 3"]),
    feature("index-descending", &[TABLE, "CREATE INDEX i0 ON probe (c0 DESC)"]),
    feature("index-include", &[TABLE, "CREATE INDEX i0 ON probe (c0) INCLUDE (c1)"]),
    feature("index-hash", &[TABLE, "CREATE INDEX i0 ON probe USING HASH (c0)"]),
    // Queries.
    feature("except", &[TABLE, "SELECT c0 FROM probe EXCEPT SELECT pk FROM probe"]),
    feature("intersect", &[TABLE, "SELECT c0 FROM probe INTERSECT SELECT pk FROM probe"]),
    feature("with", &[TABLE, "WITH w AS (SELECT c0 FROM probe) SELECT * FROM w"]),
    feature("for-update", &[TABLE, "SELECT * FROM probe FOR UPDATE"]),
    feature("for-share", &[TABLE, "SELECT * FROM probe FOR SHARE"]),
    feature("lock-in-share-mode", &[TABLE, "SELECT * FROM probe LOCK IN SHARE MODE"]),
    feature("for-no-key-update", &[TABLE, "SELECT * FROM probe FOR NO KEY UPDATE"]),
    feature("nowait", &[TABLE, "SELECT * FROM probe FOR UPDATE NOWAIT"]),
    feature("number-as-condition", &[TABLE, "SELECT * FROM probe WHERE c0"]),
    feature("null-safe-equal", &[TABLE, "SELECT * FROM probe WHERE c0 <=> NULL"]),
    feature("is-distinct-from", &[TABLE, "SELECT * FROM probe WHERE c0 IS DISTINCT FROM 1"]),
    // Writes.
    feature("insert-ignore", &[TABLE, ROW, "INSERT IGNORE INTO probe (pk, c0) VALUES (1, 2)"]),
    feature(
        "on-duplicate-key",
        &[TABLE, ROW, "INSERT INTO probe (pk, c0) VALUES (1, 2) ON DUPLICATE KEY UPDATE c0 = 3"],
    ),
    feature(
        "on-conflict",
        &[
            TABLE,
            ROW,
            "INSERT INTO probe (pk, c0) VALUES (1, 2) ON CONFLICT DO NOTHING",
            "INSERT INTO probe (pk, c0) VALUES (1, 2) ON CONFLICT (pk) DO UPDATE SET c0 = excluded.c0",
        ],
    ),
    feature("replace", &[TABLE, ROW, "REPLACE INTO probe (pk, c0) VALUES (1, 2)"]),
    feature("update-ignore", &[TABLE, "UPDATE IGNORE probe SET c0 = 1"]),
    feature("ordered-limit", &[TABLE, ROW, "DELETE FROM probe ORDER BY pk LIMIT 1"]),
    feature("insert-returning", &[TABLE, "INSERT INTO probe (pk) VALUES (1) RETURNING pk"]),
    feature("update-returning", &[TABLE, ROW, "UPDATE probe SET c0 = 1 RETURNING pk"]),
    feature("delete-returning", &[TABLE, ROW, "DELETE FROM probe RETURNING pk"]),
    feature("default-word", &[TABLE, ROW, "UPDATE probe SET c0 = DEFAULT"]),
    // Tables that change.
    feature("add-column", &[TABLE, "ALTER TABLE probe ADD COLUMN n0 INT DEFAULT 1"]),
    feature("drop-index-on", &[TABLE, "CREATE INDEX i0 ON probe (c0)", "DROP INDEX i0 ON probe"]),
    feature("drop-index", &[TABLE, "CREATE INDEX i0 ON probe (c0)", "DROP INDEX i0"]),
    feature("truncate", &[TABLE, "TRUNCATE TABLE probe"]),
    // Transactions.
    feature("start-transaction", &["START TRANSACTION", "COMMIT"]),
    feature("consistent-snapshot", &["START TRANSACTION WITH CONSISTENT SNAPSHOT", "COMMIT"]),
    feature("begin-immediate", &["BEGIN IMMEDIATE", "COMMIT"]),
    feature("begin-pessimistic", &["BEGIN PESSIMISTIC", "COMMIT"]),
    feature("begin-optimistic", &["BEGIN OPTIMISTIC", "COMMIT"]),
    feature(
        "savepoint",
        &["BEGIN", "SAVEPOINT s1", "ROLLBACK TO SAVEPOINT s1", "RELEASE SAVEPOINT s1", "COMMIT"],
    ),
];

impl Feature {
    /// A case that only runs without errors where the option exists.
    pub fn probe(&self, product: Product) -> Case {
        let statement = |sql: &&str| Statement { sql: (*sql).to_owned(), line: 0 };
        Case {
            name: format!("probe-{}", self.name),
            header: Header { targets: vec![product], ..Header::default() },
            sessions: vec!["t1".to_owned()],
            steps: self
                .probe
                .iter()
                .map(|sql| Step { session: 0, statement: statement(sql) })
                .collect(),
            ..Case::default()
        }
    }

    /// Whether the product is known to have it.
    pub fn is_offered_by(&self, product: Product) -> bool {
        product.descriptor().features.contains(self.name)
    }
}

/// A name in the product's descriptor that is no option of the grammar, with what was probably meant.
pub fn unknown_feature(product: Product) -> Option<String> {
    let descriptor = product.descriptor();
    let is_unknown = |name: &&String| FEATURES.iter().all(|feature| feature.name != name.as_str());
    let name = descriptor.features.union(&descriptor.avoid).filter(is_unknown).min()?;
    let hint = did_you_mean(name, FEATURES.iter().map(|feature| feature.name));
    Some(format!("unknown feature '{name}'{hint}"))
}

/// What the product is known to reject, without asking a server.
pub fn known_support(product: Product) -> Support {
    let missing = FEATURES.iter().filter(|feature| !feature.is_offered_by(product));
    Support::without(missing.map(|feature| feature.name))
}

/// What a server rejects, according to the results of the probes. Options that were not probed count as rejected.
pub fn learn(outcomes: &[(&Feature, bool)]) -> Support {
    let accepted =
        |feature: &Feature| outcomes.iter().any(|(probed, fine)| *probed == feature && *fine);
    let missing = FEATURES.iter().filter(|feature| !accepted(feature));
    Support::without(missing.map(|feature| feature.name))
}
