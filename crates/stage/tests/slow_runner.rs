//! The same cases with the server asked and with a slow timer must come out the same.
//!
//! Random transactions over one small table with a primary key, a unique and a plain index: updates and
//! deletes of rows and ranges, inserts, locking reads, savepoints, at every level of the server. The
//! slow runner never asks anybody: silence of one second is "blocked". Several cases run at once,
//! because most of the slow runner's time is spent waiting.
//!
//! PostgreSQL may let two waiters on one row overtake each other, and victims of deadlocks may differ from run to
//! run where weights are equal; so a case counts as different only if repeating it does not bring
//! the two runners together. `ANCHORITE_SLOW_CASES` sets the number of cases per server (default 24).

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anchorite_drivers::Target;
use anchorite_model::{Case, Outcome, Product, Run};
use anchorite_stage::{Asking, RunOptions, run_case};
use support::{Random, case, servers};

const SILENCE: Duration = Duration::from_secs(1);
const WORKERS: usize = 12;
const REPEATS: usize = 4;

fn random_statement(random: &mut Random, product: Product) -> String {
    let id = random.below(8);
    let v = random.below(4);
    let lock = if product == Product::named("tidb") {
        "FOR UPDATE"
    } else {
        *random.one_of(&["FOR UPDATE", "FOR SHARE"])
    };
    let lock = match (product.name(), lock) {
        ("mariadb", "FOR SHARE") => "LOCK IN SHARE MODE",
        (_, lock) => lock,
    };
    match random.below(10) {
        0 => format!("UPDATE t SET v = v + 1 WHERE id = {id}"),
        1 => format!("UPDATE t SET v = {v} WHERE v >= {v}"),
        2 => format!("UPDATE t SET k = k + 100 WHERE id = {id}"),
        3 => format!("DELETE FROM t WHERE id = {id}"),
        4 => format!("DELETE FROM t WHERE v = {v}"),
        5 => format!("INSERT INTO t VALUES ({id}, {}, {v})", 10 + random.below(8)),
        6 => format!("SELECT * FROM t WHERE id = {id} {lock}"),
        7 => format!("SELECT * FROM t WHERE k > {} {lock}", 10 + id),
        8 => "SELECT * FROM t ORDER BY id".to_owned(),
        _ => format!("SELECT COUNT(*) FROM t WHERE v = {v}"),
    }
}

fn random_case(random: &mut Random, product: Product) -> Case {
    let sessions = 2 + random.below(2);
    let mut scripts: Vec<Vec<String>> = (0..sessions)
        .map(|_| {
            let mut script = vec!["BEGIN".to_owned()];
            script.extend((0..2 + random.below(3)).map(|_| random_statement(random, product)));
            if random.below(4) == 0 {
                script.insert(2, "SAVEPOINT s".to_owned());
                script.push("ROLLBACK TO SAVEPOINT s".to_owned());
            }
            script.push((*random.one_of(&["COMMIT", "COMMIT", "ROLLBACK"])).to_owned());
            script.reverse();
            script
        })
        .collect();
    let mut steps = Vec::new();
    while scripts.iter().any(|script| !script.is_empty()) {
        let session = random.below(sessions);
        if let Some(sql) = scripts[session].pop() {
            steps.push((session, sql));
        }
    }
    let setup = [
        "CREATE TABLE t (id INT PRIMARY KEY, k INT UNIQUE, v INT)".to_owned(),
        "CREATE INDEX by_v ON t (v)".to_owned(),
        "INSERT INTO t VALUES (1, 11, 1), (3, 13, 2), (5, 15, 2), (7, 17, 3)".to_owned(),
    ];
    case("slow_runner", sessions, &setup, steps)
}

/// What must agree: order, kinds, rows, counts, error classes, the final state.
///
/// CockroachDB's reads depend on how much time has passed: a value that was committed after a
/// transaction began must be seen within the clock's uncertainty (500 ms) and need not be seen later. So
/// there only the decisions are compared.
fn summary(run: &Run) -> String {
    if run.target.product == Product::named("cockroach") {
        return decisions(run);
    }
    let mut text = String::new();
    for event in &run.events {
        let told = match &event.outcome {
            Outcome::Ok(answer) => format!("ok {:?} {:?}", answer.results, answer.affected),
            Outcome::Resumed(answer) => {
                format!("resumed {:?} {:?}", answer.results, answer.affected)
            }
            Outcome::Blocked { .. } => "blocked".to_owned(),
            Outcome::Error(error) => format!("error {} {}", error.class.name(), error.code),
            Outcome::Skipped { .. } => "skipped".to_owned(),
        };
        text += &format!("{} t{}: {told}\n", event.n, event.session + 1);
    }
    text + &format!("{:?}", run.final_state)
}

/// Which statements were blocked.
fn decisions(run: &Run) -> String {
    let blocked = run.events.iter().filter(|e| matches!(e.outcome, Outcome::Blocked { .. }));
    blocked.map(|event| format!("{} t{} blocked\n", event.n, event.session + 1)).collect()
}

fn play(target: &dyn Target, case: &Case, options: &RunOptions) -> String {
    summary(&run_case(target, case, options).expect("the case runs"))
}

/// The two summaries, if no repetition made the runners agree.
fn disagreement(target: &dyn Target, case: &Case, asking: &RunOptions) -> Option<(String, String)> {
    let timing = RunOptions { asking: Asking::Silence(SILENCE), ..asking.clone() };
    let mut asked = Vec::new();
    let mut timed = Vec::new();
    for _ in 0..REPEATS {
        asked.push(play(target, case, asking));
        timed.push(play(target, case, &timing));
        if asked.iter().any(|summary| timed.contains(summary)) {
            return None;
        }
    }
    Some((asked.pop()?, timed.pop()?))
}

#[test]
fn asking_and_timing_agree() {
    let cases: usize = std::env::var("ANCHORITE_SLOW_CASES")
        .map_or(24, |text| text.parse().expect("ANCHORITE_SLOW_CASES is a number"));
    for target in servers() {
        let target = target.as_ref();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..WORKERS.min(cases) {
                scope.spawn(|| {
                    while let n @ 0.. = next.fetch_add(1, Ordering::Relaxed)
                        && n < cases
                    {
                        let mut random = Random(n as u64);
                        let case = random_case(&mut random, target.info().product);
                        let level = Some(*random.one_of(target.levels()));
                        let options = RunOptions { level, ..RunOptions::default() };
                        if let Some((asked, timed)) = disagreement(target, &case, &options) {
                            panic!(
                                "{} at {level:?}, case {n}:\n{case}\nasked:\n{asked}\n\ntimed:\n{timed}",
                                target.info()
                            );
                        }
                    }
                });
            }
        });
        println!("{}: {cases} cases, asked and timed alike", target.info());
    }
}
