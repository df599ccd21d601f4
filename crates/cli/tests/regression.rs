//! `anchorite run` as a regression runner: folders, several cases at once, what the cases say, exit codes.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const TABLE: &str = "/* setup */ CREATE TABLE t (id INT PRIMARY KEY, v INT);\n\
                     /* setup */ INSERT INTO t VALUES (1, 10), (2, 20);\n";
const WAIT: &str = "/* t1 */ BEGIN;\n/* t1 */ UPDATE t SET v = 11 WHERE id = 1;\n\
                    /* t2 */ UPDATE t SET v = 12 WHERE id = 1;\n/* t1 */ COMMIT;\n";

/// A folder with cases, by their paths below it and their headers.
fn folder(cases: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, header) in cases {
        write(folder.path(), name, &format!("{header}{TABLE}{WAIT}"));
    }
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
    std::fs::write(path, text).expect("written");
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anchorite"));
    let output = command.arg("run").args(arguments).current_dir(folder).output();
    output.expect("the command starts")
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = run(folder, &[arguments, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)))
}

/// The release of the SQLite that is built in.
fn release() -> String {
    let target = anchorite_drivers::open("sqlite").expect("SQLite is built in");
    anchorite_claims::Version::of(target.info()).to_string()
}

#[test]
fn a_folder_is_run_by_name_at_any_depth_and_jobs_change_nothing() {
    let names = ["b/z.case", "a.case", "b/a/k.case", "b.case", "c.case", "d.case", "note.txt"];
    let folder = folder(&names.map(|name| (name, "")));
    let alone = format!("-- alone: it would meet others\n{TABLE}{WAIT}");
    write(folder.path(), "b/a/k.case", &alone);
    let cases = |document: &Value| -> Vec<String> {
        let results = document["results"].as_array().expect("results");
        results.iter().map(|result| result["case"].to_string().replace('"', "")).collect()
    };
    let one = json(folder.path(), &["."]);
    assert_eq!(cases(&one), ["a", "k", "z", "b", "c", "d"]);
    let four = json(folder.path(), &[".", "--jobs", "4"]);
    assert_eq!(cases(&four), cases(&one));
    let finals = |document: &Value| -> Vec<Value> {
        let results = document["results"].as_array().expect("results");
        results.iter().map(|result| result["final_state"].clone()).collect()
    };
    assert_eq!(finals(&four), finals(&one));

    let brief = run(folder.path(), &[".", "--jobs", "3"]);
    let text = told(&brief);
    assert_eq!(brief.status.code(), Some(0), "{text}");
    assert!(!text.contains("blocked by t1"), "{text}");
    assert!(text.contains("6 runs of 6 cases on 1 target at 1 level"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("pass")).count(), 6 + 6 + 1, "{text}");
    let full = told(&run(folder.path(), &[".", "--verbose"]));
    assert_eq!(full.matches("blocked by t1").count(), 6, "{full}");
}

#[test]
fn a_folder_without_cases_is_told() {
    let folder = folder(&[]);
    let output = run(folder.path(), &["."]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains(".: expected .case or .spec files in this folder"));
}

/// Headers with the exit code and a sentence of what is told.
fn headers() -> Vec<(String, i32, String)> {
    let here = release();
    let shows = "-- shows: step 3 blocked by t1\n";
    let gone = "-- shows: step 3 not blocked\n";
    vec![
        (
            format!("{shows}-- manifests: sqlite {here} ser\n"),
            0,
            format!("shows, as measured on {here}"),
        ),
        (
            format!("{gone}-- absent: sqlite {here} ser\n"),
            0,
            format!("does not show, as measured on {here}"),
        ),
        (
            format!("{gone}-- manifests: sqlite {here} ser\n"),
            1,
            format!("DIFFERS: measured on {here}: shows; here on {here}: does not"),
        ),
        (
            format!("{gone}-- manifests: sqlite 3.1.0 ser\n"),
            0,
            format!("another release: measured on 3.1.0: shows; here on {here}: does not"),
        ),
        (
            format!("{gone}-- seen: sqlite {here} all: step 3 affects 7\n"),
            1,
            "step 3 affects 7; here".to_owned(),
        ),
        ("-- expect: final-state pass\n".to_owned(), 0, "final-state pass, as expected".to_owned()),
        (
            "-- expect: final-state violation\n".to_owned(),
            1,
            "DIFFERS: expected final-state violation, got pass".to_owned(),
        ),
        (
            "-- expect: final-state violation on sqlite 3.1.0\n".to_owned(),
            0,
            format!(
                "another release: measured on 3.1.0: final-state violation; here on {here}: pass"
            ),
        ),
        // No word about SQLite, or by an oracle that did not judge: nothing to compare.
        (
            "-- expect: final-state violation on mysql\n".to_owned(),
            0,
            "final-state  pass".to_owned(),
        ),
        (
            "-- expect: views allowed same-value-update\n".to_owned(),
            0,
            "final-state  pass".to_owned(),
        ),
    ]
}

#[test]
fn what_the_case_says_is_compared_and_decides() {
    for (header, code, sentence) in headers() {
        let folder = folder(&[("x.case", &header)]);
        let output = run(folder.path(), &["x.case"]);
        let text = told(&output);
        assert_eq!(output.status.code(), Some(code), "{header}{text}");
        assert!(text.contains(&sentence), "{header}{text}");
    }
}

#[test]
fn a_header_that_cannot_be_compared_is_bad_input() {
    for (header, reason) in [
        ("-- expect: final-state fine\n", "expected one of pass, violation, allowed, undecided"),
        ("-- shows: step 9 fails\n", "there is no step 9"),
        ("-- manifests: sqlite\n", "names no level"),
    ] {
        let folder = folder(&[("x.case", header)]);
        let output = run(folder.path(), &["x.case"]);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains(reason), "{}", told(&output));
    }
}

#[test]
fn a_case_that_cannot_be_set_up_does_not_end_the_run_of_the_others() {
    let folder = folder(&[("a.case", ""), ("z.case", "")]);
    write(folder.path(), "m.case", "/* setup */ CREATE CHAOS;\n/* t1 */ SELECT 1;\n");
    write(folder.path(), "other.case", "-- level: read committed\n/* t1 */ SELECT 1;\n");
    let output = run(folder.path(), &[".", "--jobs", "2"]);
    let text = told(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("2 runs of 2 cases") && text.contains("1 not run"), "{text}");
    assert!(text.contains("m could not be run on sqlite"), "{text}");
    assert!(text.contains("other needs read committed"), "{text}");
    let document = json(folder.path(), &["."]);
    assert_eq!(document["failures"][0]["case"], "m");
    // Alone it is what it was: an error of the set-up.
    let alone = run(folder.path(), &["m.case"]);
    assert_eq!(alone.status.code(), Some(3), "{}", told(&alone));
}

#[test]
fn a_verdict_says_what_it_covers() {
    let folder = folder(&[("x.case", "")]);
    let text = told(&run(folder.path(), &["x.case"]));
    assert!(text.contains("final-state  pass (writes and reads)"), "{text}");
    let dirty = ["x.case", "--on", "sqlite:shared-cache", "--level", "ru"];
    let text = told(&run(folder.path(), &dirty));
    assert!(text.contains("pass (writes; reads are not judged at this level)"), "{text}");
    assert_eq!(json(folder.path(), &dirty)["results"][0]["verdicts"][0]["covers"], "writes");
}

#[test]
fn what_the_rows_prove_is_named_with_what_is_promised() {
    let folder = folder(&[]);
    let skew = "/* t1 */ BEGIN;\n/* t1 */ SELECT * FROM t;\n/* t2 */ BEGIN;\n\
                /* t2 */ UPDATE t SET v = 12 WHERE id = 1;\n/* t1 */ SELECT * FROM t;\n/* t2 */ ROLLBACK;\n\
                /* t1 */ COMMIT;\n";
    write(folder.path(), "x.case", &format!("{TABLE}{skew}"));
    let dirty = ["x.case", "--on", "sqlite:shared-cache", "--level", "ru"];
    let output = run(folder.path(), &dirty);
    let text = told(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("G1a (aborted read): possible at this level, as documented"), "{text}");
    assert!(text.contains("step 5 of t1 saw (1, 12), which t2 wrote in step 4"), "{text}");
    let document = json(folder.path(), &dirty);
    let observed = &document["results"][0]["observed"][0];
    assert_eq!((&observed["anomaly"], &observed["claimed"]), (&"G1a".into(), &"possible".into()));
    let serial = json(folder.path(), &["x.case"]);
    assert_eq!(serial["results"][0]["observed"], serde_json::json!([]));
}
