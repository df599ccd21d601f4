//! What recording and judging cost: the same load with and without, in turns, in one run.
//!
//! `ANCHORITE_TEST_URLS="mariadb://… postgres://…" cargo bench -p anchorite-stress --bench ratio -- [SECONDS]
//! [WORKLOAD] [SESSIONS]`. Without versions, companion reads, record and judge the rest of a transaction is the same:
//! statements, keys, texts sent at once. The speed of shared cores varies, so the two are compared in turns, and the
//! ratio is that of the sums.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::Duration;

use anchorite_drivers::{Target, open};
use anchorite_stress::{Options, Ran, Workload, run};

/// How often each of the two takes its turn.
const TURNS: u64 = 3;

fn load(target: &dyn Target, is_judged: bool, turn: u64, wishes: &Wishes) -> Ran {
    let options = Options {
        level: None,
        sessions: wishes.sessions,
        workloads: vec![wishes.workload],
        seed: turn,
        time: Duration::from_secs(wishes.seconds),
        is_judged,
        ..Options::default()
    };
    run(target, &options, None, &mut |_| {}).expect("a run")
}

struct Wishes {
    seconds: u64,
    workload: Workload,
    sessions: usize,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize, default: u64| {
        words.get(at).map_or(default, |word| word.parse().expect("a number"))
    };
    let workload =
        words.get(1).map_or(Workload::Register, |word| word.parse().expect("a workload"));
    let sessions = usize::try_from(number(2, 8)).expect("a small number");
    let wishes = Wishes { seconds: number(0, 5), workload, sessions };
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_else(|_| "sqlite:wal".to_owned());
    println!("{workload}, {sessions} sessions, {TURNS} × {} s each", wishes.seconds);
    for url in urls.split_whitespace() {
        let target = open(url).expect("a target");
        let mut sums = [(0, Duration::ZERO); 2];
        for turn in 0..2 * TURNS {
            let is_judged = turn % 2 == 0;
            let ran = load(target.as_ref(), is_judged, turn / 2 + 1, &wishes);
            let sum = &mut sums[usize::from(is_judged)];
            *sum = (sum.0 + ran.committed, sum.1 + ran.took);
        }
        let [bare, judged] = sums.map(|(count, took)| count as f64 / took.as_secs_f64());
        println!(
            "{}: {judged:.0} transactions per second judged, {bare:.0} without; ratio {:.2}",
            target.info(),
            judged / bare
        );
    }
}
