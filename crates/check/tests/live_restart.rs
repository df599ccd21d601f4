//! The judge of running histories after a loss, where it begins anew from the rows that are there, and where answers
//! arrive in another order than that of the commits.

use anchorite_check::live::{Live, Options, Read, Transaction, Version, Write};
use anchorite_check::model::Outcome;

#[test]
fn after_a_restart_only_what_is_there_counts() {
    let mut live = Live::new(Options { real_time: true, session: false, keep: 0 });
    let version = |txn| Version { txn, write: 0 };
    let end = |number, outcome, ended, reads: &[(u64, u64)], writes: &[(u64, u64)]| Transaction {
        number,
        session: 0,
        ended,
        outcome,
        reads: reads.iter().map(|(row, txn)| Read { row: *row, version: version(*txn) }).collect(),
        writes: writes
            .iter()
            .map(|(row, txn)| Write { row: *row, write: 0, replaced: version(*txn) })
            .collect(),
    };
    let (committed, aborted) = (Outcome::Committed, Outcome::Aborted);
    for (number, outcome, replaced) in [(1, committed, 0), (2, committed, 1), (3, aborted, 2)] {
        live.begin(number, number * 2);
        let found = live.end(end(number, outcome, number * 2 + 1, &[], &[(7, replaced)]));
        assert_eq!(found, []);
    }
    // T2 is lost: the row is as T1 left it.
    live.restart([(7, version(1))].into_iter());
    assert!(live.has_committed(2) && live.has_aborted(3));
    live.begin(4, 10);
    assert_eq!(live.end(end(4, committed, 11, &[(7, 1)], &[(7, 1)])), []);
    assert_eq!(live.newest(7), version(4));
    for (number, read, name) in [(5, 3, "G1a"), (6, 2, "G-single-item-realtime")] {
        live.begin(number, number * 4);
        let found = live.end(end(number, committed, number * 4 + 1, &[(7, read)], &[]));
        assert_eq!(found.iter().map(|one| one.name).collect::<Vec<_>>(), [name]);
    }
}

#[test]
fn answers_may_arrive_in_any_order() {
    // T1 to T3 replaced one row in this order, the middle one twice; their answers arrive in each order.
    let version = |txn, write| Version { txn, write };
    let wrote = |number: u64| -> Vec<Write> {
        let write = |write, replaced| Write { row: 7, write, replaced };
        match number {
            1 => vec![write(0, version(0, 0))],
            2 => vec![write(0, version(1, 0)), write(1, version(2, 0))],
            3 => vec![write(0, version(2, 1))],
            _ => vec![write(0, version(3, 0))],
        }
    };
    let end = |number, ended| Transaction {
        number,
        session: 0,
        ended,
        outcome: Outcome::Committed,
        reads: Vec::new(),
        writes: wrote(number),
    };
    for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
        let mut live = Live::new(Options { real_time: true, session: false, keep: 0 });
        (1..=3).for_each(|number| live.begin(number, number));
        for (number, at) in order.into_iter().zip(4..) {
            assert_eq!(live.end(end(number, at)), [], "{order:?}");
        }
        assert_eq!(live.sweep(), [], "{order:?}");
        assert_eq!(live.newest(7), version(3, 0), "{order:?}");
        live.begin(4, 10);
        assert_eq!(live.end(end(4, 11)), [], "{order:?}");
    }
}
