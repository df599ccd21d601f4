//! Every level of both families against a brute-force judge, on thousands of tiny random histories.

mod cycles;
mod generate;
mod judge;
mod lists;
mod notation;
mod snapshots;

use anchorite_check::analysis::Analysis;
use anchorite_check::levels::{self, LevelVerdict};
use anchorite_check::polygraph::Limits;
use generate::{Random, Shape, Tiny, build, build_with, generate, version_orders};
use judge::Judge;

fn show(txns: &[Tiny]) -> String {
    let mut text = String::new();
    for (label, tiny) in txns.iter().enumerate() {
        text += &format!("T{label} session {} {}..{}", tiny.session, tiny.begin, tiny.end);
        text += &format!(" {:?}:", tiny.outcome());
        for step in &tiny.steps {
            let sign = if step.write { ":=" } else { "==" };
            text += &format!(" x{}{sign}{}", step.key, step.value);
        }
        text.push('\n');
    }
    text
}

fn compare(txns: &[Tiny]) {
    let history = build(txns);
    let judge = Judge::new(txns);
    compare_with(txns, &judge, &Analysis::new(&history, None, Limits::default()));
}

/// Without the closure, everything that is open goes to the SAT solver.
fn compare_strong_without_pruning(txns: &[Tiny]) {
    let history = build(txns);
    let judge = Judge::new(txns);
    let limits = Limits { closure_nodes: 0, ..Limits::default() };
    let analysis = Analysis::new(&history, None, limits);
    for level in ["prefix", "snapshot-isolation", "serializable"] {
        let expected = LevelVerdict::of(judge.axiomatic(level));
        assert_eq!(
            levels::axiomatic(&analysis, level),
            expected,
            "axiomatic {level}\n{}",
            show(txns)
        );
    }
    let found = levels::adya(&analysis, "serializable");
    assert_eq!(found, LevelVerdict::of(judge.serializable(false, false)), "{}", show(txns));
    let found = levels::adya(&analysis, "snapshot-isolation");
    assert_eq!(found, LevelVerdict::of(judge.snapshot(false, false)), "{}", show(txns));
}

fn compare_with(txns: &[Tiny], judge: &Judge<'_>, analysis: &Analysis<'_>) {
    for level in levels::AXIOMATIC {
        let expected = LevelVerdict::of(judge.axiomatic(level));
        let found = levels::axiomatic(analysis, level);
        assert_eq!(found, expected, "axiomatic {level}\n{}", show(txns));
    }
    compare_adya(txns, judge, analysis);
}

fn compare_adya(txns: &[Tiny], judge: &Judge<'_>, analysis: &Analysis<'_>) {
    for (prefix, session, real_time) in
        [("", false, false), ("strong-session-", true, false), ("strong-", false, true)]
    {
        let adya = |name: &str| levels::adya(analysis, &format!("{prefix}{name}"));
        let check = |name: &str, expected: bool| {
            if real_time && judge.times_contradict() {
                let fails = levels::adya(analysis, &format!("strong-session-{name}"));
                let found = adya(name);
                let unknown = matches!(found, LevelVerdict::Unknown(_));
                let fails = fails == LevelVerdict::Fails;
                assert!(unknown != fails, "{name} {found:?}\n{}", show(txns));
                return;
            }
            assert_eq!(adya(name), LevelVerdict::of(expected), "{prefix}{name}\n{}", show(txns));
        };
        check("serializable", judge.serializable(session, real_time));
        check("snapshot-isolation", judge.snapshot(session, real_time));
        for name in ["read-uncommitted", "read-committed"] {
            check(name, judge.graph_level(name, session, real_time));
        }
        if prefix.is_empty() {
            for name in
                ["cursor-stability", "monotonic-atomic-view", "consistent-view", "repeatable-read"]
            {
                check(name, judge.graph_level(name, false, false));
            }
        }
    }
}

fn run(seed: u64, count: usize, shape: Shape) {
    let mut random = Random::new(seed);
    for _ in 0..count {
        compare(&generate(&mut random, shape));
    }
}

#[test]
fn few_oddities() {
    run(1, 2_000, Shape { txns: 4, keys: 2, sessions: 3, steps: 3, odd: 0 });
    run(2, 600, Shape { txns: 5, keys: 2, sessions: 2, steps: 3, odd: 0 });
}

#[test]
fn many_keys_and_sessions() {
    run(3, 1_000, Shape { txns: 4, keys: 3, sessions: 4, steps: 4, odd: 0 });
    run(4, 300, Shape { txns: 5, keys: 3, sessions: 5, steps: 4, odd: 0 });
}

#[test]
fn aborted_intermediate_and_thin_air_reads() {
    run(5, 2_000, Shape { txns: 4, keys: 2, sessions: 3, steps: 4, odd: 20 });
}

#[test]
fn hot_key() {
    run(6, 1_500, Shape { txns: 5, keys: 1, sessions: 3, steps: 3, odd: 4 });
}

#[test]
fn the_solver_alone() {
    let mut random = Random::new(7);
    let shape = Shape { txns: 5, keys: 2, sessions: 3, steps: 4, odd: 0 };
    for _ in 0..1_500 {
        compare_strong_without_pruning(&generate(&mut random, shape));
    }
}

#[test]
fn a_solver_that_gives_up_is_not_wrong() {
    let mut random = Random::new(12);
    let shape = Shape { txns: 5, keys: 2, sessions: 3, steps: 4, odd: 0 };
    let mut given_up = 0;
    for round in 0..1_500 {
        let txns = generate(&mut random, shape);
        let (history, judge) = (build(&txns), Judge::new(&txns));
        let limits = Limits { closure_nodes: 0, steps: round % 30, ..Limits::default() };
        let analysis = Analysis::new(&history, None, limits);
        for (level, expected) in [
            ("serializable", judge.serializable(false, false)),
            ("snapshot-isolation", judge.snapshot(false, false)),
            ("consistent-view", judge.graph_level("consistent-view", false, false)),
        ] {
            match levels::adya(&analysis, level) {
                LevelVerdict::Unknown(why) => {
                    given_up += 1;
                    assert!(why.contains(&format!("limit of {} steps", round % 30)), "{why}");
                }
                found => assert_eq!(found, LevelVerdict::of(expected), "{level}\n{}", show(&txns)),
            }
        }
    }
    assert!(given_up > 0);
}

#[test]
fn given_version_orders() {
    let mut random = Random::new(8);
    let shape = Shape { txns: 4, keys: 2, sessions: 3, steps: 4, odd: 0 };
    for _ in 0..1_500 {
        let txns = generate(&mut random, shape);
        let orders = version_orders(&mut random, &txns, shape.keys);
        let history = build_with(&txns, &orders);
        let mut judge = Judge::new(&txns);
        judge.keys = shape.keys;
        judge.fixed = Some(orders);
        compare_adya(&txns, &judge, &Analysis::new(&history, None, Limits::default()));
    }
}
