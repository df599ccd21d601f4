//! Whether an input is a serial execution in its own order, against an interpreter that runs it.

use anchorite_check::input;
use anchorite_check::resolve::resolve;
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Write;

/// A step of a transaction: append (or write) to a key, or read it. Reads and whole transactions may go wrong.
#[derive(Clone, Debug)]
struct Step {
    key: u8,
    write: bool,
    /// How many of the last versions a read misses.
    misses: usize,
}

#[derive(Clone, Debug)]
struct Transaction {
    steps: Vec<Step>,
    aborted: bool,
}

/// Mostly nothing is missed.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let misses = prop_oneof![12 => Just(0_usize), 1 => 1_usize..3];
    let step = (0_u8..3, any::<bool>(), misses);
    prop::collection::vec(step.prop_map(|(key, write, misses)| Step { key, write, misses }), 1..4)
}

fn transactions() -> impl Strategy<Value = Vec<Transaction>> {
    let aborted = prop_oneof![8 => Just(false), 1 => Just(true)];
    let txn = (steps(), aborted).prop_map(|(steps, aborted)| Transaction { steps, aborted });
    prop::collection::vec(txn, 1..8)
}

/// Runs the transactions and writes what they read; whether every read of a committed one was right.
fn run(transactions: &[Transaction], lists: bool) -> (String, bool) {
    let mut committed: HashMap<u8, Vec<u32>> = HashMap::new();
    let mut next = 0;
    let mut text = String::new();
    let mut serial = true;
    for (index, txn) in transactions.iter().enumerate() {
        let mut state = committed.clone();
        let mut steps = Vec::new();
        for step in &txn.steps {
            let versions = state.entry(step.key).or_default();
            if step.write {
                next += 1;
                versions.push(next);
                let name = if lists { "append" } else { "w" };
                steps.push(format!("[:{name} {} {next}]", step.key));
                continue;
            }
            let seen = &versions[..versions.len().saturating_sub(step.misses)];
            serial &= txn.aborted || seen.len() == versions.len();
            let value = if lists { format!("{seen:?}") } else { last(seen) };
            steps.push(format!("[:r {} {value}]", step.key));
        }
        let outcome = if txn.aborted { "fail" } else { "ok" };
        if !txn.aborted {
            committed = state;
        }
        let steps = steps.join(" ");
        let process = index % 3;
        let _ = writeln!(
            text,
            "{{:process {process}, :type :{outcome}, :f :txn, :value [{steps}], :index {index}}}"
        );
    }
    (text, serial)
}

fn last(versions: &[u32]) -> String {
    versions.last().map_or_else(|| "nil".to_owned(), u32::to_string)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_serial_input_is_told_from_another(txns in transactions(), lists in any::<bool>()) {
        let (text, serial) = run(&txns, lists);
        let (_, history) = input::read(text.as_bytes(), Some("elle")).unwrap();
        let found = resolve(&history, 1).is_serial_as_given();
        // What an aborted transaction read may make the order of appends unclear.
        let clear = txns.iter().all(|txn| !txn.aborted);
        prop_assert!(found == serial || !found && !clear, "{found}\n{text}");
    }
}
