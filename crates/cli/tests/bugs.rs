//! `anchorite bugs`: the collection without a server, the study in the documentation, and bugs on servers.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn bugs(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.arg("bugs").args(arguments).env_remove("CLICOLOR_FORCE").env("COLUMNS", "120");
    command.output().expect("the command starts")
}

fn told(arguments: &[&str], code: i32) -> String {
    let output = bugs(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(arguments: &[&str], code: i32) -> Value {
    serde_json::from_str(&told(arguments, code)).expect("one JSON document")
}

fn private_servers() -> Vec<String> {
    let servers = std::env::var("ANCHORITE_TEST_SERVERS").unwrap_or_default();
    if servers.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_SERVERS names no server");
    }
    servers.split_whitespace().map(str::to_owned).collect()
}

fn urls() -> Vec<String> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server");
    }
    urls.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_list_needs_no_files_and_can_be_narrowed() {
    let list = json(&["list", "--format", "json"], 0);
    let all = list["bugs"].as_array().expect("a list");
    assert!(all.len() >= 115, "{}", all.len());
    let reported = |id: &str| all.iter().find(|bug| bug["bug"] == id).expect("a known bug");
    assert_eq!(reported("MDEV-27992")["status"], "live");
    assert_eq!(reported("TIDB-8393")["status"], "documented");
    let few = json(
        &["list", "--kind", "serializability", "--product", "postgres", "--format", "json"],
        0,
    );
    let few = few["bugs"].as_array().expect("a list");
    assert!(!few.is_empty() && few.len() < all.len());
    assert!(few.iter().all(|bug| bug["kind"] == "serializability"));
    assert!(told(&["list", "mdev-27992"], 0).contains("a DELETE of all rows waits"));
    for bad in [&["list", "["][..], &["list", "nothing at all"], &["list", "--kind", "odd"]] {
        told(bad, 2);
    }
}

#[test]
fn a_bug_is_shown_with_its_measurements_and_its_case() {
    let shown = told(&["show", "MDEV-26642"], 0);
    for part in [
        "MDEV-26642: an UPDATE",
        "mariadb 10.11.18: rr",
        "mysql 9.7.4: (rr)",
        "/* t1 */ UPDATE t SET a = 10",
        "isolation",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    told(&["show", "^MDEV-1$"], 2);
}

#[test]
fn every_form_of_the_matrix_has_every_bug() {
    let recorded = json(&["matrix", "--format", "json"], 0);
    let names: Vec<&str> = recorded["bugs"]
        .as_array()
        .expect("bugs")
        .iter()
        .filter_map(|bug| bug["bug"].as_str())
        .collect();
    assert!(names.len() >= 115, "{}", names.len());
    for format in ["text", "md", "html"] {
        let text = told(&["matrix", "--format", format], 0);
        for name in &names {
            assert!(text.contains(name), "{format}: {name}");
        }
    }
    let page = told(&["matrix", "--format", "html"], 0);
    assert!(
        page.starts_with("<!DOCTYPE html>") && !page.contains("src=") && !page.contains("<link")
    );
    let one = told(&["matrix", "^MDEV-27992$", "--format", "md"], 0);
    assert_eq!(one.lines().filter(|line| line.starts_with("| MDEV")).count(), 1, "{one}");
}

#[test]
fn the_study_is_the_page_of_the_documentation() {
    let study = told(&["matrix", "--format", "study"], 0);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/known-bugs-study.md");
    let written = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        written == study,
        "run: anchorite bugs matrix --format study > docs/known-bugs-study.md"
    );
}

#[test]
fn what_a_target_cannot_run_is_not_applicable() {
    let tested = json(&["test", "^MDEV-27992$", "--on", "sqlite", "--format", "json"], 4);
    let results = tested["results"].as_array().expect("results");
    assert!(!results.is_empty());
    for result in results {
        assert_eq!(result["result"], "not applicable", "{result}");
    }
}

#[test]
fn bugs_do_on_servers_what_was_measured() {
    for url in urls() {
        let tested = bugs(&[
            "test",
            "^(MDEV-2(66|79)|PG-TOTAL|TIDB-33315)",
            "--on",
            &url,
            "--format",
            "json",
        ]);
        let text = String::from_utf8_lossy(&tested.stdout);
        let tested: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{url}: {error}: {text}"));
        let results = tested["results"].as_array().expect("results");
        assert!(results.iter().any(|result| result["result"] != "not applicable"), "{url}: {text}");
        for result in results {
            assert_ne!(result["agreement"], "differs", "{url}: {result}");
        }
        println!("{url}: {} results", results.len());
    }
}

/// The cases in `cases/servers` are about a whole server, or need one that was started in a certain way.
#[test]
fn bugs_of_whole_servers_do_what_was_measured() {
    let of_innodb =
        |server: &String| server.starts_with("mariadb@") || server.starts_with("mysql@");
    for server in private_servers().iter().filter(|server| of_innodb(server)).take(1) {
        let names = "^(MYSQL-100293|MYSQL-91646|MYSQL-91837|MYSQL-92558|MDEV-29187)$";
        let arguments = ["test", names, "--on", server, "--level", "ser", "--format", "json"];
        let tested = json(&arguments, 0);
        let results = tested["results"].as_array().expect("results");
        assert_eq!(results.len(), 5, "{tested}");
        let ran = results.iter().filter(|result| result["result"] != "not applicable").count();
        assert!(ran >= 4, "{tested}");
    }
}

#[test]
fn a_bug_that_needs_a_server_of_its_own_is_not_run_on_one_that_runs() {
    for url in urls().iter().filter(|url| url.starts_with("m")).take(1) {
        let arguments = ["test", "^MYSQL-100293$", "--on", url, "--format", "json"];
        let tested = json(&arguments, 4);
        let results = tested["results"].as_array().expect("results");
        for result in results {
            assert_eq!(result["result"], "not applicable", "{result}");
            let reason = result["reason"].as_str().expect("a reason");
            assert!(reason.contains("needs one of its own"), "{reason}");
        }
    }
}
