//! How long it takes to know that a statement is blocked: median and 99th percentile per server.
//!
//! One session holds a row, a second asks for it, a third is already blocked beside them in every second
//! round. The time runs from the answer before the blocked statement, after which it is sent at once, to
//! the decision. Usage: `cargo bench -p anchorite-stage --bench blocking -- URL...`

use anchorite_drivers::{Target, open};
use anchorite_model::{Case, Outcome};
use anchorite_stage::{RunOptions, run_case};

/// Cases per server.
const CASES: usize = 40;
/// Blocked statements per case.
const ROUNDS: usize = 25;

fn case(with_third: bool) -> Case {
    let mut text = String::from(
        "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
         /* setup */ INSERT INTO t VALUES (1, 0), (2, 0);\n",
    );
    if with_third {
        text += "/* t4 */ BEGIN; /* t4 */ UPDATE t SET v = 1 WHERE id = 2;\n\
                 /* t3 */ BEGIN; /* t3 */ UPDATE t SET v = 1 WHERE id = 2;\n";
    }
    for _ in 0..ROUNDS {
        text += "/* t1 */ BEGIN; /* t1 */ UPDATE t SET v = v + 1 WHERE id = 1;\n\
                 /* t2 */ BEGIN; /* t2 */ UPDATE t SET v = v + 1 WHERE id = 1;\n\
                 /* t1 */ COMMIT; /* t2 */ ROLLBACK;\n";
    }
    Case::parse("blocking", &text).expect("the case is well-formed")
}

/// Microseconds from the answer before to the decision, for each blocked statement of t2.
fn decision_times(target: &dyn Target, case: &Case) -> Vec<u64> {
    let run = run_case(target, case, &RunOptions::default()).expect("the case runs");
    let t2 = case.sessions.iter().position(|name| name == "t2").expect("t2 is there");
    run.events
        .windows(2)
        .filter(|pair| pair[1].session == t2)
        .filter(|pair| matches!(pair[1].outcome, Outcome::Blocked { .. }))
        .map(|pair| pair[1].at_us - pair[0].at_us)
        .collect()
}

#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn main() {
    let urls = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    for url in urls {
        let target = open(&url).unwrap_or_else(|error| panic!("{error}"));
        let mut times: Vec<u64> =
            (0..CASES).flat_map(|n| decision_times(target.as_ref(), &case(n % 2 == 1))).collect();
        times.sort_unstable();
        assert_eq!(times.len(), CASES * ROUNDS, "every second update of t2 is blocked");
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!(
            "{}: {} blocked statements known after median {} us, p99 {} us, worst {} us",
            target.info(),
            times.len(),
            at(50),
            at(99),
            at(100)
        );
    }
}
