//! A disk without room takes nothing that was acknowledged, and the run goes on when there is room again.
//!
//! Embedded SQLite always, and the private servers that `ANCHORITE_TEST_SERVERS` names. The command mounts a small disk
//! that only it can see; where the system does not permit that, the test says that it was skipped.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::process::Command;

use serde_json::Value;

/// The document of a run, or `None` if the system lets nobody mount anything.
fn stress(target: &str, transactions: &str, every: &str) -> Option<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.args(["stress", "--on", target, "--faults", "fill-disk", "--fault-every", every]);
    command.args(["--txns", transactions, "--seed", "3", "--time", "600s", "--format", "json"]);
    command.args(["--workload", "register", "--workload", "bank", "--workload", "generated"]);
    let output = command.output().expect("the command starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(3) && told.contains("does not let us have a small disk") {
        println!("skipped: {told}");
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{target}: {told}\n{text}");
    Some(serde_json::from_str(&text).expect("one document"))
}

fn count(document: &Value, path: &str) -> u64 {
    document.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

/// The disk was full so often at least, and nothing is missing.
fn check(target: &str, document: &Value, at_least: u64) {
    println!(
        "{target}: {} committed, aborts {}, faults {}, unknown {}",
        document["transactions"], document["aborts"], document["faults"], document["unknown"]
    );
    assert!(count(document, "/faults/fill-disk") >= at_least, "{target}: {document:#}");
    assert_eq!(count(document, "/verdicts/violation"), 0, "{target}: {document:#}");
    assert!(count(document, "/transactions") > 100, "{target}: {document:#}");
}

#[test]
fn a_full_disk_takes_nothing_from_sqlite() {
    for target in ["sqlite", "sqlite:wal"] {
        if let Some(document) = stress(target, "600", "150") {
            check(target, &document, 2);
            let failed = count(&document, "/aborts/other") + count(&document, "/unknown");
            assert!(failed > 0, "{target}: nobody noticed that there was no room: {document:#}");
        }
    }
}

/// A server has room in files that are larger than their contents: whether it needs more is not sure.
#[test]
fn a_full_disk_takes_nothing_from_a_server() {
    let named = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    let known = ["mariadb", "postgres"];
    let servers = named.split_whitespace().filter(|name| known.iter().any(|p| name.starts_with(p)));
    let servers: Vec<&str> = servers.collect();
    if servers.is_empty() {
        println!("skipped: ANCHORITE_TEST_SERVERS names no server whose disk could be filled");
    }
    for server in servers {
        if let Some(document) = stress(server, "1000", "250") {
            check(server, &document, 1);
        }
    }
}
