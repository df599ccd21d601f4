//! No serial execution of a probe case shows its anomaly: a second opinion about the conditions.
//!
//! Every order of the case's transactions is run one after the other, on embedded SQLite. What holds of
//! a serial run is no anomaly, so the conditions must be false of each of them.

use anchorite_judge::{probe_cases, shows};
use anchorite_model::{Case, Run};
use anchorite_stage::{RunOptions, run_case};

/// All orders of the first `count` numbers.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let insert = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, last);
        order
    };
    let shorter = orders(last);
    shorter.iter().flat_map(|order| (0..=last).map(move |at| insert(order, at))).collect()
}

/// The case with its sessions one after the other, and the original number of each of its steps.
fn serial(case: &Case, order: &[usize]) -> (Case, Vec<usize>) {
    let mut steps: Vec<_> = (1..).zip(&case.steps).collect();
    steps.sort_by_key(|(_, step)| order.iter().position(|session| *session == step.session));
    let numbers = steps.iter().map(|(n, _)| *n).collect();
    let steps = steps.into_iter().map(|(_, step)| step.clone()).collect();
    (Case { steps, ..case.clone() }, numbers)
}

/// The run of a serial case as if it had been one of the case itself.
fn renumbered(mut run: Run, case: &Case, numbers: &[usize]) -> Run {
    for event in &mut run.events {
        event.n = numbers[event.n - 1];
    }
    run.case = case.clone();
    run
}

#[test]
fn no_serial_order_shows_an_anomaly() {
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    let mut runs = 0;
    for case in probe_cases() {
        let conditions = shows(&case).expect("readable conditions");
        for order in orders(case.sessions.len()) {
            let (serial, numbers) = serial(&case, &order);
            let run = run_case(target.as_ref(), &serial, &RunOptions::default())
                .unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let run = renumbered(run, &case, &numbers);
            let shown = conditions.iter().all(|condition| condition.is_true_of(&run));
            assert!(!shown, "{} in the order {order:?}", case.name);
            runs += 1;
        }
    }
    assert!(runs >= 2 * 39 + 6 * 5, "{runs}");
}
