//! `anchorite export` and `anchorite report` as users call them.

use std::path::Path;
use std::process::{Command, Output};

use anchorite_drivers::open;
use anchorite_model::{
    Confirmed, Expected, Finding, HuntSummary, Judgement, Origin, Rank, Signature, Verdict,
};

fn anchorite(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_anchorite");
    Command::new(program).args(arguments).output().expect("the command starts")
}

fn stdout(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn case_file(name: &str) -> String {
    format!("{}/../../cases/{name}.case", env!("CARGO_MANIFEST_DIR"))
}

/// A finding that SQLite really ran, in a folder as a hunt leaves it.
fn findings_folder(folder: &Path) -> String {
    let target = open("sqlite").expect("SQLite is built in");
    let text = std::fs::read_to_string(case_file("probe/G0")).expect("the case is there");
    let case = anchorite_model::Case::parse("G0", &text).expect("a case");
    let run = super::run(target.as_ref(), &case, Some(anchorite_model::Level::Serializable));
    let oracle = "final-state".to_owned();
    let anomaly = "G0".to_owned();
    let because = vec!["planted by a test".to_owned()];
    let expected = vec![Expected {
        title: "t1, then t2".to_owned(),
        final_state: Vec::new(),
        differences: vec!["one".to_owned()],
    }];
    let verdict = Verdict::broken(&anomaly, because);
    let finding = Finding {
        options: Vec::new(),
        fingerprint: "abc".to_owned(),
        title: String::new(),
        on: String::new(),
        signature: Signature {
            oracle: oracle.clone(),
            anomaly,
            exception: None,
            rank: Rank::Broken,
        },
        witnesses: Vec::new(),
        alike: Vec::new(),
        covers: Vec::new(),
        cause: None,
        known: None,
        unreported: false,
        origin: Origin::File("G0.case".to_owned()),
        original: case,
        before: Vec::new(),
        run,
        judgements: vec![Judgement { expected, ..Judgement::new(&oracle, verdict) }],
        confirmed: Confirmed { shown: 3, runs: 3 },
        contrast: Vec::new(),
        claim: Vec::new(),
    };
    let place = folder.join("findings/abc");
    std::fs::create_dir_all(&place).expect("a folder");
    let mut written = serde_json::to_value(&finding).expect("a finding is data");
    written["schema"] = serde_json::json!(1);
    std::fs::write(place.join("finding.json"), written.to_string()).expect("a file");
    place.join("finding.json").display().to_string()
}

#[test]
fn a_case_is_exported_in_every_form() {
    let file = case_file("bugs/MDEV-27992");
    let words = [
        ("sql", "-- [4, t2]\nDELETE FROM t;"),
        ("mtr", "send DELETE FROM t;"),
        ("spec", "step t2_4 { DELETE FROM t; }"),
        ("comments", "/* t2 */ DELETE FROM t;"),
    ];
    for (form, part) in words {
        let text = stdout(&anchorite(&["export", &file, "--to", form]));
        assert!(text.contains(part), "{form}:\n{text}");
    }
}

#[test]
fn a_picture_needs_a_run() {
    let file = case_file("probe/G0");
    let picture = stdout(&anchorite(&["export", &file, "--to", "svg", "--on", "sqlite"]));
    assert!(picture.starts_with("<svg ") && picture.contains("blocked by t1"), "{picture}");
    let output = anchorite(&["export", &file, "--to", "svg"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("--on"), "{told}");
}

#[test]
fn with_a_target_the_script_knows_what_waits() {
    let file = case_file("probe/G0");
    let text = stdout(&anchorite(&["export", &file, "--to", "sql", "--on", "sqlite"]));
    assert!(text.contains("WAITS for t1"), "{text}");
    assert!(text.contains("PRAGMA busy_timeout"), "{text}");
}

#[test]
fn the_folder_of_a_finding_is_exported_like_the_finding() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = findings_folder(folder.path());
    let place = Path::new(&file).parent().expect("its folder").display().to_string();
    let by_file = stdout(&anchorite(&["export", &file, "--to", "comments"]));
    let by_folder = stdout(&anchorite(&["export", &place, "--to", "comments"]));
    assert_eq!(by_folder, by_file);
    assert!(by_folder.contains("-- level: serializable") && by_folder.contains("-- blocked: "));
    let again = stdout(&anchorite(&["export", &place, "--to", "comments", "--on", "sqlite:wal"]));
    assert!(again.contains("-- level: serializable"), "{again}");
}

#[test]
fn bad_exports_are_told() {
    let file = case_file("probe/G0");
    let said = |arguments: &[&str], words: &str| {
        let output = anchorite(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    };
    said(&["export", &file, "--to", "cobol"], "expected sql, mtr, spec, comments, svg or dot");
    said(&["export", &file, "--to", "sql", "--permutation", "2"], "between 1 and 1");
    said(&["export", "none.json", "--to", "sql"], "none.json");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().display().to_string();
    said(&["export", &path, "--to", "sql"], "expected a file, or the folder of a finding");
    findings_folder(folder.path());
    said(&["export", &path, "--to", "sql"], "findings/abc");
    said(&["report", "no-such-folder"], "no-such-folder");
}

#[test]
fn a_folder_of_findings_becomes_pages() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let finding = findings_folder(folder.path());
    let path = folder.path().display().to_string();
    let text = stdout(&anchorite(&["report", &path]));
    assert!(text.contains("1 new finding") && text.contains("dirty write (G0)"), "{text}");
    let (html, md) = (format!("{path}/r.html"), format!("{path}/r.md"));
    stdout(&anchorite(&["report", &path, "--html", &html, "--md", &md]));
    let html = std::fs::read_to_string(html).expect("it was written");
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("planted by a test"));
    let md = std::fs::read_to_string(md).expect("it was written");
    assert!(md.starts_with("# SQLite ") && md.contains("planted by a test"), "{md}");
    let case = stdout(&anchorite(&["export", &finding, "--to", "comments"]));
    assert!(case.contains("-- blocked: "), "{case}");
}

#[test]
fn a_summary_beside_the_findings_is_shown() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    findings_folder(folder.path());
    let summary = HuntSummary { seed: 7, cases: 1234, ..HuntSummary::default() };
    let text = serde_json::to_string(&summary).expect("it prints");
    std::fs::write(folder.path().join("summary.json"), text).expect("a file");
    let path = folder.path().display().to_string();
    let page = stdout(&anchorite(&["report", &path, "--html", "-"]));
    assert!(page.contains("1,234 cases") && page.contains("Seed 7"), "{page}");
}
