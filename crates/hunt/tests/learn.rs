//! What is learnt from a target agrees with what is known about its product.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use anchorite_generate::{FEATURES, known_support};
use anchorite_hunt::learn;
use anchorite_stage::{FreshTables, RunOptions};
use anchorite_target::open;

/// Everything that the product is known to have is found on this target.
fn check(url: &str) {
    let target = open(url).unwrap_or_else(|error| panic!("{error}"));
    let product = target.info().product;
    let mut runner = FreshTables { target: target.as_ref(), options: RunOptions::default() };
    let learnt = learn(&mut runner, product).unwrap_or_else(|error| panic!("{error}"));
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
