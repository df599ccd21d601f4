//! Planted faults at full speed: each of them is found wherever it breaks what the level promises.
//!
//! On embedded SQLite always, and on the servers in `ANCHORITE_TEST_URLS`. A run ends as soon as something is found.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anchorite_drivers::sabotage::{Sabotage, sabotaged_at_full_speed};
use anchorite_drivers::{Target, open};
use anchorite_model::Level;
use anchorite_stress::{Options, Ran, Standing, Status, Workload, run};

/// Enough for every one of them; most need a hundred.
const TRANSACTIONS: u64 = 6_000;

/// No transaction of the workloads shows these: they have no savepoints and break no constraints, and an error that was
/// invented breaks no promise.
const INVISIBLE: [Sabotage; 3] =
    [Sabotage::SavepointKept, Sabotage::FailureInvented, Sabotage::ErrorExchanged];

/// Where a sabotage can act, and what it then breaks: the target's names and the level.
fn place(sabotage: Sabotage, target: &dyn Target) -> Option<Level> {
    let product = target.info().product.name();
    let levels = target.levels();
    let strongest = *levels.last()?;
    let snapshot = *levels.iter().find(|level| **level >= Level::RepeatableRead)?;
    match sabotage {
        _ if INVISIBLE.contains(&sabotage) => None,
        // Honest sessions of SQLite are one behind the other: nobody has written while another one may read or write.
        _ if product == "sqlite" => SQLITE.contains(&sabotage).then_some(strongest),
        Sabotage::WriteSkew => Some(strongest).filter(|level| *level == Level::Serializable),
        // Only PostgreSQL and those that follow it have a conflict to ignore.
        Sabotage::ConflictIgnored => (product == "postgres").then_some(snapshot),
        // What was locked is written: there a write that comes too late fails, with the lock or without it.
        Sabotage::ReadLockNotTaken => {
            levels.contains(&Level::ReadCommitted).then_some(Level::ReadCommitted)
        }
        _ => Some(snapshot),
    }
}

/// What can act in a database whose writers are one behind the other.
const SQLITE: [Sabotage; 11] = [
    Sabotage::LostUpdate,
    Sabotage::LockNotTaken,
    Sabotage::StaleSnapshot,
    Sabotage::OwnWriteInvisible,
    Sabotage::RowMissed,
    Sabotage::EarlyCommit,
    Sabotage::RowSkipped,
    Sabotage::WriteLost,
    Sabotage::DuplicateExecution,
    Sabotage::CommitLost,
    Sabotage::RollbackKept,
];

/// A run that ends when a violation is seen.
fn hunt(target: &dyn Target, sabotage: Sabotage, level: Level) -> (Ran, u64) {
    let workloads = match sabotage {
        Sabotage::WriteSkew => vec![Workload::WriteSkew],
        _ => vec![Workload::Hot],
    };
    let found = Arc::new(AtomicBool::new(false));
    let options = Options {
        level: Some(level),
        sessions: 6,
        workloads,
        seed: 5,
        time: Duration::from_secs(60),
        transactions: TRANSACTIONS,
        interrupt: Arc::clone(&found),
        ..Options::default()
    };
    let planted = sabotaged_at_full_speed(target, sabotage);
    let ran = run(&planted, &options, None, &mut |status: &Status| {
        let is_found =
            status.names.iter().any(|((standing, _), _)| *standing == Standing::Violation);
        found.fetch_or(is_found, Ordering::Relaxed);
    });
    (ran.unwrap_or_else(|error| panic!("{sabotage}: {error}")), planted.acts())
}

#[test]
fn every_sabotage_that_breaks_the_level_is_found() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is sabotaged");
    }
    let mut missed = Vec::new();
    for url in ["sqlite:wal"].into_iter().chain(urls.split_whitespace()) {
        let target = open(url).expect("a target");
        let info = target.info().clone();
        for sabotage in Sabotage::ALL {
            let Some(level) = place(sabotage, target.as_ref()) else {
                println!("{info}: {sabotage} breaks nothing that these transactions could show");
                continue;
            };
            let (ran, acts) = hunt(target.as_ref(), sabotage, level);
            let violations =
                ran.counts.anomalies.iter().filter(|kind| kind.0.0 == Standing::Violation);
            let names: Vec<&str> = violations.map(|kind| kind.0.1).collect();
            println!(
                "{info} at {level}: {sabotage}: {acts} acts, {} committed: {names:?}",
                ran.committed
            );
            if names.is_empty() {
                missed.push(format!(
                    "{info} at {level}: {sabotage} ({acts} acts): {:?}",
                    ran.counts.aborts
                ));
            }
        }
    }
    assert!(missed.is_empty(), "not found: {missed:#?}");
}
