//! A hunt whose process gets the signal of a crash, as an engine in it would cause: to its user it is the same process,
//! which goes on, ends with exit code 1, and can be interrupted as before.
//!
//! Which case it was is tested with an engine that really crashes, in `crates/hunt/tests/taken_along.rs`.

#[path = "../../hunt/tests/until/mod.rs"]
mod until;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(120);
const CASES: u64 = 300;
const JOBS: u64 = 2;

/// Few cases share their tables, so that progress is written down often.
fn start(folder: &Path, budget: [&str; 2]) -> Child {
    std::fs::write(folder.join("weights.toml"), "[case]\ngroup = 4\n").expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.current_dir(folder).args(["hunt", "--seed", "5", "--jobs", "2", "--out", "out"]);
    command.args(["--weights", "weights.toml", "--format", "json"]).args(budget);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, signal).expect("it can be sent");
}

fn lines(file: &Path) -> usize {
    let bytes = std::fs::read(file).unwrap_or_default();
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Waits until there are more lines in the journal than a recorded crash writes, one for each case that is left out.
fn wait_for_progress(child: &Child, folder: &Path) {
    let journal = folder.join("out/progress");
    let before = lines(&journal);
    let has_more = || lines(&journal) > before + JOBS as usize + 1;
    assert!(until::is_written("the hunt gets on", folder, child.id(), LIMIT, has_more));
}

#[test]
fn a_hunt_that_crashes_goes_on_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = start(folder.path(), ["--cases", &CASES.to_string()]);
    for signal in [Signal::SEGV, Signal::ABORT] {
        wait_for_progress(&child, folder.path());
        let crashes = folder.path().join("out/outcomes");
        let before = lines(&crashes);
        send(&child, signal);
        let is_recorded = || lines(&crashes) > before;
        until::is_written("it is recorded", folder.path(), child.id(), LIMIT, is_recorded);
    }
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let text = String::from_utf8_lossy(&output.stdout);
    let summary: Value = serde_json::from_str(&text).expect("one document");
    assert_eq!(summary["servers_lost"], 2, "{said}");
    let oracles: Vec<&Value> =
        summary["findings"].as_array().expect("a list").iter().map(|f| &f["oracle"]).collect();
    assert_eq!(oracles, ["crash", "crash"], "{summary}");
    let cases = summary["cases"].as_u64().expect("a number");
    assert!((CASES - 2 * JOBS..=CASES).contains(&cases), "each case once: {cases}");
    assert_eq!(said.matches("Hunting for broken isolation").count(), 1, "{said}");
    for signal in ["SIGSEGV", "SIGABRT"] {
        assert!(said.contains(&format!("its process ended with {signal}")), "{said}");
    }
    let file = summary["findings"][0]["file"].as_str().expect("a path");
    a_sequence_is_not_reduced(&folder.path().join(file).with_file_name("finding.json"));
}

/// A finding that needs the cases before it, made from another one, is not taken for a single case.
fn a_sequence_is_not_reduced(finding: &Path) {
    let text = std::fs::read_to_string(finding).expect("a finding");
    let mut document: Value = serde_json::from_str(&text).expect("a document");
    document["before"] = Value::Array(vec![document["original"].clone()]);
    std::fs::write(finding, document.to_string()).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    let output = command.arg("reduce").arg(finding).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is a sequence of 2 cases"), "{said}");
}

#[test]
fn a_hunt_that_has_crashed_can_be_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = start(folder.path(), ["--time", "10m"]);
    wait_for_progress(&child, folder.path());
    send(&child, Signal::SEGV);
    wait_for_progress(&child, folder.path());
    send(&child, Signal::INT);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("to continue: anchorite hunt --out out --resume"), "{said}");
}
