//! How many of the generated cases can keep chains, and what the others are.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::collections::BTreeMap;

use anchorite_generate::{Recipe, case};
use anchorite_model::{Case, Product};
use anchorite_sql::chained::{Style, chained, chained_setup, view};

/// The statements of a case that cannot keep chains, each with the reason.
fn refused(case: &Case, product: Product) -> Option<(&'static str, &str)> {
    let dialect = product.dialect();
    let returning = product.descriptor().features.contains("delete-returning");
    let views = case.setup.iter().filter_map(|one| view(&one.sql, dialect)).collect();
    let style = Style { dialect, returning, views };
    let mut setup = case.setup.iter();
    let of_setup = setup.find_map(|one| {
        chained_setup(&one.sql, "s0", &style).err().map(|why| (why, one.sql.as_str()))
    });
    let mut steps = case.steps.iter().map(|step| step.statement.sql.as_str());
    of_setup.or_else(|| steps.find_map(|sql| chained(sql, "1", &style).err().map(|why| (why, sql))))
}

#[test]
fn most_generated_cases_can_keep_chains() {
    for product in Product::all() {
        let recipe = Recipe::new(product);
        // Far apart, so that they do not share their tables.
        let cases: Vec<Case> = (0..200).map(|at| case(&recipe, 1, at * 50)).collect();
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (why, sql) in cases.iter().filter_map(|case| refused(case, product)) {
            reasons.entry(why).or_default().push(sql);
        }
        let count: usize = reasons.values().map(Vec::len).sum();
        println!("{product}: {count} of {}", cases.len());
        // CockroachDB's set-ups have columns of a form that the parser does not know.
        let most = if product.name() == "cockroach" { 16 } else { 4 };
        assert!(count * 100 <= cases.len() * most, "{product}: {reasons:#?}");
        for (why, texts) in &reasons {
            println!("  {} {why}: {:#?}", texts.len(), &texts[..texts.len().min(12)]);
        }
    }
}
