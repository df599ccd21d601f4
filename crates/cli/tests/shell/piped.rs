//! Lines from a pipe: what is printed, and the exit codes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Two sessions; the second one waits for the first.
const WAIT: &str = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\n\
    t1> BEGIN IMMEDIATE;\nt2> BEGIN IMMEDIATE;\nt2> UPDATE t SET a = 3;\n\
    t1> UPDATE t SET a = 2;\nCOMMIT;\nt2> COMMIT;\n";

fn shell(folder: &Path, arguments: &[&str], lines: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.arg("shell").args(arguments).current_dir(folder).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).env("COLUMNS", "120");
    let mut child = command.spawn().expect("the shell starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(lines.as_bytes()).expect("the lines are read");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_script_waits_and_is_saved_replayed_and_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = format!("{WAIT}.waits\n.levels\n.save x.case\n.replay\n.judge\n.quit\nSELECT 1;\n");
    let output = shell(folder.path(), &["sqlite"], &lines);
    let (out, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{told}");
    for expected in [
        "t2: BEGIN IMMEDIATE;\n▸ blocked by t1",
        "t2: BEGIN IMMEDIATE;\n▸ resumed: ok",
        "t2: UPDATE t SET a = 3;\n1 row affected",
        "session  state",
        "has: serializable\nt1: ",
        "The replay gave the same answers.",
        "final-state",
    ] {
        assert!(out.contains(expected), "{expected:?} is not in:\n{out}{told}");
    }
    assert!(!out.contains("t1> ") && !out.contains("SELECT 1"), "{out}");
    assert!(told.contains("queued until its statement before is answered"), "{told}");
    let saved = std::fs::read_to_string(folder.path().join("x.case")).expect("it was saved");
    let typed: Vec<&str> = saved.lines().filter(|line| line.starts_with("/*")).collect();
    assert_eq!(
        typed[..3],
        [
            "/* setup */ CREATE TABLE t (a INT);",
            "/* setup */ INSERT INTO t VALUES (1);",
            "/* t1 */ BEGIN IMMEDIATE;",
        ]
    );
    let mut run = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    let run = run.args(["run", "x.case"]).current_dir(folder.path()).output().expect("it starts");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
}

#[test]
fn the_exit_code_says_what_went_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let code = |arguments: &[&str], lines: &str| {
        let output = shell(folder.path(), arguments, lines);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    // An error of the database is an answer.
    let (exit, out, _) = code(&["sqlite"], "SELECT * FROM nowhere;\n");
    assert!(exit == Some(0) && out.contains("no such table"), "{out}");
    for (lines, expected) in [
        (".wait\n", "did you mean .waits?"),
        ("SELECT 1\n", "has no `;`"),
        (".judge\n", "nothing was typed yet"),
        ("SELECT 1;\n/* setup */ SELECT 2;\n", "comes before the statements"),
        (".save /nowhere/x.case\n", "nothing was typed yet"),
    ] {
        let (exit, _, told) = code(&["sqlite"], lines);
        assert!(exit == Some(2) && told.contains(expected), "{lines}: {exit:?} {told}");
    }
    assert_eq!(code(&["sqlite", "--level", "rc"], "").0, Some(2));
    assert_eq!(code(&["mysql://127.0.0.1:1"], "").0, Some(3));
    let (exit, out, told) =
        code(&["--quiet", "sqlite:wal", "--sessions", "3"], "t3> SELECT 7 AS x;\n");
    assert_eq!((exit, told.as_str()), (Some(0), ""));
    assert_eq!(out, "t3: SELECT 7 AS x;\n x\n ─\n 7\n");
}

#[test]
fn a_violation_is_judged_and_reduced() {
    let folder = tempfile::tempdir().expect("a folder");
    // Documented: in the shared cache readers of uncommitted data see what is rolled back.
    let dirty = "CREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nt1> BEGIN;\n\
        t1> UPDATE t SET a = 2;\nt2> BEGIN;\nt2> SELECT a FROM t;\nt1> ROLLBACK;\nt2> COMMIT;\n";
    let arguments = ["sqlite:shared-cache", "--level", "ru"];
    let output = shell(folder.path(), &arguments, &format!("{dirty}.judge\n"));
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "what a level allows is no violation: {out}");
    assert!(out.contains("t2: SELECT a FROM t;\n a\n ─\n 2\n"), "{out}");
    let output = shell(folder.path(), &arguments, &format!("{dirty}.reduce\n"));
    let told = text(&output.stderr);
    assert!(told.contains("nothing to reduce: no violation"), "{told}");
}
