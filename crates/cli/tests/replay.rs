//! What a finding says about itself is true: its command and its files show it again, on the server it was found on.
//!
//! Hunts on the MariaDB and MySQL servers in `ANCHORITE_TEST_URLS` for what these are known to do at read committed.
//! Assumption: some of it shows within [`CASES`] cases; where nothing does, the test says so and shows nothing.

#![allow(clippy::print_stdout, reason = "tests tell what they skipped")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// About one case in 250 shows something at read committed.
const CASES: &str = "1500";

fn anchorite(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    command.current_dir(folder).args(arguments).env_remove("NO_COLOR");
    command.output().expect("it runs")
}

/// A database that the URL may name, so that it is seen whether the replay command keeps it.
fn with_database(url: &str) -> String {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    match url[after_scheme..].contains('/') {
        true => url.to_owned(),
        false => format!("{url}/mysql"),
    }
}

fn findings(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("out/findings")).expect("a folder of findings");
    entries.map(|entry| entry.expect("a folder").path()).collect()
}

#[test]
fn the_printed_command_and_the_files_show_the_finding_again() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let fit = |url: &&str| url.starts_with("mariadb://") || url.starts_with("mysql://");
    let urls: Vec<&str> = urls.split_whitespace().filter(fit).collect();
    if urls.is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no MariaDB or MySQL server");
    }
    for url in urls.into_iter().map(with_database) {
        let folder = tempfile::tempdir().expect("a folder");
        let hunt = ["hunt", "--on", &url, "--level", "rc", "--known", "none", "--seed", "1"];
        let rest = ["--cases", CASES, "--jobs", "2", "--out", "out"];
        anchorite(folder.path(), &[&hunt[..], &rest].concat());
        let found = findings(folder.path());
        if found.is_empty() {
            println!("nothing was found on {url}, so there is nothing to repeat");
        }
        for finding in found.iter().take(2) {
            shows_again(finding, &url);
        }
    }
}

fn shows_again(finding: &Path, url: &str) {
    let report = fs::read_to_string(finding.join("report.md")).expect("a report");
    let line = report.lines().find(|line| line.contains("anchorite run reduced.case"));
    let line = line.expect("the command");
    let command = line.split('`').find(|part| part.starts_with("anchorite run")).expect("code");
    assert!(command.contains(url.rsplit('@').next().expect("an address")), "{command}");
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    let files = [&["run", "reduced.case", "--on", url][..], &["run", "original.case", "--on", url]];
    for arguments in [&arguments[..]].into_iter().chain(files) {
        let output = anchorite(finding, arguments);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}:\n{said}");
        assert!(said.contains("VIOLATION"), "{arguments:?}:\n{said}");
    }
    // A title that tells what happens, and the settings of the server.
    let title = report.lines().next().expect("a title");
    assert!(
        ["DELETE ", "UPDATE ", "INSERT ", "REPLACE ", "SELECT "]
            .iter()
            .any(|word| title.contains(word)),
        "{title}"
    );
    assert!(report.contains("- Settings: "), "{report}");
    let picture = fs::read_to_string(finding.join("lanes.svg")).expect("a picture");
    assert!(picture.contains("class=\"guilty\""), "{picture}");
}
