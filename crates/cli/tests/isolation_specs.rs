//! Specs with `--format isolationtester` print what PostgreSQL's isolationtester printed for them.
//!
//! The specs here are our own; their expected outputs were recorded with isolationtester 15. A whole
//! suite can be checked too: `ANCHORITE_ISOLATION_SUITE` names a folder with `specs/` and `expected/`,
//! such as `src/test/isolation` of PostgreSQL's sources. Servers are the `postgres://` URLs in
//! `ANCHORITE_TEST_URLS`; a suite is checked on the first of them.
//!
//! Expected outputs belong to the releases that they were compared on. A fix in another release may change a few of
//! them, which is told; if many differ there, it is our doing.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anchorite_claims::Version;
use anchorite_drivers::open;

/// The releases on which every spec gave its expected output.
const MEASURED: [&str; 3] = ["15.18", "15.20", "17.11"];
/// So many specs may differ on another release.
const CHANGED_MAX: usize = 3;

/// Fails where a spec's output is wrong, as far as that can be known of this release.
fn judge(url: &str, wrong: &[String]) {
    let target = open(url).unwrap_or_else(|error| panic!("{error}"));
    let release = Version::of(target.info()).to_string();
    let is_measured = MEASURED.contains(&release.as_str());
    let allowed = if is_measured { 0 } else { CHANGED_MAX };
    assert!(wrong.len() <= allowed, "{url}: {}", wrong.join("\n"));
    for spec in wrong {
        println!(
            "measured on {}: as expected; here on {release}: not: {spec}",
            MEASURED.join(", ")
        );
    }
}

fn servers() -> Vec<String> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let urls = urls.split_whitespace().filter(|url| url.starts_with("postgres"));
    let servers: Vec<String> = urls.map(str::to_owned).collect();
    if servers.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no PostgreSQL server");
    }
    servers
}

fn specs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut specs: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "spec"))
        .collect();
    specs.sort();
    specs
}

/// The expected output and its variants: `NAME.out`, `NAME_1.out`, ...
fn expected(folder: &Path, spec: &Path) -> Vec<String> {
    let name = spec.file_stem().expect("a spec has a name").to_string_lossy();
    let files = (0..10).map(|n| match n {
        0 => folder.join(format!("{name}.out")),
        n => folder.join(format!("{name}_{n}.out")),
    });
    files.filter_map(|file| fs::read_to_string(file).ok()).collect()
}

/// The specs whose output is none of the expected ones.
fn mismatches(url: &str, specs: &[PathBuf], expected_in: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for spec in specs {
        let output = Command::new(env!("CARGO_BIN_EXE_anchorite"))
            .args(["run", "--on", url, "--format", "isolationtester"])
            .arg(spec)
            .output()
            .expect("the command starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !expected(expected_in, spec).contains(&text) {
            wrong.push(format!("{}:\n{text}", spec.display()));
        }
    }
    wrong
}

// One test, because specs share the database's one usual name.
#[test]
fn specs_print_what_isolationtester_prints() {
    let servers = servers();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specs");
    for url in &servers {
        let wrong = mismatches(url, &specs_in(&own), &own);
        judge(url, &wrong);
    }
    let suite = std::env::var_os("ANCHORITE_ISOLATION_SUITE").map(PathBuf::from);
    match (suite, servers.first()) {
        (Some(suite), Some(url)) => {
            let specs = specs_in(&suite.join("specs"));
            let wrong = mismatches(url, &specs, &suite.join("expected"));
            judge(url, &wrong);
            println!("{} of {} specs of the suite match", specs.len() - wrong.len(), specs.len());
        }
        _ => println!("skipped: a whole suite, because ANCHORITE_ISOLATION_SUITE names none"),
    }
}
