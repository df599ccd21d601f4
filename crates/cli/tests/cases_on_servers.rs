//! Every case under `cases/waits` and `cases/bugs` on every target, at every level it has: what the headers say was
//! measured on this very release must come out again, and nothing that was absent may show. What was measured on other
//! releases only is told, and fails nothing: nobody knows which release a distribution serves today.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::path::{Path, PathBuf};

use anchorite_drivers::{Target, open};
use anchorite_judge::{Agreement, Measurements, Remark, is_measured_on, remarks};
use anchorite_model::Case;
use anchorite_stage::{RunOptions, StageError, run_case};

fn targets() -> Vec<Box<dyn Target>> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    ["sqlite", "sqlite:wal", "sqlite:shared-cache"]
        .into_iter()
        .chain(urls.split_whitespace())
        .map(|target| open(target).unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

fn cases(folder: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("the folder can be listed").path())
        .collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> Case {
    let text = std::fs::read_to_string(file).expect("a case is readable");
    let name = file.file_stem().expect("a case has a name").to_string_lossy();
    Case::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the cases that say something about this place; returns how many runs that were.
fn check(target: &dyn Target, cases: &[Case], wrong: &mut Vec<String>) -> usize {
    let mut runs = 0;
    for case in cases {
        let measured = Measurements::of(case).unwrap_or_else(|error| panic!("{error}"));
        for level in target.levels() {
            if !measured.concerns(target.info(), *level) {
                continue;
            }
            runs += 1;
            let options = RunOptions { level: Some(*level), ..RunOptions::default() };
            let run = match run_case(target, case, &options) {
                Ok(run) => run,
                // Another release may refuse the tables.
                Err(error @ StageError::Setup { .. }) if !is_measured(case, target) => {
                    println!("not measured: {error}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            for Remark { agreement, sentence } in
                remarks(case, &run, *level).expect("the headers are well-formed")
            {
                let told = format!("{} at {level}: {}: {sentence}", target.info(), case.name);
                match agreement {
                    Agreement::AsExpected => {}
                    Agreement::OtherVersion => println!("{told}"),
                    Agreement::Differs => wrong.push(told),
                }
            }
        }
    }
    runs
}

fn is_measured(case: &Case, target: &dyn Target) -> bool {
    is_measured_on(case, target.info()).unwrap_or_else(|error| panic!("{error}"))
}

fn check_folder(folder: &str) {
    let cases = cases(folder);
    let mut wrong = Vec::new();
    for target in targets() {
        let runs = check(target.as_ref(), &cases, &mut wrong);
        println!("{folder} on {}: {runs} runs", target.info());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn waits_are_seen_where_they_exist() {
    check_folder("waits");
}

#[test]
fn known_bugs_show_where_they_were_measured_and_only_there() {
    check_folder("bugs");
}
