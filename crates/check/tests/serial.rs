//! Serial executions against an interpreter that runs them: in the order of the input, and in any order that follows
//! the sessions.

use anchorite_check::analysis::Analysis;
use anchorite_check::input;
use anchorite_check::levels::{self, LevelVerdict};
use anchorite_check::model::History;
use anchorite_check::polygraph::Limits;
use anchorite_check::resolve::resolve;
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Write;

const SESSIONS: usize = 3;

/// A step of a transaction: writes a new version of a key, or reads it.
#[derive(Clone, Debug)]
struct Step {
    key: u8,
    write: bool,
    damage: Damage,
}

/// What is wrong with what a read saw.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Nothing,
    /// So many of the last versions are missing.
    MissesLast(usize),
    /// The last version takes the place of the one before.
    SeesLastTwice,
    /// The last two versions changed places.
    Swaps,
    /// The next version takes the place of the last one.
    SeesFuture,
}

fn damaged(versions: &[u32], next: u32, damage: Damage) -> Vec<u32> {
    let mut seen = versions.to_vec();
    match (damage, seen.as_mut_slice()) {
        (Damage::MissesLast(count), _) => seen.truncate(versions.len().saturating_sub(count)),
        (Damage::SeesLastTwice, [.., before, last]) => *before = *last,
        (Damage::Swaps, [.., before, last]) => std::mem::swap(before, last),
        (Damage::SeesFuture, [.., last]) => *last = next,
        _ => {}
    }
    seen
}

#[derive(Clone, Debug)]
struct Plan {
    steps: Vec<Step>,
    aborted: bool,
}

/// What was recorded of a transaction: a key with the version written, or with all versions seen.
#[derive(Clone, Debug)]
struct Recorded {
    session: usize,
    aborted: bool,
    steps: Vec<(u8, Result<u32, Vec<u32>>)>,
}

type Store = HashMap<u8, Vec<u32>>;

/// Mostly nothing is damaged and nothing aborted.
fn plans(most: usize, aborts: bool) -> impl Strategy<Value = Vec<Plan>> {
    let damage = prop_oneof![
        12 => Just(Damage::Nothing),
        1 => (1_usize..3).prop_map(Damage::MissesLast),
        1 => Just(Damage::SeesLastTwice),
        1 => Just(Damage::Swaps),
        1 => Just(Damage::SeesFuture),
    ];
    let step = (0_u8..3, any::<bool>(), damage);
    let step = step.prop_map(|(key, write, damage)| Step { key, write, damage });
    let aborted = prop_oneof![8 => Just(false), 1 => Just(aborts)];
    let plan = (prop::collection::vec(step, 1..4), aborted);
    let plan = plan.prop_map(|(steps, aborted)| Plan { steps, aborted });
    prop::collection::vec(plan, 1..most)
}

/// Performs the plans one after the other.
fn record(plans: &[Plan]) -> Vec<Recorded> {
    let mut committed = Store::new();
    let mut next = 0;
    let mut all = Vec::new();
    for (at, plan) in plans.iter().enumerate() {
        let mut state = committed.clone();
        let mut steps = Vec::new();
        for step in &plan.steps {
            let versions = state.entry(step.key).or_default();
            if step.write {
                next += 1;
                versions.push(next);
                steps.push((step.key, Ok(next)));
            } else {
                steps.push((step.key, Err(damaged(versions, next + 1, step.damage))));
            }
        }
        if !plan.aborted {
            committed = state;
        }
        all.push(Recorded { session: at % SESSIONS, aborted: plan.aborted, steps });
    }
    all
}

/// Runs a recorded transaction; whether it sees what it saw. Of registers only the last version is seen.
fn fits(txn: &Recorded, lists: bool, store: &mut Store) -> bool {
    txn.steps.iter().all(|(key, what)| {
        let versions = store.entry(*key).or_default();
        match what {
            Ok(new) => {
                versions.push(*new);
                true
            }
            Err(seen) if lists => seen == versions,
            Err(seen) => seen.last() == versions.last(),
        }
    })
}

/// Whether the transactions that committed can run in some order that follows the sessions.
fn some_order_fits(left: &[Vec<&Recorded>], lists: bool, store: &Store) -> bool {
    left.iter().all(Vec::is_empty)
        || (0..left.len()).any(|session| {
            let mut rest = left.to_vec();
            let mut store = store.clone();
            !rest[session].is_empty()
                && fits(rest[session].remove(0), lists, &mut store)
                && some_order_fits(&rest, lists, &store)
        })
}

fn read(txns: &[&Recorded], lists: bool) -> History {
    let mut text = String::new();
    for (index, Recorded { session, aborted, steps }) in txns.iter().enumerate() {
        let write = if lists { "append" } else { "w" };
        let steps: Vec<String> = steps
            .iter()
            .map(|(key, what)| match what {
                Ok(new) => format!("[:{write} {key} {new}]"),
                Err(seen) if lists => format!("[:r {key} {seen:?}]"),
                Err(seen) => format!("[:r {key} {}]", last(seen)),
            })
            .collect();
        let (outcome, steps) = (if *aborted { "fail" } else { "ok" }, steps.join(" "));
        let rest = format!(":f :txn, :value [{steps}], :index {index}");
        let _ = writeln!(text, "{{:process {session}, :type :{outcome}, {rest}}}");
    }
    input::read(text.as_bytes(), Some("elle")).unwrap().1
}

fn last(versions: &[u32]) -> String {
    versions.last().map_or_else(|| "nil".to_owned(), u32::to_string)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4_000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_serial_input_is_told_from_another(plans in plans(8, true), lists in any::<bool>()) {
        let txns = record(&plans);
        let mut store = Store::new();
        let serial = txns.iter().filter(|txn| !txn.aborted).all(|txn| fits(txn, lists, &mut store));
        let history = read(&txns.iter().collect::<Vec<_>>(), lists);
        let found = resolve(&history, 1).is_serial_as_given();
        // What an aborted transaction read may make the order of appends unclear.
        let clear = txns.iter().all(|txn| !txn.aborted);
        prop_assert!(found == serial || !found && !clear, "{found} {txns:?}");
    }

    #[test]
    fn sessions_one_after_the_other(plans in plans(7, false), lists in any::<bool>()) {
        let txns = record(&plans);
        let of = |session| txns.iter().filter(move |txn| txn.session == session);
        let sessions: Vec<Vec<&Recorded>> = (0..SESSIONS).map(|at| of(at).collect()).collect();
        let expected = some_order_fits(&sessions, lists, &Store::new());
        let history = read(&sessions.concat(), lists);
        let analysis = Analysis::new(&history, None, Limits::default());
        let found = levels::adya(&analysis, "strong-session-serializable");
        prop_assert_eq!(found, LevelVerdict::of(expected), "{:?}", txns);
    }
}
