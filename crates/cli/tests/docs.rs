//! The documentation holds together: links lead somewhere, and the glossary has the words that outputs use.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page of documentation.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

/// The text without blocks of code, in which brackets mean something else.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// The places that a page links to.
fn links(text: &str) -> Vec<&str> {
    let ends = text.split("](").skip(1);
    ends.filter_map(|rest| rest.split(')').next()).collect()
}

/// The name by which a heading is linked to.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn complaint(page: &Path, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (file, place) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        file => page.parent().expect("a page is in a folder").join(file),
    };
    if !target.exists() {
        return Some(format!("{}: {link} is not there", page.display()));
    }
    if place.is_empty() {
        return None;
    }
    let text = prose(&std::fs::read_to_string(&target).unwrap_or_default());
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    let found = headings.any(|heading| anchor(heading) == place);
    (!found).then(|| format!("{}: {link}: no such heading", page.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let mut files =
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|f| root().join(f)).to_vec();
    pages(&root().join("docs"), &mut files);
    let mut complaints = Vec::new();
    let mut count = 0;
    for page in &files {
        let text = prose(&std::fs::read_to_string(page).expect("a page is readable"));
        count += links(&text).len();
        complaints.extend(links(&text).into_iter().filter_map(|link| complaint(page, link)));
    }
    assert!(count > 50, "found only {count} links");
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn the_glossary_has_the_words_that_users_meet() {
    let text = std::fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary");
    let entries: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("| ")).collect();
    for word in [
        "tx-WSS",
        "stmt-WSS",
        "G0",
        "G1a",
        "G1b",
        "G1c",
        "OTV",
        "PMP",
        "P4",
        "G-single",
        "G2-item",
        "G2",
        "flaky",
        "fingerprint",
        "suspect",
        "place",
        "known issue",
        "claim",
        "level",
        "settled",
        "rehearsal",
        "Pass",
        "Violation",
        "Allowed",
        "Undecided",
        "seed",
        "contrast",
        "witness",
        "sabotage",
        "exception",
    ] {
        let explained = entries.iter().filter(|entry| {
            let name = entry.split(" |").next().unwrap_or_default();
            name.split(", ").any(|part| part == word)
        });
        assert_eq!(explained.count(), 1, "{word}");
    }
}

#[test]
fn headings_are_named_as_pages_on_the_web_name_them() {
    for (heading, expected) in [
        ("## The JSON of `run`", "the-json-of-run"),
        ("### The mechanism: must, may, must not", "the-mechanism-must-may-must-not"),
    ] {
        assert_eq!(anchor(heading), expected);
    }
}
