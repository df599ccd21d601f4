//! Reductions with interestingness tests that need no server, as snapshots: what is left, and how many
//! questions it took.

use std::convert::Infallible;

use anchorite_model::{Case, Product, StatementKind};
use anchorite_reduce::{Budget, Reduced, reduce};

/// Two tables, three sessions, savepoints, joins, subqueries, and what a generator likes.
const NOISY: &str = "\
-- level: read committed
-- targets: mariadb

/* setup */ CREATE TABLE t0 (c0 INT PRIMARY KEY, c1 VARCHAR(20) DEFAULT 'x', c2 DECIMAL(10, 2) NOT NULL,
  c3 INT AS (c0 + 1) STORED, UNIQUE KEY k (c1));
/* setup */ CREATE TABLE t1 (c0 INT, c1 BIGINT CHECK (c1 > 0), c4 DOUBLE, FOREIGN KEY (c0) REFERENCES t0 (c0));
/* setup */ CREATE INDEX i0 ON t0 (c2);
/* setup */ CREATE UNIQUE INDEX i1 ON t1 (c1, c4);
/* setup */ INSERT INTO t0 (c0, c1, c2) VALUES (17, 'abc', 3.50), (42, 'Def', -7.25), (-3, NULL, 0);
/* setup */ INSERT INTO t0 (c0, c1, c2) VALUES (99, 'ghi', 1);
/* setup */ INSERT INTO t1 VALUES (17, 5, 2.5), (42, 6, NULL);

/* w1 */ BEGIN;
/* w1 */ SELECT t0.c1, COUNT(*) FROM t0 LEFT JOIN t1 ON t0.c0 = t1.c0 WHERE t0.c2 > 1 GROUP BY t0.c1 ORDER BY 1;
/* w2 */ START TRANSACTION;
/* w1 */ UPDATE t0 SET c0 = c0 + 10, c2 = 3 WHERE c0 IN (17, 42) AND c1 <> 'zzz';
/* w3 */ BEGIN;
/* w3 */ INSERT INTO t1 VALUES (99, 7, 1.5), (42, 8, 0.5) ON DUPLICATE KEY UPDATE c4 = 9;
/* w1 */ SAVEPOINT p1;
/* w2 */ DELETE FROM t0 WHERE c2 BETWEEN 0 AND 100 OR c1 IS NULL;
/* w1 */ INSERT INTO t1 SELECT c0, c0 + 100, 1 FROM t0 WHERE c0 > 20;
/* w1 */ ROLLBACK TO SAVEPOINT p1;
/* w3 */ UPDATE t1 SET c4 = (SELECT MAX(c2) FROM t0) WHERE c1 = 5;
/* w1 */ UPDATE t0 SET c0 = 3 WHERE c0 = 27;
/* w3 */ ROLLBACK;
/* w1 */ COMMIT;
/* w2 */ SELECT * FROM t0 FOR UPDATE;
/* w2 */ COMMIT;
";

fn reduced(text: &str, product: Product, interesting: impl Fn(&Case) -> bool) -> Reduced {
    let case = Case::parse("noisy", text).expect("a case");
    assert!(interesting(&case), "the original is interesting");
    let budget = Budget { questions: 5_000, time_left: &mut || true };
    let reduced = reduce::<Infallible>(&case, product, budget, &mut |case| Ok(interesting(case)));
    let reduced = reduced.unwrap_or_else(|never| match never {});
    assert!(reduced.complete && interesting(&reduced.case));
    reduced
}

fn snapshot(reduced: &Reduced) -> String {
    format!("{} questions\n\n{}", reduced.questions, reduced.case)
}

/// Whether a step of this kind, with this text in it, is there; its position and session.
fn step(case: &Case, kind: &StatementKind, part: &str) -> Option<(usize, usize)> {
    let at = case.steps.iter().position(|step| {
        StatementKind::of(&step.statement.sql) == *kind && step.statement.sql.contains(part)
    })?;
    Some((at, case.steps[at].session))
}

/// The name of the first column of the first table, if it is the primary key.
fn key_column(case: &Case) -> Option<String> {
    let create = &case.setup.first()?.sql;
    let columns = create.split_once('(')?.1;
    let mut words = columns.split_whitespace();
    let name = words.next()?.to_owned();
    create.contains("PRIMARY KEY").then_some(name)
}

/// The shape of MDEV-27992: a DELETE of everything in one session, between two moves of the key in another.
fn moves_the_key_around_a_delete(case: &Case) -> bool {
    let Some(key) = key_column(case) else { return false };
    let set = format!("SET {key} = ");
    let moves: Vec<(usize, usize)> = (0..case.steps.len())
        .filter(|at| case.steps[*at].statement.sql.contains(&set))
        .map(|at| (at, case.steps[at].session))
        .collect();
    let rows = case.setup.iter().any(|statement| statement.sql.starts_with("INSERT"));
    let delete = step(case, &StatementKind::Delete, "");
    let commit = |session| {
        case.steps.iter().any(|step| step.session == session && step.statement.sql == "COMMIT")
    };
    match (moves.as_slice(), delete) {
        ([first, .., last], Some(delete)) => {
            rows && first.0 < delete.0
                && delete.0 < last.0
                && first.1 == last.1
                && first.1 != delete.1
                && commit(first.1)
        }
        _ => false,
    }
}

#[test]
fn a_moved_key_and_a_delete_are_left() {
    let reduced = reduced(NOISY, Product::named("mariadb"), moves_the_key_around_a_delete);
    insta::assert_snapshot!(snapshot(&reduced));
    assert!(reduced.case.setup.len() + reduced.case.steps.len() <= 8);
}

#[test]
fn a_savepoint_stays_with_its_roll_back() {
    let interesting = |case: &Case| {
        let at = |part: &str| {
            case.steps.iter().position(|step| step.statement.sql.to_lowercase().contains(part))
        };
        match (at("savepoint"), at("rollback to")) {
            (Some(set), Some(back)) if set < back => {
                case.steps[set + 1..back].iter().any(|step| step.statement.sql.contains("INSERT"))
            }
            _ => false,
        }
    };
    insta::assert_snapshot!(snapshot(&reduced(NOISY, Product::named("mariadb"), interesting)));
}

#[test]
fn a_literal_is_small_where_it_stands_twice() {
    let interesting = |case: &Case| {
        let rows = case.setup.iter().filter(|statement| statement.sql.contains("VALUES"));
        let rows: String = rows.map(|statement| statement.sql.as_str()).collect();
        let updates = case.steps.iter().map(|step| &step.statement.sql);
        let mut updates = updates.filter(|sql| sql.starts_with("UPDATE") && sql.contains("WHERE"));
        updates.any(|sql| {
            let value = sql.rsplit_once("= ").map_or("", |(_, value)| value);
            value.parse::<u32>().is_ok_and(|n| n > 0) && rows.contains(&format!(" {value},"))
        })
    };
    insta::assert_snapshot!(snapshot(&reduced(NOISY, Product::named("mariadb"), interesting)));
}

#[test]
fn what_the_parser_does_not_know_is_reduced_by_tokens() {
    let text = "\
/* setup */ CREATE TABLE t (a INT, b INT) PARTITION BY HASH (a) PARTITIONS 4;
/* s */ SELECT a, b FROM t WHERE a = 1 AND b = 2 LOCK IN SHARE MODE;
/* s */ SELECT a, b FROM t WHERE a = 1 AND b = 2 ORDER BY a;
";
    let interesting = |case: &Case| case.steps.iter().any(|s| s.statement.sql.contains("LOCK IN"));
    insta::assert_snapshot!(snapshot(&reduced(text, Product::named("mysql"), interesting)));
}

#[test]
fn postgres_and_sqlite_are_read_in_their_own_way() {
    let text = "\
/* setup */ CREATE TABLE accounts (id INT PRIMARY KEY, \"Owner\" TEXT COLLATE \"C\", balance NUMERIC(10, 2) DEFAULT 0);
/* setup */ CREATE INDEX by_owner ON accounts (\"Owner\") WHERE balance > 0;
/* setup */ INSERT INTO accounts VALUES (10, 'ann', 1.5), (20, 'bob', 2);
/* alice */ BEGIN;
/* alice */ UPDATE accounts SET balance = balance + 1 FROM accounts b
  WHERE accounts.id = b.id AND b.id < 15 RETURNING *;
/* bob */ INSERT INTO accounts VALUES (10, 'eve', 3) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance;
/* alice */ COMMIT;
";
    let interesting = |case: &Case| {
        let update = step(case, &StatementKind::Update, "WHERE");
        let insert = step(case, &StatementKind::Insert, "ON CONFLICT");
        matches!((update, insert), (Some(update), Some(insert)) if update.1 != insert.1)
    };
    for product in [Product::named("postgres"), Product::named("sqlite")] {
        insta::assert_snapshot!(product.name(), snapshot(&reduced(text, product, interesting)));
    }
}
