//! A second opinion on the final-state oracle: every serial order of the committed sessions is performed by
//! brute force, without the oracle's own reading of transactions, orders and replays.
//!
//! Only cases in which each session is one transaction that begins and ends by statements of its own, so that
//! an order of the sessions is an order of the transactions. SQLite in process, honest and with a fault
//! planted in the run (the final state of some other schedule), so that both verdicts are seen.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::collections::BTreeSet;

use anchorite_claims::Claims;
use anchorite_drivers::open;
use anchorite_generate::Recipe;
use anchorite_hunt::Examiner;
use anchorite_judge::evidence::ends::{End, ends};
use anchorite_judge::oracles;
use anchorite_model::{Case, Outcome, Product, Run, StatementKind, Value, Verdict};
use anchorite_stage::{Arena, RunOptions, Runner};

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

/// The final states of all serial orders of the sessions that committed.
fn serial_states(arena: &mut Arena<'_>, run: &Run) -> BTreeSet<Tables> {
    let committed: Vec<usize> =
        (0..run.sessions.len()).filter(|session| ends(run, *session) == [End::Committed]).collect();
    let refused = |n: usize| {
        let last = run.events.iter().rev().find(|event| event.n == n);
        last.is_some_and(|event| matches!(event.outcome, Outcome::Error(_)))
    };
    permutations(&committed)
        .into_iter()
        .map(|order| {
            let steps = order.iter().flat_map(|session| {
                let all = run.case.steps.iter().enumerate();
                all.filter(|(at, step)| step.session == *session && !refused(at + 1))
                    .map(|(_, step)| step.clone())
            });
            let case = Case { steps: steps.collect(), ..run.case.clone() };
            tables(&arena.run(&case, run.level).expect("a serial order runs"))
        })
        .collect()
}

#[test]
fn the_oracle_agrees_with_brute_force_over_all_serial_orders() {
    let target = open("sqlite").expect("SQLite is always there");
    let mut arena = Arena::new(target.as_ref(), RunOptions::default()).expect("it can be used");
    let claims = Claims::for_product(Product::named("sqlite"));
    let examiner = Examiner { claims, oracles: oracles::ALL, strict: false };
    let recipe = Recipe::new(Product::named("sqlite"));
    let (mut honest, mut broken) = (0, 0);
    for number in 0..400 {
        let case = anchorite_generate::case(&recipe, 5, number);
        if !is_plain(&case) || case.sessions.len() > 4 {
            continue;
        }
        let run = arena.run(&case, None).expect("a generated case runs");
        let possible = serial_states(&mut arena, &run);
        let tried = examiner.judge(&mut arena, run.clone().into()).expect("it can be judged");
        assert!(possible.contains(&tables(&run)), "{}: brute force says violation", case.name);
        assert_eq!(tried.judgements[0].verdict, Verdict::Pass, "{}", case.name);
        honest += 1;

        // A planted fault: a row of the final state is lost.
        let mut faulty = run;
        let Some((_, rows)) = faulty.final_state.iter_mut().find(|(_, rows)| !rows.rows.is_empty())
        else {
            continue;
        };
        rows.rows.pop();
        if possible.contains(&tables(&faulty)) {
            continue;
        }
        let tried = examiner.judge(&mut arena, faulty.into()).expect("it can be judged");
        let found = matches!(tried.judgements[0].verdict, Verdict::Violation { .. });
        assert!(found, "{}: {:?}", case.name, tried.judgements);
        broken += 1;
    }
    println!("{honest} honest runs and {broken} broken ones: the oracle and brute force agree");
    assert!(honest >= 60 && broken >= 40, "{honest} honest, {broken} broken");
}
