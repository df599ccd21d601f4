//! What killed runs leave on a target: found and removed by the next command there, or by `anchorite clean`.
//!
//! SQLite always; also the servers that `ANCHORITE_TEST_URLS` names.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anchorite_drivers::{Marked, Owner, SessionOptions, Target, execute, open};
use anchorite_owner::digest;
use serde_json::Value;

/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(60);
/// An hour after 1970, in hexadecimal.
const LONG_AGO: &str = "e10";

fn targets() -> Vec<String> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.is_empty() {
        println!("servers skipped: ANCHORITE_TEST_URLS names none");
    }
    urls.split_whitespace().map(str::to_owned).collect()
}

fn anchorite(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    anchorite(arguments).output().expect("the command starts")
}

fn text(output: &Output) -> String {
    let [out, told] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
    format!("{out}{told}")
}

/// One test at a time: each command removes what others have left on the same server.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// What this process made on the target and is still there.
fn made_by(pid: u32, target: &dyn Target, owner: Owner) -> Vec<String> {
    let all = target.marked().expect("a list").into_iter();
    let is_of = |name: &str| name.contains(&format!("_{pid}_"));
    all.filter(|marked| marked.owner == owner && is_of(&marked.name)).map(|m| m.name).collect()
}

/// A hunt that is killed as soon as something of it is on the target; its process number.
fn leave_something(url: &str, target: &dyn Target) -> u32 {
    let folder = tempfile::tempdir().expect("a folder");
    let mut hunt = anchorite(&["hunt", "--on", url, "--time", "10m", "--jobs", "1"]);
    let mut hunt = hunt.current_dir(folder.path()).spawn().expect("it starts");
    let begun = Instant::now();
    let pid = hunt.id();
    // Each look is a question to the target, and waits for its answer.
    while made_by(pid, target, Owner::Running).len() < 2 {
        assert!(begun.elapsed() < LIMIT, "{url}: the hunt does not get on");
        assert!(hunt.try_wait().expect("a state").is_none(), "{url}: the hunt ended");
    }
    hunt.kill().expect("it can be killed");
    hunt.wait().expect("it ends");
    pid
}

#[test]
fn the_next_command_removes_what_a_killed_run_left() {
    let _alone = alone();
    for url in targets() {
        let target = open(&url).expect("the target opens");
        let pid = leave_something(&url, target.as_ref());
        let left = made_by(pid, target.as_ref(), Owner::Ended);
        assert!(!left.is_empty(), "{url}: nothing was left, so nothing is tested");
        let case = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/probe/P4.case");
        let next = run(&["run", case, "--on", &url]);
        assert!(text(&next).contains("that earlier runs had left on"), "{}", text(&next));
        let left_then = made_by(pid, target.as_ref(), Owner::Ended);
        assert_eq!(left_then, Vec::<String>::new(), "{url}");
        println!("{url}: {} removed by the next command", left.len());
    }
}

#[test]
fn clean_shows_first_and_drops_only_what_may_go() {
    let _alone = alone();
    for url in targets() {
        let target = open(&url).expect("the target opens");
        let pid = leave_something(&url, target.as_ref());
        let ours = target.create_schema().expect("a schema of a run that goes on");
        let ended = made_by(pid, target.as_ref(), Owner::Ended);
        let elsewhere = format!("anchorite_00000001_4711_1_{LONG_AGO}_0");
        let elsewhere = format!("{elsewhere}_{:04x}", digest(&elsewhere) & 0xffff);
        let made = [elsewhere.as_str(), "anchorite_4711_1_deadbeef", "anchorite_of_the_user"];
        let verb = match target.info().product.name() {
            "postgres" => "SCHEMA",
            _ => "DATABASE",
        };
        let options = SessionOptions { name: "test".into(), level: None, lock_wait: LIMIT };
        let mut session = ours.open(&options).expect("a session").session;
        for name in made {
            let sql = format!("CREATE {verb} IF NOT EXISTS {name}");
            execute(session.as_mut(), &sql, LIMIT).expect("made");
        }
        let listed = run(&["clean", &url]);
        assert_eq!(listed.status.code(), Some(0), "{}", text(&listed));
        let told = text(&listed);
        for name in &ended {
            assert!(told.contains(&format!("{name} (of a run that has ended")), "{told}");
        }
        assert!(told.contains("Nothing was dropped; --yes drops"), "{told}");
        assert!(!told.contains("anchorite_of_the_user"), "{told}");
        assert_eq!(made_by(pid, target.as_ref(), Owner::Ended).len(), ended.len(), "{url}");

        let dropped = run(&["clean", &url, "--yes", "--format", "json"]);
        assert_eq!(dropped.status.code(), Some(0), "{}", text(&dropped));
        let document: Value = serde_json::from_slice(&dropped.stdout).expect("one document");
        let found = document["found"].as_array().expect("a list");
        let is_dropped = |name: &str| {
            let entry = found.iter().find(|entry| entry["name"] == name);
            entry.map(|entry| entry["dropped"] == true)
        };
        assert!(ended.iter().all(|name| is_dropped(name) == Some(true)), "{document}");
        assert_eq!(is_dropped(&elsewhere), Some(true), "{document}");
        assert_eq!(is_dropped("anchorite_4711_1_deadbeef"), Some(false), "{document}");
        assert_eq!(is_dropped(ours.name()), Some(false), "{document}");
        let all = run(&["clean", &url, "--yes", "--all"]);
        assert!(text(&all).contains("Dropped 1 leftover."), "{}", text(&all));
        assert_eq!(made_by(std::process::id(), target.as_ref(), Owner::Us), [ours.name()], "{url}");
        let sql = format!("DROP {verb} anchorite_of_the_user");
        execute(session.as_mut(), &sql, LIMIT).expect("what only looks like ours is still there");
    }
}

/// A name that a process of this machine gave which has ended since.
fn name_of_somebody_who_ended() -> String {
    let mut child = Command::new("true").spawn().expect("it starts");
    child.wait().expect("it ends");
    let place = anchorite_owner::place().expect("this machine");
    let said = format!("anchorite_{place:08x}_{}_1_{LONG_AGO}_0", child.id());
    format!("{said}_{:04x}", digest(&said) & 0xffff)
}

#[test]
fn a_prepared_transaction_does_not_keep_a_leftover_alive() {
    let _alone = alone();
    for url in targets().iter().filter(|url| url.starts_with("postgres")) {
        let target = open(url).expect("the target opens");
        let schema = target.create_schema().expect("a schema");
        let options = SessionOptions { name: "test".into(), level: None, lock_wait: LIMIT };
        let mut session = schema.open(&options).expect("a session").session;
        let name = name_of_somebody_who_ended();
        for sql in [
            format!("CREATE SCHEMA {name}"),
            format!("CREATE TABLE {name}.t (a INT)"),
            "BEGIN".to_owned(),
            format!("INSERT INTO {name}.t VALUES (1)"),
            format!("PREPARE TRANSACTION 'it''s left: {name}'"),
        ] {
            execute(session.as_mut(), &sql, LIMIT).expect("done");
        }
        let cleaned = run(&["clean", url, "--yes"]);
        assert_eq!(cleaned.status.code(), Some(0), "{}", text(&cleaned));
        assert!(text(&cleaned).contains(&format!("{name} (of a run that has ended")));
        let sql = format!("SELECT gid FROM pg_prepared_xacts WHERE gid LIKE '%{name}'");
        let answer = execute(session.as_mut(), &sql, LIMIT).expect("an answer");
        assert!(answer.results[0].rows.is_empty(), "the transaction is gone, too");
        let is_there = |marked: &Marked| marked.name == name;
        assert!(!target.marked().expect("a list").iter().any(is_there), "{url}");
    }
}

#[test]
fn folders_of_killed_runs_go_with_the_next_one() {
    let _alone = alone();
    let target = open("sqlite").expect("it is built in");
    let pid = leave_something("sqlite", target.as_ref());
    assert!(!made_by(pid, target.as_ref(), Owner::Ended).is_empty(), "nothing was left");
    let next = run(&["hunt", "--cases", "4", "--seed", "1"]);
    assert_eq!(next.status.code(), Some(0), "{}", text(&next));
    assert_eq!(made_by(pid, target.as_ref(), Owner::Ended), Vec::<String>::new());
}

#[test]
fn a_private_server_needs_no_cleaning() {
    let refused = run(&["clean", "mariadb@10.11"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("expected a URL or sqlite"), "{}", text(&refused));
}
