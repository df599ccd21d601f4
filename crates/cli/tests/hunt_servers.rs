//! kill -9 of the server that is hunted on: noticed each time, kept as a finding, and the hunt goes on.
//!
//! Runs with the private servers that `ANCHORITE_TEST_SERVERS` names (`mariadb@10.11 postgres@15`); three kills
//! each, twenty with `ANCHORITE_SLOW_CASES`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anchorite_target::wait_readable;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(120);

fn wait_until(what: &str, child: &mut Child, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LIMIT, "waited too long until {what}");
        assert!(child.try_wait().expect("a state").is_none(), "the hunt ended before {what}");
        wait_readable(&[], Duration::from_millis(5));
    }
}

/// The process of the private server: the child that has a port on its command line.
fn server_of(number: u32) -> Option<u32> {
    let tasks = fs::read_dir(format!("/proc/{number}/task")).ok()?.flatten();
    let children: String =
        tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok()).collect();
    children.split_whitespace().filter_map(|child| child.parse().ok()).find(|child: &u32| {
        let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        [" --port=", " -p ", " -P "].iter().any(|port| line.contains(port))
            && !line.contains("--initialize")
    })
}

fn lines(file: &Path) -> usize {
    fs::read(file).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
}

#[test]
fn a_server_that_is_killed_is_a_finding_and_comes_back() {
    let named = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    if named.is_empty() {
        println!("skipped: ANCHORITE_TEST_SERVERS names no server");
    }
    let kills = if std::env::var_os("ANCHORITE_SLOW_CASES").is_some() { 20 } else { 3 };
    for server in named.split_whitespace() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let mut child = Command::new(env!("CARGO_BIN_EXE_anchorite"))
            .args(["hunt", "--on", server, "--time", "1h", "--format", "json", "--out"])
            .arg(&out)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("it starts");
        let crashes = out.join("crashes");
        for kill in 1..=kills {
            let journalled = lines(&out.join("progress"));
            let what = format!("cases are done before kill {kill}");
            wait_until(&what, &mut child, || lines(&out.join("progress")) > journalled);
            let pid = server_of(child.id()).expect("the private server");
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
            kill_process(pid, Signal::KILL).expect("it can be killed");
            wait_until(&format!("kill {kill} is recorded"), &mut child, || {
                fs::read_dir(&crashes).map_or(0, Iterator::count) >= kill
            });
        }
        let journalled = lines(&out.join("progress"));
        wait_until("it goes on", &mut child, || lines(&out.join("progress")) > journalled);
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, Signal::INT).expect("it can be interrupted");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{server}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        let findings = document["findings"].as_array().expect("findings");
        let hits: u64 = findings
            .iter()
            .filter(|finding| finding["oracle"] == "crash")
            .filter_map(|finding| finding["hits"].as_u64())
            .sum();
        assert_eq!(hits, kills as u64, "{server}: {document}");
        for entry in fs::read_dir(&crashes).expect("crashes") {
            let folder = entry.expect("an entry").path();
            assert!(folder.join("crash.json").exists() && folder.join("server.log").exists());
        }
        println!("{server}: killed {kills} times, noticed and brought back each time");
    }
}
