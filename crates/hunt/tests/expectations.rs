//! Cases that say which verdict they expect (`-- expect:`) get it, on every target that they are for. On a release that
//! nobody measured a difference is told, and fails nothing.
//!
//! Embedded SQLite always runs; servers are the URLs in `ANCHORITE_TEST_URLS`.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::path::{Path, PathBuf};

use anchorite_claims::Claims;
use anchorite_drivers::{Target, open};
use anchorite_hunt::Examiner;
use anchorite_judge::{Agreement, Remark, compare, is_measured_on, oracles};
use anchorite_model::Case;
use anchorite_stage::{FreshTables, RunOptions, StageError};

fn case_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            case_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn cases() -> Vec<Case> {
    let mut files = Vec::new();
    case_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases"), &mut files);
    files.sort();
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).expect("a case is readable");
        let name = file.file_stem().expect("a case has a name").to_string_lossy();
        Case::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"))
    };
    files.iter().map(read).filter(|case| !case.header.expect.is_empty()).collect()
}

/// Judges one case where it is meant to run; gives what came out otherwise than expected.
fn contradictions(target: &dyn Target, case: &Case) -> Vec<String> {
    let product = target.info().product;
    let targets = &case.header.targets;
    if !targets.is_empty() && !targets.contains(&product) {
        return Vec::new();
    }
    let claims = Claims::for_product(product);
    let examiner = Examiner { claims, oracles: oracles::ALL, strict: false };
    let mut runner = FreshTables { target, options: RunOptions::default() };
    let is_measured =
        || is_measured_on(case, target.info()).unwrap_or_else(|error| panic!("{error}"));
    let tried = match examiner.examine(&mut runner, case, None) {
        Ok(tried) => tried,
        // Another release may refuse the tables.
        Err(error @ StageError::Setup { .. }) if !is_measured() => {
            println!("not measured: {error}");
            return Vec::new();
        }
        Err(error) => panic!("{error}"),
    };
    let compared = compare(&tried.run, &tried.judgements).unwrap_or_else(|error| panic!("{error}"));
    let mut wrong = Vec::new();
    for Remark { agreement, sentence } in compared.remarks {
        let told = format!("{} on {}: {sentence}", case.name, target.info());
        match agreement {
            Agreement::AsExpected => {}
            Agreement::OtherVersion => println!("{told}"),
            Agreement::Differs => wrong.push(format!("{told}: {:?}", tried.judgements)),
        }
    }
    wrong
}

#[test]
fn cases_get_the_verdicts_that_they_expect() {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    if urls.trim().is_empty() {
        println!("skipped: ANCHORITE_TEST_URLS names no server; only SQLite is tested");
    }
    let cases = cases();
    assert!(cases.len() >= 10, "{}", cases.len());
    for text in std::iter::once("sqlite").chain(urls.split_whitespace()) {
        let target = open(text).unwrap_or_else(|error| panic!("{error}"));
        let wrong: Vec<String> =
            cases.iter().flat_map(|case| contradictions(target.as_ref(), case)).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        println!("{}: {} cases with expectations", target.info(), cases.len());
    }
}
