//! A server that is killed and a command that is interrupted, in the middle of a case: the record says
//! so, the exit code is the documented one, and no process and no folder is left.
//!
//! Runs with the private servers that `ANCHORITE_TEST_SERVERS` names (`mariadb@10.11 postgres@15`).

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

#[path = "../../hunt/tests/until/mod.rs"]
mod until;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anchorite_drivers::{Session, SessionOptions, execute, open};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longest wait for anything here.
const LIMIT: Duration = Duration::from_secs(60);
/// A server that comes up is looked for again after this time, unless its command has ended.
const NEXT_LOOK: Duration = Duration::from_millis(5);

/// The middle of this case lasts much longer than the test.
fn long_case(product: &str) -> tempfile::NamedTempFile {
    let sleep = if ["postgres", "cockroach"].contains(&product) { "pg_sleep" } else { "sleep" };
    let text = format!(
        "/* setup */ CREATE TABLE t (a INT PRIMARY KEY);\n\
         /* t1 */ BEGIN;\n/* t1 */ INSERT INTO t VALUES (1);\n\
         /* t2 */ SELECT {sleep}(120) AS in_the_middle;\n/* t1 */ COMMIT;\n"
    );
    let file = tempfile::Builder::new().suffix(".case").tempfile().expect("a temporary file");
    fs::write(file.path(), text).expect("it can be written");
    file
}

/// The servers that the test run demands; TiDB's and CockroachDB's process lists look different.
fn servers() -> Vec<String> {
    let named = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    let known = |name: &&str| ["mariadb", "mysql", "postgres"].iter().any(|p| name.starts_with(p));
    let servers: Vec<String> = named.split_whitespace().filter(known).map(str::to_owned).collect();
    if servers.is_empty() {
        println!("skipped: ANCHORITE_TEST_SERVERS names no server");
    }
    servers
}

fn product(server: &str) -> &str {
    server.split('@').next().expect("a product")
}

fn anchorite(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits until the server's process list shows the statement in the middle of the case.
fn wait_for_the_middle(url: &str, product: &str) {
    let target = open(url).expect("the server answers");
    let schema = target.create_schema().expect("a schema");
    let options = SessionOptions { name: "spy".into(), level: None, lock_wait: LIMIT };
    let mut spy = schema.open(&options).expect("a session").session;
    let sql = if product == "postgres" {
        "SELECT query FROM pg_stat_activity"
    } else {
        "SELECT info FROM information_schema.processlist"
    };
    let begun = Instant::now();
    let mut is_in_the_middle = || {
        let answer = execute(spy.as_mut() as &mut dyn Session, sql, LIMIT).expect("an answer");
        format!("{:?}", answer.results).contains("(120) AS in_the_middle")
    };
    while !is_in_the_middle() {
        assert!(begun.elapsed() < LIMIT, "waited too long until the case is in its middle");
    }
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).expect("a pid")).expect("a pid")
}

fn is_alive(number: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

#[test]
fn a_killed_server_is_told_as_connection_lost() {
    for server in servers() {
        let started = anchorite(&["server", "start", &server, "--keep", "--format", "json"]);
        let output = { started }.output().expect("the command starts");
        let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        let running = &document["servers"][0]["running"];
        let url = running["url"].as_str().expect("a URL").to_owned();
        let number = u32::try_from(running["pid"].as_u64().expect("a pid")).expect("a pid");
        let folder = PathBuf::from(running["folder"].as_str().expect("a folder"));

        let case = long_case(product(&server));
        let path = case.path().to_str().expect("a plain path");
        let child = anchorite(&["run", path, "--on", &url, "--format", "json"]).spawn();
        let child = child.expect("the command starts");
        wait_for_the_middle(&url, product(&server));
        kill_process(pid(number), Signal::KILL).expect("it can be killed");

        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{server}: {stderr}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        let events = document["results"][0]["events"].as_array().expect("events");
        let lost = |event: &&Value| event["error"]["class"] == "connection-lost";
        assert!(events.iter().any(|event| lost(&event)), "{server}: {events:?}");

        // Its connections end before it does.
        assert!(until::has_ended(number, LIMIT), "{server}: it does not end");
        // Nobody can stop what has ended; looking at the list is enough to tidy up after it.
        let list = anchorite(&["server", "list"]).output().expect("it starts");
        assert!(!String::from_utf8_lossy(&list.stdout).contains(&url), "{server}");
        assert!(!folder.exists(), "{server}: {} is left", folder.display());
        println!("{server}: killed in the middle, told as connection-lost");
    }
}

/// The processes that any thread of this process has started.
fn children_of(number: u32) -> String {
    let tasks = fs::read_dir(format!("/proc/{number}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok()).collect()
}

/// The private server of a running command: its URL, process and data folder, from its command line.
fn private_server(child: &Child, product: &str) -> (String, u32, PathBuf) {
    let begun = Instant::now();
    let listening = || {
        let numbers = children_of(child.id());
        numbers.split_whitespace().find_map(|number| {
            let line = fs::read(format!("/proc/{number}/cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let after = |key: &str| {
                let rest = &line[line.find(key)? + key.len()..];
                rest.split_whitespace().next().map(str::to_owned)
            };
            let port = after(" --port=").or_else(|| after(" -p "))?;
            let folder = after(" --datadir=").or_else(|| after(" -D "))?;
            let user = if product == "postgres" { "postgres" } else { "root" };
            let url = format!("{product}://{user}@127.0.0.1:{port}");
            let number = number.parse().ok()?;
            open(&url).is_ok().then(|| (url, number, PathBuf::from(folder)))
        })
    };
    loop {
        if let Some(found) = listening() {
            return found;
        }
        assert!(begun.elapsed() < LIMIT, "waited too long until the private server listens");
        assert!(!until::has_ended(child.id(), NEXT_LOOK), "the command ended before");
    }
}

#[test]
fn an_interrupted_command_leaves_nothing_behind() {
    for server in servers() {
        let case = long_case(product(&server));
        let path = case.path().to_str().expect("a plain path");
        let mut child = anchorite(&["run", path, "--on", &server]).spawn().expect("it starts");
        let (url, number, folder) = private_server(&child, product(&server));
        wait_for_the_middle(&url, product(&server));
        kill_process(pid(child.id()), Signal::INT).expect("it can be interrupted");

        let status = child.wait().expect("it ends");
        let mut told = String::new();
        for line in BufReader::new(child.stderr.take().expect("piped")).lines() {
            told += &line.expect("text");
        }
        assert_eq!(status.code(), Some(130), "{server}: {told}");
        assert!(told.contains("interrupted"), "{server}: {told}");
        assert!(!is_alive(number), "{server}: process {number} is left");
        assert!(!folder.exists(), "{server}: {} is left", folder.display());
        println!("{server}: interrupted in the middle, nothing left");
    }
}
