//! A second opinion on the oracles: every serial order of the committed sessions is performed by brute force, without
//! the oracles' own reading of transactions, orders and replays.
//!
//! Only cases in which each session is one transaction that begins and ends by statements of its own, so that
//! an order of the sessions is an order of the transactions. Embedded SQLite always runs, servers are the URLs in
//! `ANCHORITE_TEST_URLS`, at serializable. Each run is judged as it was, and once more for each kind of fault that can
//! be planted in its record: what brute force cannot explain then, some oracle must call a violation.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod faults;

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_generate::Recipe;
use anchorite_hunt::Examiner;
use anchorite_judge::oracles;
use anchorite_model::{Case, Judgement, Level, Outcome, Run, StatementKind, Value, Verdict};
use anchorite_stage::{Arena, Limits, RunOptions, Runner};
use faults::Fault;

const SEED: u64 = 5;
/// So many cases are looked at; most have sessions that are no plain transactions.
const CASES: u64 = 120;
/// So many cases must have been honest, and so many faults of each kind planted, or the test is worth little.
const HONEST_MIN: u64 = 40;
const PLANTED_MIN: u64 = 10;
/// More sessions have too many orders.
const SESSIONS_MAX: usize = 4;

type Tables = Vec<(String, Vec<Vec<Value>>)>;

fn tables(run: &Run) -> Tables {
    let sorted = |rows: &[Vec<Value>]| {
        let mut rows = rows.to_vec();
        rows.sort();
        rows
    };
    run.final_state.iter().map(|(name, rows)| (name.clone(), sorted(&rows.rows))).collect()
}

/// Whether every session is BEGIN … COMMIT or ROLLBACK, without savepoints and DDL.
fn is_plain(case: &Case) -> bool {
    let kinds = |session: usize| -> Vec<StatementKind> {
        let steps = case.steps.iter().filter(|step| step.session == session);
        steps.map(|step| StatementKind::of(&step.statement.sql)).collect()
    };
    (0..case.sessions.len()).all(|session| {
        let kinds = kinds(session);
        if kinds.len() < 2 {
            return false;
        }
        let inner = &kinds[1..kinds.len() - 1];
        kinds[0] == StatementKind::Begin
            && kinds[kinds.len() - 1].ends_transaction()
            && inner
                .iter()
                .all(|kind| kind.writes() || matches!(kind, StatementKind::Select { .. }))
    })
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let rest: Vec<usize> = [&items[..at], &items[at + 1..]].concat();
        all.extend(permutations(&rest).into_iter().map(|tail| [vec![*item], tail].concat()));
    }
    all
}

/// What finally became of a statement.
fn outcome(run: &Run, n: usize) -> Option<&Outcome> {
    run.events.iter().rev().find(|event| event.n == n).map(|event| &event.outcome)
}

/// The statements of a session, numbered from 1.
fn steps_of(run: &Run, session: usize) -> impl Iterator<Item = usize> {
    (1..).zip(&run.case.steps).filter(move |(_, step)| step.session == session).map(|(n, _)| n)
}

/// Whether a session, which is one transaction, committed.
fn committed(run: &Run, session: usize) -> bool {
    let is_lost =
        |n| matches!(outcome(run, n), Some(Outcome::Error(error)) if error.transaction_gone);
    let last = steps_of(run, session).last();
    let is_committed = last.is_some_and(|n| match outcome(run, n) {
        Some(Outcome::Ok(answer) | Outcome::Resumed(answer)) => {
            let kind = StatementKind::of(&run.case.steps[n - 1].statement.sql);
            matches!(kind, StatementKind::Commit { .. })
                && answer.tag.as_deref().is_none_or(|tag| !tag.eq_ignore_ascii_case("ROLLBACK"))
        }
        _ => false,
    });
    is_committed && !steps_of(run, session).any(is_lost)
}

/// The count of each write that was answered, of those statements that are asked for.
fn counts(run: &Run, wanted: impl Iterator<Item = usize>) -> Vec<Option<u64>> {
    wanted
        .filter(|n| StatementKind::of(&run.case.steps[n - 1].statement.sql).writes())
        .map(|n| match outcome(run, n) {
            Some(Outcome::Ok(answer) | Outcome::Resumed(answer)) => answer.affected,
            _ => None,
        })
        .collect()
}

/// Whether some serial order of the sessions that committed shows what the run shows.
fn is_explained(arena: &mut Arena<'_>, run: &Run) -> bool {
    let sessions: Vec<usize> =
        (0..run.case.sessions.len()).filter(|session| committed(run, *session)).collect();
    let kept = |session: usize| {
        let is_refused = |n: &usize| matches!(outcome(run, *n), Some(Outcome::Error(_)));
        steps_of(run, session).filter(move |n| !is_refused(n))
    };
    permutations(&sessions).into_iter().any(|order| {
        let numbers: Vec<usize> = order.iter().flat_map(|session| kept(*session)).collect();
        let steps = numbers.iter().map(|n| run.case.steps[n - 1].clone()).collect();
        let case = Case { steps, ..run.case.clone() };
        let serial = arena.run(&case, run.level).expect("a serial order runs");
        tables(&serial) == tables(run)
            && counts(&serial, 1..=numbers.len()) == counts(run, numbers.iter().copied())
    })
}

/// How often brute force and the oracles agreed.
#[derive(Debug, Default)]
struct Agreed {
    honest: u64,
    faults: BTreeMap<Fault, u64>,
}

/// What the oracles say, and whether one of them says violation.
fn judged(examiner: &Examiner<'_>, arena: &mut Arena<'_>, run: Run) -> (bool, Vec<Judgement>) {
    let said = examiner.judge(arena, run.into()).expect("it can be judged").judgements;
    let is_bad = |said: &Judgement| matches!(said.verdict, Verdict::Violation { .. });
    (said.iter().any(is_bad), said)
}

fn agree(target: &dyn Target, level: Level) -> Agreed {
    let options = RunOptions { limits: Limits::hurried(), ..RunOptions::default() };
    let mut arena = Arena::new(target, options).expect("it can be used");
    let claims = Claims::for_target(target.info());
    let examiner = Examiner { claims, oracles: oracles::ALL, strict: false };
    let recipe = Recipe::new(target.info().product);
    let mut agreed = Agreed::default();
    for number in 0..CASES {
        let case = anchorite_generate::case(&recipe, SEED, number);
        if !is_plain(&case) || case.sessions.len() > SESSIONS_MAX {
            continue;
        }
        let place = format!("{}, case {number}", target.info());
        let run = arena.run(&case, Some(level)).expect("a generated case runs");
        assert!(is_explained(&mut arena, &run), "{place}: brute force says violation");
        let (is_accused, said) = judged(&examiner, &mut arena, run.clone());
        assert!(!is_accused, "{place}: {said:?}");
        agreed.honest += 1;
        for fault in Fault::ALL {
            let Some(faulty) = fault.plant(&run) else { continue };
            if is_explained(&mut arena, &faulty) {
                continue;
            }
            let (is_accused, said) = judged(&examiner, &mut arena, faulty);
            assert!(is_accused, "{place}: nobody sees {fault:?}: {said:?}\n{}", run.case);
            *agreed.faults.entry(fault).or_default() += 1;
        }
    }
    agreed
}

#[test]
fn the_oracles_agree_with_brute_force_over_all_serial_orders() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    for name in ["sqlite", "sqlite:wal"].into_iter().chain(urls.split_whitespace()) {
        let target = open(name).unwrap_or_else(|error| panic!("{error}"));
        let Some(level) = target.levels().iter().find(|level| **level == Level::Serializable)
        else {
            println!("skipped: {} promises no serial order of everything", target.info());
            continue;
        };
        let agreed = agree(target.as_ref(), *level);
        println!("{}: brute force and the oracles agree on {agreed:?}", target.info());
        assert!(agreed.honest >= HONEST_MIN, "{name}: {agreed:?}");
        for fault in Fault::ALL {
            let planted = agreed.faults.get(&fault).copied().unwrap_or(0);
            assert!(planted >= PLANTED_MIN, "{name}: {fault:?} was hardly planted: {agreed:?}");
        }
    }
}
