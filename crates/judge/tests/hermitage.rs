//! The probe on real targets gives the rows that Hermitage publishes, and breaks no promise of a vendor.
//!
//! The table is <https://github.com/ept/hermitage>, for MariaDB that of MySQL (same engine), for SQLite a
//! serializable row. Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use anchorite_claims::{Anomaly, Claims, Promise, Version};
use anchorite_judge::{Observation, observe, probe, probe_cases};
use anchorite_model::{Case, Level, Product, TargetInfo};
use anchorite_stage::{RunOptions, run_case};
use anchorite_target::{Target, open};

/// Product, level, and for each anomaly in the order of the table: `+` prevented, `-` possible. Where
/// Hermitage says R/O (prevented unless the transaction writes), the main case, which only reads, is `+`.
const PUBLISHED: [(Product, Level, &str); 18] = [
    (Product::Sqlite, Level::Serializable, "++++++++++"),
    (Product::Postgres, Level::ReadUncommitted, "+++++-----"),
    (Product::Postgres, Level::ReadCommitted, "+++++-----"),
    (Product::Postgres, Level::RepeatableRead, "++++++++--"),
    (Product::Postgres, Level::Serializable, "++++++++++"),
    (Product::Mysql, Level::ReadUncommitted, "+---------"),
    (Product::Mysql, Level::ReadCommitted, "+++++-----"),
    (Product::Mysql, Level::RepeatableRead, "++++++-+--"),
    (Product::Mysql, Level::Serializable, "++++++++++"),
    (Product::Mariadb, Level::ReadUncommitted, "+---------"),
    (Product::Mariadb, Level::ReadCommitted, "+++++-----"),
    (Product::Mariadb, Level::RepeatableRead, "++++++-+--"),
    (Product::Mariadb, Level::Snapshot, "++++++++--"),
    (Product::Mariadb, Level::Serializable, "++++++++++"),
    (Product::Tidb, Level::ReadCommitted, "+++++-----"),
    (Product::Tidb, Level::RepeatableRead, "++++++-+--"),
    (Product::Cockroach, Level::ReadCommitted, "+++++-----"),
    (Product::Cockroach, Level::Serializable, "++++++++++"),
];

/// From this version on MariaDB's repeatable read is snapshot isolation, newer than the published row.
const MARIADB_SNAPSHOT_ISOLATION: &str = "11.6.2";

fn published(target: &TargetInfo, level: Level) -> Option<&'static str> {
    let since = MARIADB_SNAPSHOT_ISOLATION.parse().expect("a version");
    let is_snapshot = target.product == Product::Mariadb && Version::of(target) >= since;
    let level = if is_snapshot && level == Level::RepeatableRead { Level::Snapshot } else { level };
    let row = PUBLISHED.iter().find(|row| (row.0, row.1) == (target.product, level));
    row.map(|(_, _, marks)| *marks)
}

fn targets() -> Vec<Box<dyn Target>> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    ["sqlite", "sqlite:wal", "sqlite:shared-cache"]
        .into_iter()
        .chain(urls.split_whitespace())
        .map(|target| open(target).unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

fn observed(target: &dyn Target, level: Level, case: &Case) -> Observation {
    let options = RunOptions { level: Some(level), ..RunOptions::default() };
    let run = run_case(target, case, &options).unwrap_or_else(|error| panic!("{error}"));
    observe(case, &run).unwrap_or_else(|error| panic!("{} at {level}: {error}", target.info()))
}

/// What is wrong with the probe's table of one target at one level, one sentence each.
fn complaints(target: &dyn Target, level: Level) -> Vec<String> {
    let info = target.info();
    let place = format!("{info} at {level}");
    let mut row = String::new();
    let mut complaints = Vec::new();
    for case in probe_cases() {
        let seen = observed(target, level, &case);
        let claims = Claims::for_product(info.product);
        let claimed = claims.about(info, level, seen.anomaly, &case.name).promise;
        if seen.possible && claimed == Promise::Prevented {
            complaints.push(format!("{place}: {} is claimed to be prevented", case.name));
        }
        if probe::is_main(&case) {
            row.push(if seen.possible { '-' } else { '+' });
        }
    }
    assert_eq!(row.len(), Anomaly::ALL.len());
    let expected = published(info, level);
    println!("{place}: {row}{}", if expected.is_none() { ", no published row" } else { "" });
    if expected.is_some_and(|expected| expected != row) {
        complaints.push(format!("{place}: {row}, published {}", expected.unwrap_or_default()));
    }
    complaints
}

#[test]
fn the_probe_gives_the_published_rows_and_breaks_no_promise() {
    let mut wrong = Vec::new();
    for target in targets() {
        for level in target.levels() {
            wrong.extend(complaints(target.as_ref(), *level));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
