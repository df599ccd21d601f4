//! The dependencies between the statements of `cases/edges`, as the texts that these cases are from derive them.
//!
//! A header line `edge: STEP before STEP: KIND` is one that is certain; there are no others between transactions. The
//! schedules are serial, so the edges are the same everywhere: embedded SQLite always runs; servers are the URLs in
//! `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

mod common;

use std::collections::BTreeSet;

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_judge::evidence::Prepared;
use anchorite_judge::traced::case::chained_case;
use anchorite_judge::traced::told;
use anchorite_judge::{Evidence, Laboratory};
use anchorite_model::{Case, Runner};
use anchorite_stage::{FreshTables, RunOptions};
use common::{cases_folder, read_cases};

/// The edges that a case announces.
fn announced(case: &Case) -> BTreeSet<String> {
    let lines = case.header.other.iter().filter(|(key, _)| key == "edge");
    lines.map(|(_, edge)| edge.clone()).collect()
}

/// The certain edges between statements of different transactions.
fn found(target: &dyn Target, case: &Case) -> BTreeSet<String> {
    let mut runner = FreshTables { target, options: RunOptions::default() };
    let chained = chained_case(case, target.info().product).expect("statements that keep chains");
    let run = runner.run(&chained.case, None).expect("a run");
    let evidence = Evidence::new(&run, Claims::for_target(target.info()), Prepared::new());
    let mut laboratory = Laboratory::new(&mut runner, None);
    let told = told(chained, &evidence, &mut laboratory).expect("every version is known");
    let traced = told.by(evidence.transactions().expect("transactions"));
    let nodes = traced.nodes();
    let of = |node: usize| told.case.of(nodes[node].performed.n);
    let all = traced.between(&nodes).certain.into_iter();
    // Outside a transaction, a query of all rows before a statement is a transaction of its own.
    let between = all.filter(|edge| {
        nodes[edge.from].transaction != nodes[edge.to].transaction && of(edge.from) != of(edge.to)
    });
    let told = between
        .map(|edge| format!("{} before {}: {}", of(edge.from), of(edge.to), edge.kind_name()));
    told.collect()
}

#[test]
fn every_edge_is_as_the_text_derives_it() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    let cases = read_cases(&cases_folder("edges"));
    assert!(!cases.is_empty());
    for url in ["sqlite", "sqlite:wal"].into_iter().chain(urls.split_whitespace()) {
        let target = open(url).unwrap_or_else(|error| panic!("{error}"));
        let product = target.info().product;
        for case in cases.iter().filter(|case| case.header.targets.contains(&product)) {
            let place = format!("{} on {}", case.name, target.info());
            assert_eq!(found(target.as_ref(), case), announced(case), "{place}");
        }
    }
}
