//! Exported scripts run back: what a case did must happen again when its script is run.
//!
//! Every case under `cases/waits` and `cases/bugs` is run on SQLite and on the servers in
//! `ANCHORITE_TEST_URLS`, exported with what happened, and run again: the `/* t1 */` text by Anchorite, the spec
//! by Anchorite and by PostgreSQL's isolationtester, the mtr test by MariaDB's `mariadb-test` (or
//! `mysqltest`). Tools that are not installed are skipped, and that is said.
//!
//! Tools: `isolationtester` is looked for below `/usr/lib/postgresql`, or where `ANCHORITE_ISOLATIONTESTER` says;
//! `mariadb-test` on the PATH, or where `ANCHORITE_MYSQLTEST` says; its include files below `/usr/share`, or in the
//! folder `ANCHORITE_MYSQLTEST_BASE`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod commands;
mod tools;

use std::path::Path;

use anchorite_drivers::{Target, open};
use anchorite_model::spec::Spec;
use anchorite_model::{Case, Event, Level, Outcome, Product, Rows, Run};
use anchorite_report::export::{Form, Script, export};
use anchorite_stage::{RunOptions, run_case};

/// What runs: a target with its URL.
struct Place {
    url: String,
    target: Box<dyn Target>,
}

fn places(wanted: &[Product]) -> Vec<Place> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let all = ["sqlite", "sqlite:wal"].into_iter().chain(urls.split_whitespace());
    let places: Vec<Place> = all
        .map(|url| Place {
            url: url.to_owned(),
            target: open(url).unwrap_or_else(|error| panic!("{error}")),
        })
        .filter(|place| wanted.contains(&place.target.info().product))
        .collect();
    if !places.iter().any(|place| place.url.contains("://")) {
        println!("skipped: ANCHORITE_TEST_URLS names no server of {wanted:?}");
    }
    places
}

/// Where two runs of a case may differ: on PostgreSQL two waiters on one row may overtake each other, and the next
/// step then waits for ever; MySQL's background thread may choose any of three equal victims.
const LEFT_TO_CHANCE: [(&str, &str); 2] =
    [("two-waiters", "postgres"), ("deadlock-three", "mysql")];

/// The cases that are written for this product, and can be exported.
fn cases(product: Product) -> Vec<Case> {
    let mut cases = Vec::new();
    for folder in ["waits", "bugs"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases").join(folder);
        for entry in std::fs::read_dir(&folder).expect("the cases are there") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("a case is readable");
            let name = path.file_stem().expect("a case has a name").to_string_lossy();
            let case = Case::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
            let is_free = LEFT_TO_CHANCE.contains(&(case.name.as_str(), product.name()));
            let written_for = |case: &Case| {
                case.header.targets.is_empty() || case.header.targets.contains(&product)
            };
            cases.extend(Some(case).filter(|case| written_for(case) && !is_free));
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn run(target: &dyn Target, case: &Case, level: Option<Level>) -> Run {
    let options = RunOptions { level, ..RunOptions::default() };
    run_case(target, case, &options).unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

/// The level that the case asks for, else read committed where there is such a level.
fn level(target: &dyn Target, case: &Case) -> Option<Level> {
    let asked = case.header.level.or(Some(Level::ReadCommitted));
    asked.filter(|level| target.levels().contains(level))
}

/// What a session was told: for each of its statements whether it waited, and the answer.
fn told(run: &Run, session: &str) -> Vec<(bool, String)> {
    let index = run.case.sessions.iter().position(|name| name == session);
    let own = |event: &&Event| Some(event.session) == index;
    let mut numbers: Vec<usize> = run.events.iter().filter(own).map(|event| event.n).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut answers = Vec::new();
    for n in numbers {
        let events: Vec<&Event> = run.events.iter().filter(|event| event.n == n).collect();
        let [.., last] = events[..] else { continue };
        let setting = last.sql.starts_with("SET SESSION CHARACTERISTICS");
        let skipped = matches!(last.outcome, Outcome::Skipped { .. });
        if !setting && !skipped {
            let waited = events.iter().any(|e| matches!(e.outcome, Outcome::Blocked { .. }));
            answers.push((waited, answer(&last.outcome)));
        }
    }
    answers
}

/// The rows as a set, the count, or the error's class: what does not depend on chance.
fn answer(outcome: &Outcome) -> String {
    let rows = |results: &[Rows]| {
        let mut rows: Vec<String> =
            results.iter().flat_map(|set| &set.rows).map(|row| format!("{row:?}")).collect();
        rows.sort();
        rows.join(" ")
    };
    match outcome {
        Outcome::Ok(answer) | Outcome::Resumed(answer) => {
            format!("{} {:?}", rows(&answer.results), answer.affected)
        }
        Outcome::Error(error) => format!("{} {}", error.class.name(), error.code),
        Outcome::Blocked { .. } => "blocked".to_owned(),
        Outcome::Skipped { .. } => "skipped".to_owned(),
    }
}

fn compare(place: &str, form: Form, first: &Run, again: &Run, wrong: &mut Vec<String>) {
    for session in &first.case.sessions {
        let (before, after) = (told(first, session), told(again, session));
        if before != after {
            let name = &first.case.name;
            wrong.push(format!(
                "{place}: {name} as {}: {session}\n  {before:?}\n  {after:?}",
                form.name()
            ));
        }
    }
    if first.final_state != again.final_state {
        wrong.push(format!("{place}: {} as {}: final state", first.case.name, form.name()));
    }
}

#[test]
fn comments_run_again_with_the_same_answers() {
    let mut wrong = Vec::new();
    for place in places(&Product::all()) {
        let target = place.target.as_ref();
        let cases = cases(target.info().product);
        for case in &cases {
            let first = run(target, case, level(target, case));
            let text = export(Form::Comments, &Script::of_run(&first)).expect("a script");
            let read = Case::parse(&case.name, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            compare(&place.url, Form::Comments, &first, &run(target, &read, None), &mut wrong);
        }
        println!("{}: {} cases as comments", target.info(), cases.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn specs_run_again_with_the_same_answers() {
    let mut wrong = Vec::new();
    let tester = tools::isolationtester();
    for place in places(&[Product::named("postgres")]) {
        let target = place.target.as_ref();
        let cases = cases(Product::named("postgres"));
        for case in &cases {
            let first = run(target, case, level(target, case));
            let text = export(Form::Spec, &Script::of_run(&first)).expect("a script");
            let spec = Spec::parse(&case.name, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let again = run(target, &spec.cases()[0], None);
            compare(&place.url, Form::Spec, &first, &again, &mut wrong);
            if let Some(tester) = &tester {
                wrong.extend(tools::run_spec(tester, &place.url, &text, &first));
            }
        }
        println!("{}: {} cases as specs", target.info(), cases.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mtr_tests_run_again_with_the_same_end() {
    let Some(tool) = tools::mysqltest() else { return };
    let mut wrong = Vec::new();
    for place in places(&[Product::named("mariadb")]) {
        let target = place.target.as_ref();
        let cases = cases(Product::named("mariadb"));
        for case in &cases {
            let first = run(target, case, level(target, case));
            let text = export(Form::Mtr, &Script::of_run(&first)).expect("a script");
            wrong.extend(tools::run_mtr(&tool, &place.url, &text, &first));
        }
        println!("{}: {} cases as mtr tests", target.info(), cases.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
