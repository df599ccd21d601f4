//! The ledger on planted losses: what is lost, torn or back, and which outcomes are settled.

use anchorite_check::model::Outcome;
use anchorite_stress::ledger::{Account, Damage, Ledger, Wrong};
use anchorite_stress::plan::{Change, End, Op, Plan};
use anchorite_stress::record::{Record, Seen, Way};
use anchorite_stress::token::token;

const A: u64 = 1;
const B: u64 = 2;

fn record(number: u64, outcome: Outcome, seen: Vec<Seen>) -> Record {
    let blunders = Vec::new();
    Record { number, session: 0, outcome, error: None, seen, blunders, micros: 0 }
}

/// Statement `place` of a transaction replaced a version.
fn wrote(row: u64, replaced: u64, txn: u64, place: usize, n: u64) -> Seen {
    Seen { row, way: Way::Replaced, token: replaced, wrote: token(txn, place), n }
}

fn plan(ops: &[Op]) -> Plan {
    Plan { ops: ops.to_vec(), end: End::Commit, at_once: false }
}

const WRITES: [Op; 2] = [Op::Write(A, Change::Set(1)), Op::Write(B, Change::Set(1))];

/// All rows: key, token, number of writes.
fn found(rows: &[(u64, u64, u64)]) -> Record {
    let seen = |(row, token, n): &(u64, u64, u64)| Seen {
        row: *row,
        way: Way::Plain,
        token: *token,
        wrote: 0,
        n: *n,
    };
    record(u64::MAX, Outcome::Committed, rows.iter().map(seen).collect())
}

/// Two rows that are as they were at first.
fn ledger() -> Ledger {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.settle(&found(&[(A, 0, 0), (B, 0, 0)]), |_| false), Account::default());
    ledger
}

/// T1 replaces both rows.
fn both(outcome: Outcome) -> Record {
    record(1, outcome, vec![wrote(A, 0, 1, 0, 1), wrote(B, 0, 1, 1, 1)])
}

fn damage(wrong: Wrong, gone: &[u64], kept: &[u64]) -> Vec<Damage> {
    vec![Damage { txn: 1, wrong, gone: gone.to_vec(), kept: kept.to_vec() }]
}

#[test]
fn an_answered_commit_must_be_there_as_a_whole() {
    let (a, b) = (token(1, 0), token(1, 1));
    for (rows, expected) in [
        ([(A, a, 1), (B, b, 1)], Vec::new()),
        ([(A, 0, 0), (B, 0, 0)], damage(Wrong::Lost, &[A, B], &[])),
        ([(A, a, 1), (B, 0, 0)], damage(Wrong::Torn, &[B], &[A])),
    ] {
        let mut ledger = ledger();
        ledger.note(&both(Outcome::Committed), &plan(&WRITES));
        assert_eq!(ledger.settle(&found(&rows), |_| false).damages, expected, "{rows:?}");
        // What was found holds from now on.
        assert_eq!(ledger.settle(&found(&rows), |_| false), Account::default());
    }
}

#[test]
fn an_unknown_outcome_is_settled_by_what_is_there() {
    let (a, b) = (token(1, 0), token(1, 1));
    for (rows, resolved, damages) in [
        ([(A, a, 1), (B, b, 1)], vec![(1, true)], Vec::new()),
        ([(A, 0, 0), (B, 0, 0)], vec![(1, false)], Vec::new()),
        ([(A, 0, 0), (B, b, 1)], Vec::new(), damage(Wrong::Torn, &[A], &[B])),
    ] {
        let mut ledger = ledger();
        ledger.note(&both(Outcome::Unknown), &plan(&WRITES));
        let account = ledger.settle(&found(&rows), |_| false);
        assert_eq!((account.resolved, account.damages), (resolved, damages), "{rows:?}");
    }
}

#[test]
fn what_was_replaced_is_there_and_what_was_never_replaced_is_not() {
    // T2 replaced what T1 wrote to A, or what was there before it.
    for (replaced, n, is_there) in [(token(1, 0), 2, true), (0, 1, false)] {
        let mut ledger = ledger();
        let unknown = record(1, Outcome::Unknown, vec![wrote(A, 0, 1, 0, 1)]);
        ledger.note(&unknown, &plan(&WRITES));
        let second = record(2, Outcome::Committed, vec![wrote(A, replaced, 2, 0, n)]);
        ledger.note(&second, &plan(&WRITES));
        let account = ledger.settle(&found(&[(A, token(2, 0), n), (B, 0, 0)]), |_| false);
        assert_eq!(account.resolved, [(1, is_there)]);
        assert_eq!(account.damages, []);
    }
}

#[test]
fn what_was_there_before_must_stay() {
    let mut ledger = ledger();
    ledger.note(&both(Outcome::Committed), &plan(&WRITES));
    let whole = found(&[(A, token(1, 0), 1), (B, token(1, 1), 1)]);
    assert_eq!(ledger.settle(&whole, |_| false), Account::default());
    let back = found(&[(A, 0, 0), (B, token(1, 1), 1)]);
    assert_eq!(ledger.settle(&back, |_| false).damages, damage(Wrong::Lost, &[A], &[]));
}

#[test]
fn what_did_not_commit_must_not_be_there() {
    let mut ledger = ledger();
    ledger.note(&both(Outcome::Aborted), &plan(&WRITES));
    let rows = found(&[(A, token(1, 0), 1), (B, 0, 0)]);
    let account = ledger.settle(&rows, |txn| txn == 1);
    assert_eq!(account.damages, damage(Wrong::Back, &[], &[A]));
}

#[test]
fn a_row_that_was_deleted_is_gone_for_good() {
    for (outcome, rows, damages, resolved) in [
        (Outcome::Committed, vec![(B, 0, 0)], Vec::new(), vec![]),
        (Outcome::Committed, vec![(A, 0, 0), (B, 0, 0)], damage(Wrong::Lost, &[A], &[]), vec![]),
        (Outcome::Unknown, vec![(B, 0, 0)], Vec::new(), vec![(1, true)]),
        (Outcome::Unknown, vec![(A, 0, 0), (B, 0, 0)], Vec::new(), vec![(1, false)]),
    ] {
        let mut ledger = ledger();
        let deletes = record(1, outcome, vec![wrote(A, 0, 1, 0, 1)]);
        ledger.note(&deletes, &plan(&[Op::Delete(A)]));
        let account = ledger.settle(&found(&rows), |_| false);
        assert_eq!((account.damages, account.resolved), (damages, resolved), "{rows:?}");
    }
}

#[test]
fn what_wrote_nothing_is_settled_too() {
    let mut ledger = ledger();
    ledger.note(&record(1, Outcome::Unknown, Vec::new()), &plan(&[]));
    let account = ledger.settle(&found(&[(A, 0, 0), (B, 0, 0)]), |_| false);
    assert_eq!(account.resolved, [(1, false)]);
}
