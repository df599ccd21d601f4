//! Cases per second on fresh tables and in an arena, and what a case costs in round trips.
//!
//! A case is two transactions of BEGIN, three or four statements and COMMIT, one statement of which is
//! blocked; it is run once, and then its transactions one after the other, once as they are and once
//! without BEGIN and COMMIT, as the final-state oracle does: three runs.
//! Usage: `cargo bench -p anchorite-stage --bench arena -- URL...`; `ANCHORITE_BENCH_SECONDS` per figure.

mod counting;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anchorite_drivers::{Target, open};
use anchorite_model::{Case, Outcome, StatementKind};
use anchorite_stage::{Arena, FreshTables, RunOptions, Runner};
use counting::{Counting, Counts};

const CONCURRENT: &str = "\
/* setup */ CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT);
/* setup */ CREATE INDEX a_k ON a (k);
/* setup */ CREATE TABLE b (id INT PRIMARY KEY, w INT);
/* setup */ INSERT INTO a VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0), (6, 60, 0);
/* setup */ INSERT INTO b VALUES (1, 1), (2, 2), (3, 3), (4, 4);
/* t1 */ BEGIN;
/* t2 */ BEGIN;
/* t1 */ UPDATE a SET v = v + 1, k = k + 5 WHERE id = 2;
/* t2 */ UPDATE b SET w = w + 10 WHERE id = 1;
/* t1 */ SELECT * FROM a WHERE k > 25;
/* t2 */ UPDATE a SET v = v + 10 WHERE id = 2;
/* t1 */ INSERT INTO b VALUES (7, 7);
/* t1 */ DELETE FROM a WHERE id = 6;
/* t1 */ COMMIT;
/* t2 */ SELECT * FROM b;
/* t2 */ COMMIT;
";

/// So many serial runs are asked for at once.
const SERIAL_AT_ONCE: usize = 8;

/// The case as it is, as transactions one after the other, and as single statements.
fn three_runs() -> [Case; 3] {
    let concurrent = Case::parse("concurrent", CONCURRENT).expect("the case is well-formed");
    let mut serial = concurrent.clone();
    serial.steps.sort_by_key(|step| step.session);
    let mut single = serial.clone();
    single.steps.retain(|step| {
        use StatementKind::{Begin, Commit};
        !matches!(StatementKind::of(&step.statement.sql), Begin | Commit { .. })
    });
    [concurrent, serial, single]
}

/// Runs the cases for this long; how many there were.
fn run_for(runner: &mut dyn Runner, time: Duration) -> u64 {
    let cases = three_runs();
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < time {
        for (index, case) in cases.iter().enumerate() {
            let run = runner.run(case, None).expect("the case runs");
            let is_blocked = |outcome: &Outcome| matches!(outcome, Outcome::Blocked { .. });
            let blocked = run.events.iter().filter(|event| is_blocked(&event.outcome)).count();
            assert_eq!(blocked, usize::from(index == 0), "one statement is blocked, in one run");
        }
        count += 1;
    }
    count
}

/// Cases per second of so many workers with an arena each, after a moment in which tables are made.
fn arenas(target: &dyn Target, workers: usize, time: Duration) -> f64 {
    let work = || {
        let options = RunOptions { terse: true, ..RunOptions::default() };
        let mut arena = Arena::new(target, options).expect("an arena");
        run_for(&mut arena, time / 4);
        let begun = Instant::now();
        run_for(&mut arena, time) as f64 / begun.elapsed().as_secs_f64()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker")).sum()
    })
}

/// Serial runs per second, one by one and several at once.
fn serial_runs(target: &dyn Target, time: Duration) -> [f64; 2] {
    let [_, serial, single] = three_runs();
    let cases: Vec<Case> = [serial, single].into_iter().cycle().take(SERIAL_AT_ONCE).collect();
    let options = RunOptions { terse: true, ..RunOptions::default() };
    let mut arena = Arena::new(target, options).expect("an arena");
    [1, SERIAL_AT_ONCE].map(|at_once| {
        let (begun, mut count) = (Instant::now(), 0);
        while begun.elapsed() < time {
            for some in cases.chunks(at_once) {
                count += arena.rehearse_all(some, None).expect("the cases run").len();
            }
        }
        count as f64 / begun.elapsed().as_secs_f64()
    })
}

#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn main() {
    let seconds = std::env::var("ANCHORITE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(3.0));
    for url in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        let target = open(&url).unwrap_or_else(|error| panic!("{error}"));
        println!("{}", target.info());
        let options = RunOptions { terse: true, ..RunOptions::default() };
        let mut fresh = FreshTables { target: target.as_ref(), options: options.clone() };
        let begun = Instant::now();
        let count = run_for(&mut fresh, time / 2);
        println!("  fresh tables: {:.0} cases/s", count as f64 / begun.elapsed().as_secs_f64());
        for workers in [1, 2] {
            let rate = arenas(target.as_ref(), workers, time);
            println!("  arena, {workers} worker(s): {rate:.0} cases/s");
        }
        let [one_by_one, at_once] = serial_runs(target.as_ref(), time);
        println!(
            "  serial runs: {one_by_one:.0}/s one by one, {at_once:.0}/s {SERIAL_AT_ONCE} at once"
        );
        let counts = Arc::new(Counts::default());
        let counting = Counting { inner: target, counts: Arc::clone(&counts) };
        let mut arena = Arena::new(&counting, options).expect("an arena");
        run_for(&mut arena, time / 4);
        let all = || {
            [&counts.statements, &counts.own_session, &counts.looks, &counts.opened]
                .map(|counter| counter.load(Ordering::Relaxed))
        };
        let before = all();
        let cases = run_for(&mut arena, time / 4) as f64;
        let after = all();
        let per_case = |index: usize| (after[index] - before[index]) as f64 / cases;
        println!(
            "  per case of three runs: {:.1} statements, {:.1} own_session round trips, {:.1} looks, \
             {:.2} opened",
            per_case(0),
            per_case(1),
            per_case(2),
            per_case(3)
        );
    }
}
