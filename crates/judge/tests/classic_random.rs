//! What is named is true: where a classic anomaly is named, no serial order of the committed transactions gives the
//! same answers, which is found out by performing every order on the same server.
//!
//! Random small cases, the same every time. Embedded SQLite always runs; servers are the URLs in
//! `ANCHORITE_TEST_URLS`. How many cases run at each level is `ANCHORITE_CLASSIC_CASES` (default: a few).

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::fmt::Write;

use anchorite_claims::{Anomaly, Claims};
use anchorite_drivers::{Target, open};
use anchorite_judge::evidence::ends::{End, ends, last_event};
use anchorite_judge::{Observed, observed};
use anchorite_model::{Answer, Case, Level, Outcome, Product, Run, Value};
use anchorite_stage::{RunOptions, run_case};

const FEW: u64 = 40;
const SESSIONS: usize = 3;

/// A small generator of pseudo-random numbers (Knuth's constants for a linear congruence).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }
}

/// A case whose every value is written once, so that reads can be told apart.
fn random_case(number: u64) -> Case {
    let mut random = Random(number + 1);
    let mut value = 100;
    let mut left: Vec<Vec<String>> = Vec::new();
    for _ in 0..SESSIONS {
        let mut statements = vec!["BEGIN".to_owned()];
        for _ in 0..=random.below(3) {
            value += 1;
            let id = 1 + random.below(3);
            statements.push(match random.below(9) {
                0 | 1 => format!("SELECT * FROM t WHERE id = {id}"),
                2 => "SELECT * FROM t".to_owned(),
                3 => "SELECT id, v FROM t WHERE v < 25 OR v > 100".to_owned(),
                4 | 5 => format!("UPDATE t SET v = {value} WHERE id = {id}"),
                6 => format!("UPDATE t SET v = v + 1 WHERE id >= {id}"),
                7 => format!("DELETE FROM t WHERE id = {id}"),
                _ => format!("INSERT INTO t VALUES ({value}, {value})"),
            });
        }
        let end = if random.below(5) == 0 { "ROLLBACK" } else { "COMMIT" };
        statements.push(end.to_owned());
        left.push(statements);
    }
    let mut text = "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
                    /* setup */ INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);\n"
        .to_owned();
    while left.iter().any(|statements| !statements.is_empty()) {
        let session = random.below(SESSIONS);
        if !left[session].is_empty() {
            let statement = left[session].remove(0);
            writeln!(text, "/* t{} */ {statement};", session + 1).expect("a text");
        }
    }
    Case::parse(&format!("random-{number}"), &text).expect("a valid case")
}

/// What each statement of a session answered: rows as a multiset, and the count.
fn answers(run: &Run, session: &str) -> Vec<(Vec<Vec<Value>>, Option<u64>)> {
    let index = run.case.sessions.iter().position(|name| name == session);
    let answer = |answer: &Answer| {
        let mut rows = answer.results.first().map(|rows| rows.rows.clone()).unwrap_or_default();
        rows.sort();
        (rows, answer.affected)
    };
    run.events
        .iter()
        .filter(|event| Some(event.session) == index)
        .filter_map(|event| match &event.outcome {
            Outcome::Ok(given) | Outcome::Resumed(given) => Some(answer(given)),
            _ => None,
        })
        .collect()
}

fn tables(run: &Run) -> Vec<Vec<Vec<Value>>> {
    let sorted = |rows: &Vec<Vec<Value>>| {
        let mut rows = rows.clone();
        rows.sort();
        rows
    };
    run.final_state.iter().map(|(_, rows)| sorted(&rows.rows)).collect()
}

fn permutations(items: &[String]) -> Vec<Vec<String>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (i, first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(i);
        all.extend(
            permutations(&rest)
                .into_iter()
                .map(|tail| [std::slice::from_ref(first), &tail].concat()),
        );
    }
    all
}

/// Whether some serial order of the committed transactions gives the run's answers and final state.
fn is_serializable(target: &dyn Target, run: &Run, level: Level) -> bool {
    let committed = |session: usize| ends(run, session) == [End::Committed];
    let sessions = run.case.sessions.iter().enumerate();
    let names: Vec<String> =
        sessions.filter(|(index, _)| committed(*index)).map(|(_, name)| name.clone()).collect();
    if names.is_empty() {
        return true;
    }
    // What failed left no trace.
    let answered = |n: usize| {
        let last = last_event(run, n).map(|event| &event.outcome);
        matches!(last, Some(Outcome::Ok(_) | Outcome::Resumed(_)))
    };
    permutations(&names).into_iter().any(|order| {
        let mut text = String::new();
        for statement in &run.case.setup {
            writeln!(text, "/* setup */ {};", statement.sql).expect("a text");
        }
        for name in &order {
            let index =
                run.case.sessions.iter().position(|known| known == name).expect("a session");
            let steps = (1..).zip(&run.case.steps);
            for (_, step) in steps.filter(|(n, step)| step.session == index && answered(*n)) {
                writeln!(text, "/* {name} */ {};", step.statement.sql).expect("a text");
            }
        }
        let serial = Case::parse("serial", &text).expect("a valid case");
        let options = RunOptions { level: Some(level), ..RunOptions::default() };
        let serial = run_case(target, &serial, &options).expect("a run");
        tables(&serial) == tables(run)
            && order.iter().all(|name| answers(&serial, name) == answers(run, name))
    })
}

#[test]
fn what_is_named_is_no_serial_execution() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    let cases = std::env::var("ANCHORITE_CLASSIC_CASES").ok();
    let asked = cases.and_then(|text| text.parse().ok());
    let mut wrong = Vec::new();
    for text in
        ["sqlite", "sqlite:wal", "sqlite:shared-cache"].into_iter().chain(urls.split_whitespace())
    {
        let target = open(text).unwrap_or_else(|error| panic!("{error}"));
        let is_embedded = target.info().product == Product::named("sqlite");
        let few = if is_embedded { FEW * 5 } else { FEW };
        for level in target.levels() {
            let (mut named, mut unnamed) = (0, 0);
            for number in 0..asked.unwrap_or(few) {
                let case = random_case(number);
                let options = RunOptions { level: Some(*level), ..RunOptions::default() };
                let run = run_case(target.as_ref(), &case, &options).expect("a run");
                let told = observed(&run, Claims::for_target(target.info()));
                let is_serial = is_serializable(target.as_ref(), &run, *level);
                named += u32::from(!told.is_empty());
                unnamed += u32::from(told.is_empty() && !is_serial);
                // A dirty read is one whatever an order may explain.
                let is_cycle =
                    |told: &Observed| !matches!(told.anomaly, Anomaly::G1a | Anomaly::G1b);
                if told.iter().any(is_cycle) && is_serial {
                    wrong.push(format!("{} at {level}: {told:#?}\n{case}", target.info()));
                }
            }
            println!("{} at {level}: {named} named, {unnamed} not", target.info());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
