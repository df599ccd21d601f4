//! The server that is hunted on is killed or stopped: told correctly and soon, nothing is left on it, and the hunt goes
//! on where it can.
//!
//! Runs with the private servers that `ANCHORITE_TEST_SERVERS` names (`mariadb@10.11 postgres@15`). `ANCHORITE_KILLS`
//! says how often each of them is killed, as somebody else's server and as the hunt's own; default: twice.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

#[path = "../../hunt/tests/until/mod.rs"]
mod until;

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anchorite_drivers::open;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Within this time after a kill the hunt has told what happened.
const TOLD_WITHIN: Duration = Duration::from_secs(90);
/// A server that comes up is looked for again after this time, or when it has ended.
const NEXT_LOOK: Duration = Duration::from_millis(5);
/// A hunt that is to notice that its server does not come back lasts this long; it waits no longer than that.
const SHORT_HUNT: &str = "12s";

fn servers() -> Vec<String> {
    let named = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    if named.is_empty() {
        println!("skipped: ANCHORITE_TEST_SERVERS names no server");
    }
    named.split_whitespace().map(str::to_owned).collect()
}

fn kills() -> usize {
    std::env::var("ANCHORITE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(2)
}

fn anchorite(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn signal(number: u32, signal: Signal) {
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, signal).expect("it can be signalled");
}

/// So many cases are done.
fn done(out: &Path) -> u64 {
    let text = fs::read_to_string(out.join("progress")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| Some(line["to"].as_u64()? - line["from"].as_u64()?)).sum()
}

/// So many times it was written down that a server went away.
fn recorded(out: &Path) -> usize {
    fs::read_dir(out.join("crashes")).map_or(0, Iterator::count)
}

/// The hits of the findings of the crash oracle.
fn crash_hits(document: &Value) -> u64 {
    let findings = document["findings"].as_array().expect("findings");
    let crashes = findings.iter().filter(|finding| finding["oracle"] == "crash");
    crashes.filter_map(|finding| finding["hits"].as_u64()).sum()
}

/// A hunt with its folder.
struct Hunt {
    child: Child,
    out: PathBuf,
    _folder: tempfile::TempDir,
}

impl Hunt {
    fn start(target: &str, time: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let arguments = ["hunt", "--on", target, "--time", time, "--format", "json", "--out"];
        let child = anchorite(&arguments).arg(&out).spawn().expect("it starts");
        let hunt = Self { child, out, _folder: folder };
        hunt.goes_on(0);
        hunt
    }

    /// Waits until more cases are done.
    fn goes_on(&self, before: u64) {
        self.writes("cases are done", |out| done(out) > before);
    }

    /// Waits until its folder shows something.
    fn writes(&self, what: &str, condition: impl Fn(&Path) -> bool) {
        let folder = self.out.parent().expect("a folder");
        let number = self.child.id();
        let shows = || condition(&self.out);
        let is_written = until::is_written(what, folder, number, TOLD_WITHIN, shows);
        assert!(is_written, "the hunt has ended before {what}");
    }

    fn ends(self) -> (Output, Value, PathBuf, tempfile::TempDir) {
        let output = self.child.wait_with_output().expect("it ends");
        let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
        });
        (output, document, self.out, self._folder)
    }
}

/// A server that is not the hunt's: kept, killed by us, and started again with the same data.
struct Foreign {
    url: String,
    pid: u32,
    folder: PathBuf,
    /// Keeps others from tidying up while the server is down.
    _state: tempfile::TempDir,
    command: Vec<String>,
    user: (u32, u32),
    again: Option<Child>,
}

impl Foreign {
    fn start(server: &str) -> Self {
        let state = tempfile::tempdir().expect("a folder");
        let mut start = anchorite(&["server", "start", server, "--keep", "--format", "json"]);
        let output = start.env("ANCHORITE_STATE", state.path()).output().expect("it starts");
        let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        let running = &document["servers"][0]["running"];
        let pid = running["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a pid");
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).expect("a command line");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
        let id = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).expect("an id");
            line.split_whitespace().nth(1).and_then(|id| id.parse().ok()).expect("a number")
        };
        Self {
            url: running["url"].as_str().expect("a URL").to_owned(),
            pid,
            folder: running["folder"].as_str().expect("a folder").into(),
            _state: state,
            command: line.split_terminator('\0').map(str::to_owned).collect(),
            user: (id("Uid:"), id("Gid:")),
            again: None,
        }
    }

    /// Ends it, and waits until it has ended.
    fn end(&mut self, how: Signal) {
        signal(self.pid, how);
        assert!(until::has_ended(self.pid, TOLD_WITHIN), "the server does not end");
        self.again.take().map(|mut child| child.wait());
    }

    /// Starts it again, as often as needed: helpers of a process that was killed may hold its memory for a moment.
    fn start_again(&mut self) {
        let begun = Instant::now();
        self.spawn();
        while open(&self.url).is_err() {
            assert!(begun.elapsed() < TOLD_WITHIN, "waited too long until the server answers");
            if self.again.as_ref().is_none_or(|child| until::has_ended(child.id(), NEXT_LOOK)) {
                self.spawn();
            }
        }
    }

    fn spawn(&mut self) {
        // Files that name a process that was killed would be taken for those of one that runs.
        let _ = fs::remove_file(self.folder.join("data/postmaster.pid"));
        for entry in fs::read_dir(self.folder.join("run")).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(".s.PGSQL") {
                let _ = fs::remove_file(entry.path());
            }
        }
        let log = fs::File::options().append(true).open(self.folder.join("log")).expect("a log");
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).uid(self.user.0).gid(self.user.1).process_group(0);
        let child = command
            .current_dir(self.folder.join("data"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("it starts");
        self.pid = child.id();
        self.again = Some(child);
    }

    /// Everything of ours that is on it.
    fn left(&self) -> Vec<String> {
        let target = open(&self.url).expect("it answers");
        target.marked().expect("a list").into_iter().map(|marked| marked.name).collect()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        self.again.take().map(|mut child| child.wait());
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// SIGTERM lets PostgreSQL wait for its clients to go; SIGINT does not.
const ENDS: [Signal; 3] = [Signal::KILL, Signal::TERM, Signal::INT];

fn ends_for(server: &str) -> &'static [Signal] {
    if server.starts_with("postgres") { &ENDS } else { &ENDS[..2] }
}

#[test]
fn somebody_elses_server_that_is_killed_is_waited_for_once() {
    for server in servers() {
        let mut foreign = Foreign::start(&server);
        let mut slowest = Duration::ZERO;
        for kill in 0..kills() {
            let comes_back = kill % 2 == 0;
            let how = ends_for(&server)[kill / 2 % ends_for(&server).len()];
            let hunt = Hunt::start(&foreign.url, if comes_back { "1h" } else { SHORT_HUNT });
            let killed = Instant::now();
            foreign.end(how);
            if comes_back {
                foreign.start_again();
                hunt.writes("it is written down", |out| recorded(out) > 0);
                slowest = slowest.max(killed.elapsed());
                let before = done(&hunt.out);
                hunt.goes_on(before);
                signal(hunt.child.id(), Signal::INT);
            }
            let (output, document, out, _folder) = hunt.ends();
            slowest = slowest.max(if comes_back { Duration::ZERO } else { killed.elapsed() });
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let about = format!("{server}, kill {kill} by {how:?}: {told}{document}");
            assert_eq!(output.status.code(), Some(if comes_back { 130 } else { 3 }), "{about}");
            assert!(told.contains("went away at") && !told.contains("server lives"), "{about}");
            let outcome = if comes_back { "it came back" } else { "was not back after" };
            assert!(told.contains(outcome), "{about}");
            assert_eq!(recorded(&out), 1, "{about}");
            let crashes = u64::from(how == Signal::KILL);
            assert_eq!(crash_hits(&document), crashes, "{about}");
            assert_eq!(document["servers_lost"], crashes, "{about}");
            assert_eq!(document["servers_stopped"], 1 - crashes, "{about}");
            if !comes_back {
                assert!(told.contains("the next command there removes them"), "{about}");
                foreign.start_again();
                let next = anchorite(&["probe", "--on", &foreign.url]).output().expect("it starts");
                assert_eq!(next.status.code(), Some(0), "{server}");
            }
            assert_eq!(foreign.left(), Vec::<String>::new(), "{about}");
        }
        assert!(slowest < TOLD_WITHIN, "{server}: {slowest:?}");
        println!(
            "{server}: somebody else's, ended {} times, told after {slowest:?} at most",
            kills()
        );
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

#[test]
fn a_server_of_our_own_that_is_stopped_is_no_finding_and_one_that_crashes_is() {
    for server in servers() {
        let hunt = Hunt::start(&server, "1h");
        let mut slowest = Duration::ZERO;
        for kill in 0..=kills() {
            let is_crash = kill == kills();
            let ends = ends_for(&server);
            let how = if is_crash { Signal::SEGV } else { ends[kill % ends.len()] };
            let before = done(&hunt.out);
            hunt.goes_on(before);
            signal(server_of(hunt.child.id()).expect("the private server"), how);
            let what = format!("kill {kill} by {how:?} is written down");
            let begun = Instant::now();
            hunt.writes(&what, |out| recorded(out) > kill);
            slowest = slowest.max(begun.elapsed());
        }
        let before = done(&hunt.out);
        hunt.goes_on(before);
        signal(hunt.child.id(), Signal::INT);
        let (output, document, out, _folder) = hunt.ends();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{server}: {told}");
        assert_eq!(crash_hits(&document), 1, "{server}: {document}{told}");
        assert_eq!(document["servers_stopped"], kills(), "{server}: {document}{told}");
        for entry in fs::read_dir(out.join("crashes")).expect("crashes") {
            let folder = entry.expect("an entry").path();
            assert!(folder.join("crash.json").exists() && folder.join("server.log").exists());
        }
        look_at_crash(&document);
        println!("{server}: our own, ended {} times, told after {slowest:?} at most", kills());
    }
}

/// The report of a crash says what was really run, with a schedule and whole lines.
fn look_at_crash(document: &Value) {
    let findings = document["findings"].as_array().expect("findings");
    let crash = findings.iter().find(|finding| finding["oracle"] == "crash").expect("a crash");
    let file = PathBuf::from(crash["file"].as_str().expect("a file"));
    let read = |name: &str| {
        let mut text = String::new();
        let file = fs::File::open(file.with_file_name(name));
        file.and_then(|mut file| file.read_to_string(&mut text)).expect(name);
        text
    };
    let report = read("report.md");
    assert!(!report.contains("\\n"), "{report}");
    assert!(report.contains("none crashed it again"), "{report}");
    let finding: Value = serde_json::from_str(&read("finding.json")).expect("a document");
    assert!(!finding["run"]["events"].as_array().expect("events").is_empty(), "{finding}");
    assert_eq!(finding["confirmed"], serde_json::json!({"shown": 0, "runs": 1}), "{finding}");
}
