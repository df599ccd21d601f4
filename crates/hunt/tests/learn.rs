//! What is learnt from a target agrees with what is known about its product.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use anchorite_drivers::open;
use anchorite_generate::{FEATURES, known_support};
use anchorite_hunt::learn;
use anchorite_model::{Case, DbError, Ending, Level, Outcome, Product, Run, RunError, Runner};
use anchorite_stage::{FreshTables, RunOptions};

/// Everything that the product is known to have is found on this target.
fn check(url: &str) {
    let target = open(url).unwrap_or_else(|error| panic!("{error}"));
    let product = target.info().product;
    let mut runner = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    let learnt = learn(&mut runner, product).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(learnt.unsure, [""; 0], "{}", target.info());
    let learnt = learnt.support;
    let known = known_support(product);
    let only_in =
        |has: &anchorite_generate::Support, lacks: &anchorite_generate::Support| -> Vec<&str> {
            let names = FEATURES.iter().map(|feature| feature.name);
            names.filter(|name| has.has(name) && !lacks.has(name)).collect()
        };
    println!("{}: more than known: {:?}", target.info(), only_in(&learnt, &known));
    let missing = only_in(&known, &learnt);
    assert!(missing.is_empty(), "{} lacks {missing:?}", target.info());
}

/// Loses the connection in one probe, so many times.
struct Clumsy<'a> {
    runner: FreshTables<'a>,
    probe: usize,
    losses: usize,
    asked: Vec<Case>,
}

impl Runner for Clumsy<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        let mut run = self.runner.run(case, level)?;
        if self.asked.last() != Some(case) {
            self.asked.push(case.clone());
        }
        if self.asked.len() == self.probe && self.losses > 0 {
            self.losses -= 1;
            run.ending = Ending::TargetLost("the server closed all connections".to_owned());
        }
        Ok(run)
    }
}

#[test]
fn a_lost_connection_says_nothing_about_an_option() {
    let target = open("sqlite").expect("it is built in");
    let ask = |losses| {
        let runner = FreshTables { target: target.as_ref(), options: RunOptions::default() };
        let mut clumsy = Clumsy { runner, probe: 3, losses, asked: Vec::new() };
        learn(&mut clumsy, target.info().product).expect("the server answers")
    };
    let undisturbed = ask(0);
    assert_eq!(undisturbed.unsure, [""; 0]);
    assert_eq!(ask(1), undisturbed, "a probe that lost its connection is run again");
    let unsure = ask(2);
    assert_eq!(
        unsure.unsure.len(),
        1,
        "an option of which nothing is known is left out, and named"
    );
    assert!(!unsure.support.has(unsure.unsure[0]));
}

/// An account of some product that may not do what one of the probes does, and the code that says so.
struct Forbidding<'a>(FreshTables<'a>, Product, &'static str);

impl Runner for Forbidding<'_> {
    fn run(&mut self, case: &Case, level: Option<Level>) -> Result<Run, RunError> {
        let mut run = self.0.run(case, level)?;
        run.target.product = self.1;
        for event in run.events.iter_mut().filter(|event| event.sql.contains("FOREIGN KEY")) {
            let error = DbError { code: self.2.to_owned(), ..DbError::default() };
            event.outcome = Outcome::Error(error);
        }
        Ok(run)
    }
}

#[test]
fn what_an_account_may_not_do_says_nothing_about_the_product() {
    let target = open("sqlite").expect("it is built in");
    // The codes of a missing privilege belong to the product.
    for (product, code, is_forbidden) in [
        ("mariadb", "1142", true),
        ("postgres", "42501", true),
        ("mariadb", "1064", false),
        ("sqlite", "1142", false),
    ] {
        let product: Product = product.parse().expect("it is built in");
        let runner = FreshTables { target: target.as_ref(), options: RunOptions::default() };
        let mut runner = Forbidding(runner, product, code);
        let learnt = learn(&mut runner, target.info().product).expect("it answers");
        assert!(!learnt.support.has("foreign-key"), "{code}");
        assert_eq!(learnt.forbidden.contains(&"foreign-key"), is_forbidden, "{code}");
    }
}

#[test]
fn sqlite_has_what_is_known_of_it() {
    check("sqlite");
}

#[test]
fn servers_have_what_is_known_of_them() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server");
    }
    urls.split_whitespace().for_each(check);
}
