//! A run on fresh tables records what the server is set to, as its sessions have it.

#![allow(clippy::print_stdout, reason = "tests tell what they skipped")]

mod support;

use anchorite_model::Product;
use anchorite_stage::{RunOptions, run_case};
use support::{case, plain_level, servers};

#[test]
fn a_run_records_the_default_level_and_the_limit_on_waits() {
    let case = case("one", 1, &[], vec![(0, "SELECT 1".to_owned())]);
    for target in servers() {
        let options = RunOptions { level: plain_level(target.as_ref()), ..RunOptions::default() };
        let run = run_case(target.as_ref(), &case, &options).expect("it runs");
        let names: Vec<&str> = run.settings.iter().map(|(name, _)| name.as_str()).collect();
        let is_default = |name: &&&str| {
            ["global tx_isolation", "global transaction_isolation", "default_transaction_isolation"]
                .contains(*name)
        };
        assert_eq!(names.iter().filter(is_default).count(), 1, "{}: {names:?}", target.info());
        let limit = match target.info().product.name() {
            "postgres" | "cockroach" => "lock_timeout",
            _ => "innodb_lock_wait_timeout",
        };
        // CockroachDB has no such limit before v21.2.
        let told = names.contains(&limit) || target.info().product == Product::named("cockroach");
        assert!(told, "{}: {names:?}", target.info());
        assert!(run.settings.iter().all(|(name, _)| !name.is_empty()), "{}", target.info());
    }
}
