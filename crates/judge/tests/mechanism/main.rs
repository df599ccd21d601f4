//! A second opinion about the mechanism: small models of how servers keep their levels, which *produce* runs.
//!
//! Each model executes random schedules on one table of integers, without SQL. What a model does is what the vendor
//! documents, so the judge must never call one of its runs a violation. With one thing done wrong, it should; which
//! share of these it sees is printed, and must not fall.
//!
//! Blind spot: one table, no subqueries, no foreign keys. A wrong deed that happens to give a result that is also
//! possible without it is no violation, and counts as not seen.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod copies;
mod first_updater;
mod interpreter;
mod locking;
mod random;
mod reads;
mod recheck;
mod record;
mod released;
mod retry;
mod schedule;
mod statement;
mod views;
mod world;

use std::collections::BTreeMap;

use anchorite_claims::Claims;
use anchorite_judge::{Evidence, Laboratory, oracles};
use anchorite_model::{Level, Run, Verdict};
use interpreter::Interpreter;
use schedule::{Model, model, random_run};
use world::{Fault, Plan};

const MODELS: [Model; 6] = [
    model("locks with gaps", "mysql 9.7.0", Level::RepeatableRead, locking::go_on),
    model("locks of rows", "mariadb 10.11.6", Level::ReadCommitted, released::go_on),
    model("statement snapshot", "postgres 15.0", Level::ReadCommitted, recheck::go_on),
    model("first updater wins", "postgres 15.0", Level::RepeatableRead, first_updater::go_on),
    model("locks of reads", "mysql 9.7.0", Level::Serializable, locking::go_on),
    model("retried", "tidb 8.5.0", Level::ReadCommitted, retry::go_on),
];

/// Of the runs in which this went wrong, at least so many of a hundred are violations, whatever the model. The others
/// were rolled back, changed nothing that can be seen, or end as some correct run does.
const fn floor(fault: Fault) -> usize {
    match fault {
        Fault::Missed | Fault::Extra => 65,
        Fault::Lost => 20,
        Fault::Stale | Fault::NoWait => 5,
        Fault::Dirty => 15,
        // These are not of writes.
        _ => 0,
    }
}

/// Of the runs with something wrong that no serial order explains, at least so many of a hundred are violations.
const UNEXPLAINED_FLOOR: usize = 90;

/// How many schedules each model plays; `ANCHORITE_MODEL_RUNS` overrides it.
const RUNS: u64 = 100;

fn runs() -> u64 {
    std::env::var("ANCHORITE_MODEL_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(RUNS)
}

fn judged(run: &Run) -> Verdict {
    judged_by("final-state", run)
}

fn judged_by(oracle: &str, run: &Run) -> Verdict {
    let claims = Claims::for_product(run.target.product);
    let mut interpreter = Interpreter::new(run);
    let mut laboratory = Laboratory::new(&mut interpreter, run.level);
    let evidence = Evidence::new(run, claims, BTreeMap::new());
    let oracle = oracles::named(oracle).expect("there is one");
    oracle.judgement(&evidence, &mut laboratory).expect("the interpreter answers").verdict
}

/// The statements with what became of them, for whoever looks into a failure.
fn told(run: &Run) -> String {
    let setup = run.case.setup.iter().map(|statement| statement.sql.clone());
    let events = run.events.iter().map(|event| {
        let name = &run.sessions[event.session].name;
        format!("{} {name}: {}: {:?}", event.n, event.sql, event.outcome)
    });
    let left = run.final_state.iter().map(|(name, rows)| format!("{name}: {:?}", rows.rows));
    setup.chain(events).chain(left).collect::<Vec<String>>().join("\n")
}

/// How often each verdict was given.
#[derive(Debug, Default)]
struct Counts {
    pass: usize,
    allowed: usize,
    undecided: usize,
    violation: usize,
}

impl Counts {
    const fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Pass => self.pass += 1,
            Verdict::Allowed { .. } => self.allowed += 1,
            Verdict::Undecided { .. } => self.undecided += 1,
            Verdict::Violation { .. } => self.violation += 1,
        }
    }

    const fn unexplained(&self) -> usize {
        self.allowed + self.undecided + self.violation
    }
}

#[test]
fn what_a_model_does_is_never_a_violation() {
    for model in &MODELS {
        let mut counts = Counts::default();
        for seed in 0..runs() {
            let (run, _) = random_run(model, seed, None);
            let verdict = judged(&run);
            counts.add(&verdict);
            if let Verdict::Violation { because, .. } = &verdict {
                panic!("{}, seed {seed}: {because:#?}\n{}", model.name, told(&run));
            }
        }
        println!("{}: {counts:?}", model.name);
    }
}

#[test]
fn what_a_model_does_wrong_is_seen() {
    for model in &MODELS {
        let (mut seen, mut unexplained) = (0, 0);
        for fault in Fault::ALL {
            let mut counts = Counts::default();
            for seed in 0..runs() {
                let plan = Plan { fault, occasions_left: if seed % 2 == 0 { 1 } else { 2 } };
                let (run, went_wrong) = random_run(model, seed, Some(plan));
                if went_wrong {
                    counts.add(&judged(&run));
                }
            }
            println!("{}, {fault:?}: {counts:?}", model.name);
            let all = counts.pass + counts.unexplained();
            assert!(counts.violation * 100 >= all * floor(fault), "{}: {fault:?}", model.name);
            seen += counts.violation;
            unexplained += counts.unexplained();
        }
        println!("{}: {seen} of {unexplained} that no order explains", model.name);
        assert!(seen * 100 >= unexplained * UNEXPLAINED_FLOOR, "{}", model.name);
    }
}
