//! Bad input gets one clear message and the documented exit code, and a password never shows.

use std::io::Write;
use std::process::{Command, Output};

fn anchorite(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_anchorite");
    Command::new(program).args(arguments).output().expect("the command starts")
}

/// Runs a case with this text on a target.
fn run_text(text: &str, arguments: &[&str]) -> Output {
    let mut file = tempfile::Builder::new().suffix(".case").tempfile().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("it can be written");
    let path = file.path().to_str().expect("a plain path");
    anchorite(&[&["run", path], arguments].concat())
}

const GOOD: &str = "/* setup */ CREATE TABLE t (a INT);\n/* t1 */ SELECT * FROM t;\n";

fn check(output: &Output, code: i32, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "expected '{word}' in: {stderr}");
    }
}

#[test]
fn broken_files_are_told_with_their_place() {
    check(&run_text("-- level t9: rc\n/* t1 */ SELECT 1;", &[]), 2, &[":1:", "t9"]);
    check(&run_text("/* t1 */ SELECT 1", &[]), 2, &[":1:", "`;`"]);
    check(&run_text("/* t1 */ SELECT 'x;\n", &[]), 2, &[":1:17", "'"]);
    check(&run_text("SELECT 1;\n", &[]), 2, &[":1:1", "/*"]);
    check(&run_text("-- level: sometimes\n/* t1 */ SELECT 1;", &[]), 2, &[":1:", "sometimes"]);
    check(&run_text("-- targets: oracle\n/* t1 */ SELECT 1;", &[]), 2, &[":1:", "oracle"]);
    check(&run_text("", &[]), 2, &["statement"]);
    check(&anchorite(&["run", "no-such-file.case"]), 2, &["no-such-file.case"]);
    check(&anchorite(&["run", "Cargo.toml"]), 2, &[".case or .spec"]);
}

#[test]
fn unknown_targets_levels_and_versions_are_told() {
    check(&run_text(GOOD, &["--on", "oracle"]), 2, &["oracle"]);
    check(&run_text(GOOD, &["--on", "oracle://h"]), 2, &["oracle", "postgres://"]);
    check(&run_text(GOOD, &["--on", "mariadb@1.0"]), 3, &["1.0", "10.11"]);
    check(&run_text(GOOD, &["--on", "sqlite:fast"]), 2, &["sqlite:wal"]);
    check(&run_text(GOOD, &["--level", "sometimes"]), 2, &["sometimes", "rr"]);
    check(&run_text(GOOD, &["--level", "rc"]), 2, &["read committed", "serializable"]);
    check(&run_text(GOOD, &["--format", "isolationtester"]), 2, &[".spec"]);
    check(&anchorite(&["run"]), 2, &["FILES"]);
}

#[test]
fn a_setup_that_fails_names_file_line_and_reason() {
    let output = run_text("/* setup */ SELECT 1;\n/* setup */ NONSENSE;\n/* t1 */ SELECT 1;", &[]);
    check(&output, 3, &[":2:", "NONSENSE", "syntax error"]);
}

#[test]
fn a_case_for_other_products_is_skipped_aloud() {
    let output = run_text("-- targets: tidb\n/* t1 */ SELECT 1;", &[]);
    check(&output, 4, &["skipped", "tidb"]);
}

#[test]
fn a_server_that_is_not_there_is_told_without_the_password() {
    for scheme in ["mysql", "mariadb", "tidb", "postgres", "cockroach"] {
        let url = format!("{scheme}://someone:s3cret@127.0.0.1:1");
        let output = run_text(GOOD, &["--on", &url]);
        check(&output, 3, &["127.0.0.1:1"]);
        let all = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&all).contains("s3cret"));
    }
}

#[test]
fn a_wrong_password_is_told_without_showing_it() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    for url in urls.split_whitespace() {
        let (scheme, address) = url.split_once("://").expect("a URL");
        let address = address.rsplit('@').next().expect("an address");
        // Servers that trust everybody on loopback still refuse an account that does not exist.
        let wrong = format!("{scheme}://nobody_known:s3cret@{address}");
        let output = run_text(GOOD, &["--on", &wrong]);
        let all = [output.stdout.clone(), output.stderr.clone()].concat();
        assert!(!String::from_utf8_lossy(&all).contains("s3cret"), "{scheme}");
        if scheme != "cockroach" {
            check(&output, 3, &["nobody_known"]);
        }
    }
}

#[test]
fn a_sequence_runs_in_its_order_and_not_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, GOOD).expect("it can be written");
        path.display().to_string()
    };
    let (one, other) = (file("one.case"), file("other.case"));
    let arguments = ["run", &one, &other, "--same-tables"];
    check(
        &anchorite(&[&arguments[..], &["--jobs", "2"]].concat()),
        2,
        &["--same-tables", "--jobs"],
    );
    let output = anchorite(&[&arguments[..], &["--repeat", "2", "--format", "json"]].concat());
    check(&output, 0, &[]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = json["results"].as_array().expect("results").iter();
    let names: Vec<&str> = results.filter_map(|result| result["case"].as_str()).collect();
    assert_eq!(names, ["one", "other", "one", "other"]);
}
