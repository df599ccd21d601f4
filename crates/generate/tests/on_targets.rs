//! Generated cases are right: their set-up never fails, hardly any statement is refused for its text, and most cases
//! commit writes. On SQLite always, on the servers of `ANCHORITE_TEST_URLS` if there are any.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod support;

use anchorite_drivers::{Target, open};
use support::Tally;

/// Statements that may fail for a reason that is none of ours (DDL beside open transactions).
const OTHER_SHARE_MAX: f64 = 0.03;

fn check(target: &dyn Target, tally: &Tally) {
    println!("{}: {tally}", target.info());
    assert!(tally.other_share() < OTHER_SHARE_MAX, "{}: {tally}", target.info());
    assert!(tally.committed_one * 10 > tally.cases * 8, "{}: {tally}", target.info());
}

#[test]
fn cases_run_on_sqlite() {
    for name in ["sqlite", "sqlite:wal", "sqlite:shared-cache"] {
        let target = open(name).expect("SQLite is built in");
        check(target.as_ref(), &Tally::of(target.as_ref(), None, 1, 0..1000));
    }
}

#[test]
fn cases_run_on_servers() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server");
    }
    let count = std::env::var("ANCHORITE_TEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100);
    for url in urls.split_whitespace() {
        let target = open(url).unwrap_or_else(|error| panic!("ANCHORITE_TEST_URLS: {error}"));
        for level in target.levels() {
            println!("{level}");
            let first = 1000 * *level as u64;
            check(
                target.as_ref(),
                &Tally::of(target.as_ref(), Some(*level), 1, first..first + count),
            );
        }
    }
}
