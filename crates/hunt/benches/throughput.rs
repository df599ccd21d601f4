//! Two-transaction cases per second, generated, run and judged by the final-state oracle, with a few workers:
//! once asking the server who waits, once with the published tools' timer of two seconds, on the same cases.
//!
//! `cargo bench -p anchorite-hunt --bench throughput -- URL…` (default: SQLite). The share of the run itself,
//! without rehearsals and judging, is shown beside it: that is where the rest goes.

#![allow(clippy::print_stdout, reason = "a benchmark tells what it measured")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_generate::{Recipe, Weights};
use anchorite_hunt::{Examiner, processors, usual_workers};
use anchorite_judge::oracles;
use anchorite_model::{Case, Level, Outcome, Run, RunError, Runner, StatementKind};
use anchorite_stage::{Arena, Asking, Limits, RunOptions};

const CASES: usize = 4_000;
const WARM_UP: usize = 200;
/// Four of seven cases have two transactions: so 100 of those share their tables, as 100 cases do in a hunt.
const ALIKE: &str = "[case]\ngroup = 175";
/// With a timer every blocked statement costs two seconds, so a few cases must do.
const TIMED_CASES: usize = 16;
const TIMER: Duration = Duration::from_secs(2);

/// Adds up what the runner itself takes.
struct Clocked<'a> {
    arena: Arena<'a>,
    first_runs: Duration,
    rehearsals: Duration,
    /// How often something was asked of the server to judge.
    trips: usize,
}

impl Runner for Clocked<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        let begun = Instant::now();
        let run = self.arena.run(case, level);
        self.first_runs += begun.elapsed();
        run
    }

    fn rehearse(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        let begun = Instant::now();
        let run = self.arena.rehearse(case, level);
        self.rehearsals += begun.elapsed();
        self.trips += 1;
        run
    }

    fn rehearse_all(&mut self, cases: &[Case], level: Option<Level>) -> Result<Vec<Run>, RunError> {
        let begun = Instant::now();
        let runs = self.arena.rehearse_all(cases, level);
        self.rehearsals += begun.elapsed();
        self.trips += 1;
        runs
    }
}

/// What all processors of the machine have done since it started, in clock ticks.
#[derive(Clone, Copy)]
struct Ticks {
    worked: f64,
    stolen: f64,
    all: f64,
}

impl Ticks {
    /// From the kernel's counters: user, nice, system, idle, iowait, irq, softirq, steal.
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").expect("Linux");
        let line = text.lines().next().expect("a line for all processors");
        let ticks: Vec<f64> =
            line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, stolen] = ticks[..] else {
            panic!("eight counters expected: {line}");
        };
        let worked = user + nice + system + irq + softirq;
        Self { worked, stolen, all: worked + idle + iowait + stolen }
    }

    fn since(self, before: Self) -> Self {
        Self {
            worked: self.worked - before.worked,
            stolen: self.stolen - before.stolen,
            all: self.all - before.all,
        }
    }
}

struct Measured {
    seconds: f64,
    ticks: Ticks,
    blocked: usize,
    first_runs: f64,
    rehearsals: f64,
    trips: usize,
}

/// Runs and judges all cases with a few workers.
fn measure(target: &dyn Target, level: Level, asking: Asking, cases: &[Case]) -> Measured {
    let claims = Claims::for_target(target.info());
    let examiner = Examiner { claims, oracles: oracles::ALL, strict: false };
    let next = AtomicUsize::new(0);
    // Cases that share their tables stay with one worker, as in a hunt.
    let tables = |case: &Case| {
        let ddl = case.setup.iter().filter(|s| StatementKind::of(&s.sql) == StatementKind::Ddl);
        ddl.map(|statement| statement.sql.clone()).collect::<Vec<_>>()
    };
    let blocks: Vec<&[Case]> = cases.chunk_by(|a, b| tables(a) == tables(b)).collect();
    let (begun, ticks) = (Instant::now(), Ticks::now());
    let work = || {
        let limits = Limits::hurried();
        let options = RunOptions {
            asking,
            limits,
            terse: true,
            shares_rehearsal_sessions: true,
            ..RunOptions::default()
        };
        let arena = Arena::new(target, options).expect("the target can be used");
        let (first_runs, rehearsals) = (Duration::ZERO, Duration::ZERO);
        let mut runner = Clocked { arena, first_runs, rehearsals, trips: 0 };
        let mut blocked = 0;
        while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
            for case in *block {
                let tried = examiner.examine(&mut runner, case, Some(level)).expect("a case runs");
                let waits = |outcome: &Outcome| matches!(outcome, Outcome::Blocked { .. });
                blocked += usize::from(tried.run.events.iter().any(|e| waits(&e.outcome)));
            }
        }
        (blocked, runner.first_runs, runner.rehearsals, runner.trips)
    };
    let shares: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..usual_workers()).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker fails")).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let sum =
        |part: fn(&(usize, Duration, Duration, usize)) -> f64| shares.iter().map(part).sum::<f64>();
    Measured {
        seconds,
        ticks: Ticks::now().since(ticks),
        blocked: shares.iter().map(|share| share.0).sum(),
        first_runs: sum(|share| share.1.as_secs_f64()),
        rehearsals: sum(|share| share.2.as_secs_f64()),
        trips: shares.iter().map(|share| share.3).sum(),
    }
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let urls = if named.is_empty() { vec!["sqlite".to_owned()] } else { named };
    for url in urls {
        let target = open(&url).unwrap_or_else(|error| panic!("{error}"));
        let weights = Weights::parse("two transactions", ALIKE).expect("weights");
        let recipe = Recipe { weights, ..Recipe::new(target.info().product) };
        let all = (0..).map(|number| anchorite_generate::case(&recipe, 1, number));
        let cases: Vec<Case> = all.filter(|case| case.sessions.len() == 2).take(CASES).collect();
        let weakest = target.levels().iter().copied().find(|level| *level >= Level::ReadCommitted);
        let level = weakest.unwrap_or(Level::Serializable);
        measure(target.as_ref(), level, Asking::Server, &cases[..WARM_UP]);
        let asked = measure(target.as_ref(), level, Asking::Server, &cases);
        let timed = Asking::Silence(TIMER);
        let timed = measure(target.as_ref(), level, timed, &cases[..TIMED_CASES]);
        let rate = |count: usize, seconds: f64| count as f64 / seconds;
        let workers = usual_workers();
        let busy = asked.seconds * workers as f64;
        println!("{} at {level}, {workers} workers, two transactions a case:", target.info());
        println!(
            "  asking the server: {:.0} cases/s ({} cases, {:.0} % with a blocked statement)",
            rate(cases.len(), asked.seconds),
            cases.len(),
            100.0 * asked.blocked as f64 / cases.len() as f64
        );
        println!(
            "    of the workers' time: {:.0} % first runs, {:.0} % rehearsals, {:.0} % generating and judging",
            100.0 * asked.first_runs / busy,
            100.0 * asked.rehearsals / busy,
            100.0 * (busy - asked.first_runs - asked.rehearsals) / busy
        );
        println!("    round trips to judge a case: {:.2}", asked.trips as f64 / cases.len() as f64);
        let processors = processors();
        let busy_share = asked.ticks.worked / asked.ticks.all;
        println!(
            "    of the machine's {processors} processors: {:.0} % worked, {:.0} % withheld by its host; {:.2} ms of \
             processor time a case",
            100.0 * busy_share,
            100.0 * asked.ticks.stolen / asked.ticks.all,
            1000.0 * busy_share * processors as f64 * asked.seconds / cases.len() as f64
        );
        println!(
            "  timer of {} s: {:.2} cases/s ({TIMED_CASES} of the same cases)",
            TIMER.as_secs(),
            rate(TIMED_CASES, timed.seconds)
        );
    }
}
