//! `anchorite probe` as a user calls it: the rows that Hermitage publishes, no false alarm, every form.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::process::{Command, Output};

use serde_json::Value;

const ROWS: &str = include_str!("hermitage.txt");
const ANOMALIES: [&str; 10] =
    ["G0", "G1a", "G1b", "G1c", "OTV", "PMP", "P4", "G-single", "G2-item", "G2"];
const SQLITE: [&str; 3] = ["sqlite", "sqlite:wal", "sqlite:shared-cache"];

fn anchorite(arguments: &[&str]) -> Output {
    // What killed runs have left in the common folder would be removed, and told.
    let folder = tempfile::tempdir().expect("a temporary folder");
    Command::new(env!("CARGO_BIN_EXE_anchorite"))
        .args(arguments)
        .env("TMPDIR", folder.path())
        .env("COLUMNS", "120")
        .output()
        .expect("the command can be started")
}

fn probe(arguments: &[&str]) -> (Option<i32>, String) {
    let output = anchorite(&[&["probe"], arguments].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{arguments:?}: {errors}");
    (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
}

fn results(arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    let (code, text) = probe(&[arguments, &["--format", "json"]].concat());
    let document: Value = serde_json::from_str(&text).expect("one JSON document");
    assert_eq!(document["anchorite"], env!("CARGO_PKG_VERSION"));
    (code, document["results"].as_array().expect("results").clone())
}

/// The marks of a target at a level.
fn expected(target: &str, level: &str) -> Option<Vec<&'static str>> {
    ROWS.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let rest = line.strip_prefix(target)?.strip_prefix(' ')?.trim_start();
        let rest = rest.strip_prefix(level)?.strip_prefix(' ')?;
        let marks: Vec<&str> = rest.split_whitespace().skip(1).collect();
        assert_eq!(marks.len(), ANOMALIES.len(), "{line}");
        Some(marks)
    })
}

fn text<'a>(result: &'a Value, key: &str) -> &'a str {
    result[key].as_str().unwrap_or_else(|| panic!("{key} in {result}"))
}

/// The target and the level under which a result stands in the table.
fn row_of(result: &Value) -> (String, &str) {
    let mut target = text(&result["target"], "product").to_owned();
    let variant = result["target"]["variant"].as_str();
    if let Some(variant) = variant.filter(|_| target == "sqlite") {
        target = format!("{target}:{variant}");
    }
    let level = text(result, "level");
    // The setting turns repeatable read into another level; serializable stays what it is.
    let is_snapshot = level != "serializable"
        && text(result, "level_read_back").contains("innodb_snapshot_isolation=ON");
    (target, if is_snapshot { "snapshot" } else { level })
}

/// What one result says, held against the table; a sentence where they differ.
fn complaint(result: &Value) -> Option<String> {
    let (target, level) = row_of(result);
    let marks = expected(&target, level)
        .unwrap_or_else(|| panic!("hermitage.txt has no row for {target} at {level}"));
    let (case, anomaly) = (text(result, "case"), text(result, "anomaly"));
    let place = ANOMALIES.iter().position(|name| *name == anomaly).expect("one of the ten");
    let is_write = case == format!("{anomaly}-write");
    let wanted = match marks[place] {
        "+" => "prevented",
        "-" if case == anomaly => "possible",
        "ro" if case == anomaly => "prevented",
        "ro" if is_write => "possible",
        _ => return None,
    };
    let seen = result["observed"].as_str();
    (seen != Some(wanted)).then(|| format!("{target} at {level}: {case}: {seen:?}, not {wanted}"))
}

fn check(target: &str) -> Vec<String> {
    let (code, results) = results(&["--on", target]);
    let mut complaints: Vec<String> = results.iter().filter_map(complaint).collect();
    if code != Some(0) {
        let wrong = results.iter().filter(|result| result["contradiction"] == true);
        let cases: Vec<String> = wrong.map(|r| format!("{} {}", r["case"], r["level"])).collect();
        complaints.push(format!("{target}: exit code {code:?}: {}", cases.join(", ")));
    }
    let mains = results.iter().filter(|result| result["main"] == true).count();
    let levels = mains / ANOMALIES.len();
    assert!(levels > 0 && mains == levels * ANOMALIES.len(), "{target}: {mains} main cases");
    assert_eq!(results.len() % levels, 0, "{target}: every case at every level");
    let version = results.first().map(|result| result["target"].to_string());
    println!("{}: {} runs at {levels} levels", version.unwrap_or_default(), results.len());
    complaints
}

#[test]
fn sqlite_gives_its_rows_and_no_false_alarm() {
    let complaints: Vec<String> = SQLITE.into_iter().flat_map(check).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn servers_give_the_published_rows_and_no_false_alarm() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server");
    }
    let complaints: Vec<String> = urls.split_whitespace().flat_map(check).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn json_has_the_fields_of_the_contract() {
    let (_, results) = results(&["--on", "sqlite:wal"]);
    for result in &results {
        assert_eq!(text(&result["target"], "product"), "sqlite");
        assert!(!text(&result["target"], "version").is_empty());
        assert_eq!(text(result, "level"), "serializable");
        assert!(text(result, "case").starts_with(text(result, "anomaly")));
        assert!(["prevented", "possible", "unspecified"].contains(&text(result, "claimed")));
        assert!(["prevented", "possible"].contains(&text(result, "observed")));
        let known = ["wait", "error", "snapshot", "deadlock", "shown"];
        assert!(known.contains(&text(result, "how")), "{result}");
        assert!(!text(result, "because").is_empty());
        assert!(text(result, "claim_url").starts_with("https://"));
    }
}

#[test]
fn a_level_is_probed_once_however_it_is_named() {
    let levels = ["--level", "default", "--level", "ser", "--level", "all"];
    let (code, once) = results(&[&["--on", "sqlite"], &levels[..]].concat());
    let (_, all) = results(&["--on", "sqlite"]);
    assert_eq!((code, once.len()), (Some(0), all.len()));
    assert!(once.iter().all(|result| result["default"] == true));
}

#[test]
fn several_targets_and_single_levels() {
    let on = ["--on", "sqlite", "--on", "sqlite:shared-cache", "--level", "ser"];
    let (_, text) = probe(&on);
    assert_eq!(text.matches("Anomalies on sqlite").count(), 2, "{text}");
    assert!(!text.contains("read uncommitted"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour where there is no terminal");
}

#[test]
fn markdown_and_html_hold_every_case() {
    let (_, results) = results(&["--on", "sqlite:shared-cache"]);
    let (_, markdown) = probe(&["--on", "sqlite:shared-cache", "--format", "md"]);
    let (_, html) = probe(&["--on", "sqlite:shared-cache", "--format", "html"]);
    for result in &results {
        let case = text(result, "case");
        let (cell, head) = (format!("| {case} |"), format!(">{case}<"));
        assert!(markdown.contains(&cell), "{case} in Markdown");
        assert!(html.contains(&head), "{case} in HTML");
    }
    let count = results.len();
    assert_eq!(html.matches("<td class=").count(), count);
    for foreign in ["<script", "<link", "<img", "@import", "url("] {
        assert!(!html.contains(foreign), "the page needs nothing else: {foreign}");
    }
}

#[test]
fn a_level_that_the_target_lacks_is_a_usage_error() {
    let output = anchorite(&["probe", "--on", "sqlite", "--level", "rc"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("has no isolation level 'read committed'"), "{message}");
    assert!(output.stdout.is_empty());
}

#[test]
fn help_ends_with_examples_that_work() {
    let output = anchorite(&["probe", "--help"]);
    let help = String::from_utf8_lossy(&output.stdout);
    let (_, examples) = help.split_once("Examples:\n").expect("examples at the end");
    let embedded = |line: &&str| !line.contains('@');
    let mut ran = 0;
    for line in examples.lines().map(str::trim).filter(|line| !line.is_empty()).filter(embedded) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..2], ["anchorite", "probe"], "{line}");
        assert_eq!(probe(&words[2..]).0, Some(0), "{line}");
        ran += 1;
    }
    assert!(ran >= 2, "{examples}");
}
