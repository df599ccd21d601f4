//! Servers at a terminal: a wait that ends while somebody types, a deadlock, Ctrl-C, a server that is killed.

use std::fs;
use std::time::Duration;

use anchorite_drivers::{SessionOptions, execute, open};
use rustix::process::{Pid, Signal, kill_process};

use crate::terminal::Terminal;

/// Longest wait for a statement of the test's own.
const LIMIT: Duration = Duration::from_secs(60);

/// The words of an environment variable, without what has no row locks to wait for.
fn named(variable: &str) -> Vec<String> {
    let words = std::env::var(variable).unwrap_or_default();
    let known = |name: &&str| ["mariadb", "mysql", "postgres"].iter().any(|p| name.starts_with(p));
    let found: Vec<String> = words.split_whitespace().filter(known).map(str::to_owned).collect();
    if found.is_empty() {
        println!("skipped: {variable} names no server");
    }
    found
}

fn start(folder: &std::path::Path, arguments: &[&str]) -> Terminal {
    let mut shell = Terminal::start(folder, arguments);
    shell.expect(".help lists the commands");
    shell.says("CREATE TABLE t (id INT PRIMARY KEY, a INT);", "ok\n");
    shell.says("INSERT INTO t VALUES (1, 1), (2, 2);", "2 rows affected\n");
    shell
}

#[test]
fn a_block_a_deadlock_and_a_replay() {
    for url in named("ANCHORITE_TEST_URLS") {
        let folder = tempfile::tempdir().expect("a folder");
        let mut shell = start(folder.path(), &[&url, "--level", "rr"]);
        shell.says("t1> BEGIN;", "ok\n");
        shell.says("UPDATE t SET a = 10 WHERE id = 1;", "1 row affected\n");
        shell.says("t2> BEGIN;", "ok\n");
        shell.says("UPDATE t SET a = 20 WHERE id = 2;", "1 row affected\n");
        shell.says("UPDATE t SET a = 21 WHERE id = 1;", "blocked by t1");
        shell.says(".waits", "waiting");
        // Who the victim is, is the server's choice; its locks are gone.
        shell.says("t1> UPDATE t SET a = 11 WHERE id = 2;", "deadlock (");
        shell.expect("1 row affected\n");
        shell.says("ROLLBACK;", "ok\n");
        shell.says("t2> ROLLBACK;", "ok\n");
        shell.says(".save typed.case", "written: typed.case");
        shell.says(".replay", "The replay gave the same answers.");
        shell.says(".judge", "final-state");
        shell.expect("t2> ");
        shell.line(".quit");
        assert_eq!(shell.end(), Some(0), "{url}");
    }
}

/// The row's primary key moves behind the DELETE that waits for it (MDEV-27992).
#[test]
fn a_violation_is_judged_and_made_smaller_at_the_prompt() {
    let innodb = |url: &&String| !url.starts_with("postgres") && !url.contains("rocksdb");
    // Reducing asks many questions: one server is enough.
    for url in named("ANCHORITE_TEST_URLS").iter().filter(innodb).take(1) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut shell = start(folder.path(), &[url, "--level", "rc"]);
        shell.says(".levels", "t1: READ-COMMITTED");
        shell.says("t1> BEGIN;", "ok\n");
        shell.says("UPDATE t SET id = 0 WHERE id = 2;", "1 row affected\n");
        shell.says("t2> DELETE FROM t;", "blocked by t1");
        shell.says("t1> UPDATE t SET id = -1 WHERE id = 0;", "1 row affected\n");
        shell.says("COMMIT;", "resumed: 1 row affected\n");
        shell.says(".judge", "VIOLATION: write-serializability");
        shell.says(".reduce", "-- confirmed: 3 of 3 runs");
        shell.expect("DELETE FROM t;");
        shell.expect("t1> ");
        shell.line(".quit");
        assert_eq!(shell.end(), Some(0), "{url}");
    }
}

#[test]
fn what_resumes_while_somebody_types_is_told_at_once() {
    for url in named("ANCHORITE_TEST_URLS") {
        let folder = tempfile::tempdir().expect("a folder");
        let mut shell = start(folder.path(), &[&url]);
        let is_postgres = url.starts_with("postgres");
        let schema = if is_postgres { "current_schema()" } else { "database()" };
        // A long cell would be cut.
        let part = |from: &str| format!("SUBSTRING(CONCAT({schema}, ''), {from})");
        shell.expect("t1> ");
        shell.says(&format!("SELECT {}, {};", part("1, 30"), part("31")), ";\n");
        let shown = shell.expect("t1> ");
        let here = shown.lines().rev().find(|line| line.contains("anchorite"));
        let here: String = here.expect("the schema's name").split_whitespace().collect();
        // A connection that is none of the shell's.
        let target = open(&url).expect("the server answers");
        let own = target.create_schema().expect("a schema");
        let options = SessionOptions { name: "x".into(), level: None, lock_wait: LIMIT };
        let mut other = own.open(&options).expect("a session").session;
        for sql in ["BEGIN".to_owned(), format!("UPDATE {here}.t SET a = 5 WHERE id = 1")] {
            execute(other.as_mut(), &sql, LIMIT).expect("it is executed");
        }
        shell.says("UPDATE t SET a = 6 WHERE id = 1;", "blocked by a connection outside");
        shell.expect("t1> ");
        shell.keys("SELECT 'half a l");
        execute(other.as_mut(), "COMMIT", LIMIT).expect("it is executed");
        shell.expect("resumed: 1 row affected");
        shell.keys("ine';\r");
        shell.expect("half a line\n");
        // Ctrl-C on a statement that runs.
        let sleep = if is_postgres { "pg_sleep(100)" } else { "SLEEP(100)" };
        shell.says(&format!("SELECT {sleep};"), "still running");
        shell.expect("t1> ");
        shell.keys("\u{3}");
        // Its end, with the statement's name.
        shell.expect(&format!("t1: SELECT {sleep};"));
        shell.expect("t1> ");
        shell.says("SELECT 41 + 1 AS x;", "42\n");
        shell.line(".quit");
        assert_eq!(shell.end(), Some(0), "{url}");
    }
}

/// The processes that any thread of this process has started.
fn children_of(number: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{number}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn a_server_that_is_gone_does_not_end_the_shell() {
    for name in named("ANCHORITE_TEST_SERVERS") {
        let folder = tempfile::tempdir().expect("a folder");
        let mut shell = start(folder.path(), &[&name]);
        shell.says("t1> BEGIN;", "ok\n");
        let server = children_of(shell.process()).into_iter().find(|number| {
            let line = fs::read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
            line.contains("--datadir=") || line.contains("\0-D\0")
        });
        let server = server.and_then(|number| Pid::from_raw(number.cast_signed()));
        let server = server.expect("the private server");
        kill_process(server, Signal::KILL).expect("it can be killed");
        shell.expect("the server has gone away");
        shell.says("SELECT 1;", "connection-lost");
        shell.says(".save typed.case", "written: typed.case");
        shell.says(".new", ".help lists the commands");
        shell.says("SELECT 41 + 1 AS x;", "42\n");
        shell.line(".quit");
        assert_eq!(shell.end(), Some(0), "{name}");
        assert!(folder.path().join("typed.case").exists(), "{name}");
    }
}
