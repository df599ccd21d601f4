//! Planted mistakes, without a database: what the judge says about records that no honest server can cause.

use anchorite_check::model::Outcome;
use anchorite_model::{Level, Product, TargetInfo};
use anchorite_stress::judge::{Judge, Recipe};
use anchorite_stress::promise::Promises;
use anchorite_stress::record::{Record, Seen, Way};
use anchorite_stress::text::Tongue;
use anchorite_stress::token::token;
use anchorite_stress::{Counts, Standing, Workload};

/// A row that nobody deletes.
fn row() -> u64 {
    Workload::Register.initial()[0].0
}

fn judge(product: &str, level: Level) -> Judge {
    let product = Product::named(product);
    let info = TargetInfo { product, version: "15.1".to_owned(), variant: String::new() };
    let promises = Promises::new(&info, Some(level), level.name());
    let workloads = vec![Workload::Register];
    Judge::new(promises, Recipe { workloads, seed: 1, tongue: Tongue::of(product) })
}

fn record(number: u64, outcome: Outcome, seen: &[Seen]) -> Record {
    let (seen, blunders) = (seen.to_vec(), Vec::new());
    Record { number, session: 0, outcome, error: None, seen, blunders, micros: 0 }
}

fn read(row: u64, token: u64) -> Seen {
    Seen { row, way: Way::Plain, token, wrote: 0, n: 0 }
}

fn write(row: u64, replaced: u64, wrote: u64) -> Seen {
    Seen { row, way: Way::Replaced, token: replaced, wrote, n: 1 }
}

/// One after the other, each as it ended; then the final state.
fn serial(mut judge: Judge, records: &[Record], last: &[Seen]) -> Counts {
    let mut time = 0;
    for record in records {
        judge.begin(record.number, time + 1);
        judge.end(record, time + 2);
        time += 2;
    }
    let number = records.len() as u64 + 1;
    judge.finish(&record(number, Outcome::Committed, last), (time + 1, time + 2))
}

fn names(counts: &Counts) -> Vec<(Standing, &'static str)> {
    counts.anomalies.keys().copied().collect()
}

#[test]
fn a_committed_write_that_is_gone_in_the_end_is_lost() {
    let first = record(1, Outcome::Committed, &[write(row(), 0, token(1, 0))]);
    let kept = serial(
        judge("postgres", Level::ReadCommitted),
        std::slice::from_ref(&first),
        &[read(row(), token(1, 0))],
    );
    assert_eq!(names(&kept), []);
    let lost = serial(judge("postgres", Level::ReadCommitted), &[first], &[read(row(), 0)]);
    let violation = Standing::Violation;
    assert_eq!(names(&lost), [(violation, "lost-commit"), (violation, "stale-read")]);
}

#[test]
fn half_of_a_commit_is_a_lost_commit_even_if_its_outcome_was_unknown() {
    let other = row() + 1;
    let both = [write(row(), 0, token(1, 0)), write(other, 0, token(1, 1))];
    let unknown = record(1, Outcome::Unknown, &both);
    let torn = [read(row(), token(1, 0)), read(other, 0)];
    let counts =
        serial(judge("postgres", Level::ReadCommitted), std::slice::from_ref(&unknown), &torn);
    assert!(names(&counts).contains(&(Standing::Violation, "lost-commit")), "{counts:?}");
    let none = [read(row(), 0), read(other, 0)];
    let counts = serial(judge("postgres", Level::ReadCommitted), &[unknown], &none);
    assert_eq!(names(&counts), []);
}

#[test]
fn what_an_aborted_transaction_wrote_must_not_be_there() {
    let aborted = record(1, Outcome::Aborted, &[write(row(), 0, token(1, 0))]);
    let back =
        serial(judge("postgres", Level::ReadCommitted), &[aborted], &[read(row(), token(1, 0))]);
    assert_eq!(names(&back)[0], (Standing::Violation, "G1a"));
}

#[test]
fn a_stale_read_is_what_the_page_about_reads_forbids() {
    let records = [
        record(1, Outcome::Committed, &[write(row(), 0, token(1, 0))]),
        record(2, Outcome::Committed, &[read(row(), 0)]),
    ];
    let end = [read(row(), token(1, 0))];
    for (product, level, expected) in [
        ("postgres", Level::RepeatableRead, Standing::Violation),
        ("mysql", Level::ReadCommitted, Standing::Violation),
        ("mysql", Level::ReadUncommitted, Standing::Undecided),
    ] {
        let counts = serial(judge(product, level), &records, &end);
        assert_eq!(names(&counts), [(expected, "stale-read")], "{product} at {level}");
        assert_eq!((counts.pass, counts.committed), (1, 2));
    }
}

#[test]
fn one_version_is_replaced_once() {
    let records = [
        record(1, Outcome::Committed, &[write(row(), 0, token(1, 0))]),
        record(2, Outcome::Committed, &[write(row(), 0, token(2, 0))]),
    ];
    let counts =
        serial(judge("mysql", Level::ReadCommitted), &records, &[read(row(), token(2, 0))]);
    assert!(names(&counts).contains(&(Standing::Violation, "incompatible-order")), "{counts:?}");
}

#[test]
fn a_read_that_was_right_when_it_was_made_is_not_stale() {
    let other = row() + 1;
    let last = [read(row(), token(2, 0)), read(other, token(1, 1))];
    for (level, expected) in [
        (Level::ReadCommitted, (Standing::Allowed, "G-single")),
        (Level::RepeatableRead, (Standing::Undecided, "G-single")),
    ] {
        let mut judge = judge("postgres", level);
        // T1 reads one row, T2 replaces it, T3 writes another one afterwards, and T1 replaces that.
        judge.begin(1, 1);
        judge.begin(2, 2);
        judge.end(&record(2, Outcome::Committed, &[write(row(), 0, token(2, 0))]), 3);
        judge.begin(3, 4);
        judge.end(&record(3, Outcome::Committed, &[write(other, 0, token(3, 0))]), 5);
        let seen = [read(row(), 0), write(other, token(3, 0), token(1, 1))];
        judge.end(&record(1, Outcome::Committed, &seen), 6);
        let counts = judge.finish(&record(4, Outcome::Committed, &last), (7, 8));
        assert_eq!(names(&counts), [expected], "{level}");
    }
}
