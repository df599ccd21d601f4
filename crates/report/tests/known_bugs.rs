//! The known-bug collection of the repository in every form, and the study in the documentation.

use std::path::{Path, PathBuf};

use anchorite_model::Case;
use anchorite_report::bugs::{self, Bug, Matrix, Status};
use anchorite_report::{Glyphs, Style, TextOptions};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every bug and listing, sorted by name.
fn collection() -> Vec<Bug> {
    let mut bugs = Vec::new();
    for folder in ["bugs", "papers", "servers"] {
        for entry in
            std::fs::read_dir(root().join("cases").join(folder)).expect("a folder of cases")
        {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("a case is readable");
            let name = path.file_stem().expect("a case has a name").to_string_lossy();
            let case = Case::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
            bugs.push(Bug::read(folder, case).unwrap_or_else(|error| panic!("{error}")));
        }
    }
    bugs.sort_by(|a, b| a.id().cmp(b.id()));
    bugs
}

fn options(width: usize) -> TextOptions {
    TextOptions { width, style: Style::Plain, glyphs: Glyphs::Unicode }
}

#[test]
fn every_form_has_every_bug() {
    let bugs = collection();
    let chosen: Vec<&Bug> = bugs.iter().collect();
    assert!(bugs.len() >= 115, "{}", bugs.len());
    let matrix = Matrix::recorded(&chosen);
    let forms = [
        ("wide text", bugs::text(&matrix, &options(400))),
        ("narrow text", bugs::text(&matrix, &options(60))),
        ("Markdown", bugs::markdown(&matrix)),
        ("JSON", bugs::json(&matrix, "0")),
        ("HTML", bugs::html(&matrix, "0")),
        ("list", bugs::list(&chosen, &options(100))),
        ("list as JSON", bugs::list_json(&chosen, "0")),
        ("what a test says", bugs::tested(&matrix, &options(100))),
    ];
    for (form, text) in &forms {
        for bug in &bugs {
            let is_measured = matrix.rows.iter().any(|row| {
                row.bug.id() == bug.id() && row.cells.iter().any(|cells| !cells.is_empty())
            });
            let is_there = text.contains(bug.id());
            assert!(is_there || !is_measured, "{form}: {} is not there", bug.id());
        }
    }
    let page = &forms[4].1;
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(!page.contains("src=") && !page.contains("<link"), "the page needs another file");
}

#[test]
fn what_is_recorded_is_what_the_header_says() {
    let bugs = collection();
    let of = |id: &str| bugs.iter().find(|bug| bug.id() == id).expect("a bug of the collection");
    for (id, status) in [
        ("MDEV-26642", Status::Live),
        ("MDEV-27992", Status::Live),
        ("MYSQL-107898", Status::Gone),
        ("TIDB-8393", Status::Documented),
        ("MDEV-25546", Status::Unseen),
    ] {
        assert_eq!(of(id).status(), status, "{id}");
    }
    let chosen = [of("MDEV-26642")];
    let table = bugs::markdown(&Matrix::recorded(&chosen));
    let row = table.lines().find(|line| line.contains("MDEV-26642")).expect("its row");
    assert!(row.starts_with("| MDEV-26642 | isolation | rr | rr | · | (rr) | (rr) |"), "{row}");
    let shown = bugs::show(&Matrix::recorded(&chosen), &options(100));
    for part in ["MDEV-26642: an UPDATE", "mariadb 10.11.18: rr", "/* t1 */ UPDATE t SET a = 10"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// As the page is made by hand after each new case, the text that it should have is left where it can be copied from.
#[test]
fn the_study_in_the_documentation_is_up_to_date() {
    let bugs = collection();
    let chosen: Vec<&Bug> = bugs.iter().collect();
    let study = bugs::study(&Matrix::recorded(&chosen));
    assert_eq!(study, bugs::study(&Matrix::recorded(&chosen)), "it must be the same twice");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("known-bugs-study.md");
    std::fs::write(&made, &study).expect("a temporary file");
    let page = root().join("docs/known-bugs-study.md");
    let written = std::fs::read_to_string(&page).unwrap_or_default();
    let first = study.lines().zip(written.lines()).find(|(made, written)| made != written);
    assert!(written == study, "{} is out of date: {made:?} differs at {first:?}", page.display());
}
