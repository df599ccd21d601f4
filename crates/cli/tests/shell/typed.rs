//! SQLite at a terminal: blocking, a deadlock, completion, Ctrl-C, saving and replaying.

use std::path::Path;

use crate::terminal::Terminal;

fn start(folder: &Path, arguments: &[&str]) -> Terminal {
    let mut shell = Terminal::start(folder, arguments);
    shell.expect(".help lists the commands");
    shell.expect("t1> ");
    shell.says("CREATE TABLE t (a INT);", "ok\n");
    shell.says("INSERT INTO t VALUES (1);", "1 row affected\n");
    shell
}

#[test]
fn a_wait_is_seen_and_its_end_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = start(folder.path(), &["sqlite"]);
    shell.says("BEGIN IMMEDIATE;", "ok\n");
    shell.says("t2", "t2> ");
    shell.says("BEGIN IMMEDIATE;", "blocked by t1");
    shell.says(".waits", "waiting");
    shell.says("t1> UPDATE t SET a = 2;", "1 row affected");
    shell.says("COMMIT;", "resumed: ok\n");
    shell.says("t2> SELECT a FROM t;", "2\n");
    shell.says(".save typed.case", "written: typed.case");
    shell.says(".replay", "The replay gave the same answers.");
    shell.line(".quit");
    assert_eq!(shell.end(), Some(0));
    let saved = std::fs::read_to_string(folder.path().join("typed.case")).expect("it was saved");
    assert!(saved.contains("/* setup */ INSERT INTO t VALUES (1);\n"), "{saved}");
    assert!(saved.contains("/* t2 */ BEGIN IMMEDIATE;\n/* t1 */ UPDATE t SET a = 2;\n"), "{saved}");
    let history = std::fs::read_to_string(folder.path().join("shell-history")).expect("a history");
    assert!(history.ends_with(".replay\n.quit\n"), "{history}");
}

#[test]
fn a_deadlock_has_its_victim() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = start(folder.path(), &["sqlite"]);
    for session in ["t1", "t2"] {
        shell.says(&format!("{session}> BEGIN;"), "ok\n");
        shell.says("SELECT a FROM t;", "1\n");
    }
    shell.says("t1> UPDATE t SET a = 2;", "1 row affected");
    shell.says("COMMIT;", "blocked by t2");
    shell.says("t2> UPDATE t SET a = 3;", "error: deadlock");
    shell.says("ROLLBACK;", "resumed: ok\n");
    shell.expect("t2> ");
    shell.keys("\u{4}");
    assert_eq!(shell.end(), Some(0));
}

#[test]
fn ctrl_c_ends_a_statement_and_not_the_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = start(folder.path(), &["sqlite"]);
    // One that waits.
    shell.says("BEGIN IMMEDIATE;", "ok\n");
    shell.says("t2> BEGIN IMMEDIATE;", "blocked by t1");
    shell.expect("t2> ");
    shell.keys("\u{3}");
    shell.expect("error after waiting");
    shell.says("t1> ROLLBACK;", "ok\n");
    // One that runs, before and after the prompt is back.
    let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c;";
    shell.line(endless);
    shell.expect("still running");
    shell.expect("t1> ");
    shell.says("t2> SELECT 41 + 1;", "42\n");
    shell.says("t1", "t1> ");
    shell.keys("\u{3}");
    shell.expect("interrupted");
    // What is typed before the prompt is back would be dropped by the terminal.
    shell.expect("t1> ");
    shell.line(endless);
    // Behind the line, in the terminal's own echo.
    shell.expect("FROM c;\n");
    shell.keys("\u{3}");
    shell.expect("error");
    shell.expect("t1> ");
    // A line that was begun is dropped.
    shell.keys("SELECT 'unfinished");
    shell.expect("unfinished");
    shell.keys("\u{3}");
    shell.expect("t1> ");
    shell.says("SELECT 'go' || 'es on';", "goes on\n");
    shell.line(".quit");
    assert_eq!(shell.end(), Some(0));
}

#[test]
fn words_are_completed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = start(folder.path(), &["sqlite"]);
    shell.says("CREATE TABLE account (balance INT);", "ok\n");
    shell.expect("t1> ");
    shell.keys("sel\t bal\t FROM acc\t;\r");
    shell.expect("no rows\n");
    shell.expect("t1> ");
    shell.says(".wai\t", "idle");
    shell.line("exit");
    assert_eq!(shell.end(), Some(0));
}

#[test]
fn the_vendors_own_clients_run_side_by_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let is_here = |program: &str| {
        let found = std::process::Command::new(program).arg("-V").output();
        found.is_ok_and(|output| output.status.success())
    };
    if !is_here("tmux") || std::process::Command::new("sqlite3").arg("-version").output().is_err() {
        println!("skipped: tmux or sqlite3 is not here");
        return;
    }
    let mut shell = Terminal::start(folder.path(), &["sqlite:wal", "--client"]);
    shell.expect("sqlite>");
    shell.line("SELECT 'first' || ' pane';");
    shell.expect("first pane");
    shell.line(".quit");
    // The title of the other pane.
    shell.expect("\"t2\"");
    shell.line("SELECT 'second' || ' pane';");
    shell.expect("second pane");
    shell.line(".quit");
    assert_eq!(shell.end(), Some(0));
}
