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
const OTHER: &str = "CREATE TABLE other (c0 INT)";
const ROW: &str = "INSERT INTO probe (pk, c0, c1) VALUES (1, 1, 'a')";

const MERGE: &str = "MERGE INTO probe AS a USING (SELECT 1 AS k) AS b ON a.pk = b.k \
    WHEN MATCHED THEN UPDATE SET c0 = a.c0 + 1 WHEN NOT MATCHED THEN INSERT (pk, c0) VALUES (b.k, 1)";

const fn feature(name: &'static str, probe: &'static [&'static str]) -> Feature {
    Feature { name, probe }
}

/// Every option.
pub const FEATURES: &[Feature] = &[
    // Types.
    feature("tinyint", &["CREATE TABLE probe (c0 TINYINT)"]),
    feature("unsigned", &["CREATE TABLE probe (c0 INT UNSIGNED)"]),
    feature("enum", &["CREATE TABLE probe (c0 ENUM('a', 'b'))"]),
    feature("set", &["CREATE TABLE probe (c0 SET('a', 'b'))"]),
    feature(
        "collation-general-ci",
        &["CREATE TABLE probe (c0 VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci)"],
    ),
    feature(
        "collation-nocase",
        &["CREATE TABLE probe (c0 TEXT COLLATE NOCASE, c1 TEXT COLLATE RTRIM)"],
    ),
    feature(
        "json",
        &["CREATE TABLE probe (c0 JSON)", "SELECT * FROM probe WHERE JSON_EXTRACT(c0, '$.a') = 1"],
    ),
    feature(
        "jsonb",
        &["CREATE TABLE probe (c0 JSONB)", "SELECT * FROM probe WHERE (c0 ->> 'a') = '1'"],
    ),
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
        "deferred",
        &[
            "CREATE TABLE probe (pk INT PRIMARY KEY)",
            "CREATE TABLE child (c0 INT, FOREIGN KEY (c0) REFERENCES probe (pk) DEFERRABLE INITIALLY DEFERRED)",
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
    feature(
        "view",
        &[TABLE, "CREATE VIEW v0 AS SELECT * FROM probe WHERE c0 > 1", "SELECT * FROM v0"],
    ),
    feature(
        "view-write",
        &[
            TABLE,
            "CREATE VIEW v0 AS SELECT * FROM probe WHERE c0 > 1",
            "INSERT INTO v0 (pk, c0) VALUES (1, 2)",
            "UPDATE v0 SET c0 = 3 WHERE pk = 1",
            "DELETE FROM v0",
        ],
    ),
    feature(
        "trigger-statement",
        &[
            TABLE,
            OTHER,
            "CREATE TRIGGER g0 AFTER INSERT ON probe FOR EACH ROW UPDATE other SET c0 = c0 + 1",
        ],
    ),
    feature(
        "trigger-block",
        &[
            TABLE,
            OTHER,
            "CREATE TRIGGER g0 AFTER INSERT ON probe FOR EACH ROW BEGIN UPDATE other SET c0 = c0 + 1; END",
        ],
    ),
    feature(
        "trigger-function",
        &[
            TABLE,
            OTHER,
            "CREATE FUNCTION f0() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN UPDATE other SET c0 = c0 + 1; RETURN NULL; END $$",
            "CREATE TRIGGER g0 AFTER INSERT ON probe FOR EACH ROW EXECUTE FUNCTION f0()",
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
    feature("for-key-share", &[TABLE, "SELECT * FROM probe FOR KEY SHARE"]),
    feature("nowait", &[TABLE, "SELECT * FROM probe FOR UPDATE NOWAIT"]),
    feature("skip-locked", &[TABLE, "SELECT * FROM probe FOR UPDATE SKIP LOCKED"]),
    feature(
        "share-nowait",
        &[
            TABLE,
            "SELECT * FROM probe FOR SHARE NOWAIT",
            "SELECT * FROM probe FOR SHARE SKIP LOCKED",
        ],
    ),
    feature(
        "share-mode-nowait",
        &[
            TABLE,
            "SELECT * FROM probe LOCK IN SHARE MODE NOWAIT",
            "SELECT * FROM probe LOCK IN SHARE MODE SKIP LOCKED",
        ],
    ),
    feature("lock-of", &[TABLE, "SELECT * FROM probe FOR UPDATE OF probe"]),
    feature("force-index", &[TABLE, "SELECT * FROM probe FORCE INDEX (PRIMARY)"]),
    feature("not-indexed", &[TABLE, "SELECT * FROM probe NOT INDEXED"]),
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
    feature("merge", &[TABLE, ROW, MERGE]),
    feature(
        "update-from",
        &[TABLE, ROW, "UPDATE probe AS a SET c0 = 2 FROM probe AS b WHERE a.pk = b.pk"],
    ),
    feature(
        "delete-using",
        &[TABLE, ROW, "DELETE FROM probe AS a USING probe AS b WHERE a.pk = b.pk"],
    ),
    feature(
        "update-join",
        &[TABLE, ROW, "UPDATE probe a JOIN probe b ON a.pk = b.pk SET a.c0 = 2"],
    ),
    feature("delete-join", &[TABLE, ROW, "DELETE a FROM probe a JOIN probe b ON a.pk = b.pk"]),
    feature(
        "own-table",
        &[
            TABLE,
            ROW,
            "UPDATE probe SET c0 = (SELECT MAX(c0) FROM probe) WHERE pk IN (SELECT c0 FROM probe)",
            "DELETE FROM probe WHERE c0 = (SELECT MAX(c0) FROM probe)",
        ],
    ),
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
    feature("read-only", &["START TRANSACTION READ ONLY", "SELECT 1", "COMMIT"]),
    feature("deferrable", &["START TRANSACTION READ ONLY, DEFERRABLE", "SELECT 1", "COMMIT"]),
    feature("autocommit-off", &["SET autocommit = 0", "SELECT 1", "COMMIT", "SET autocommit = 1"]),
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
