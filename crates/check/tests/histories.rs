//! The folder `histories`: every file satisfies its folder's level and nothing stronger.

use anchorite_check::input;
use anchorite_check::lattice;
use anchorite_check::levels::{AXIOMATIC, LevelVerdict};
use anchorite_check::model::History;
use anchorite_check::report::{Options, Report, judge};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../histories")
}

fn files(family: &str) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let entries = |path: &Path| {
        std::fs::read_dir(path).expect("a folder").map(|e| e.expect("an entry").path())
    };
    for folder in entries(&root().join(family)) {
        let level = folder.file_name().expect("a name").to_string_lossy().into_owned();
        found.extend(entries(&folder).map(|file| (level.clone(), file)));
    }
    found.sort();
    assert!(found.len() > 8, "{family} has only {} files", found.len());
    found
}

fn read(path: &Path) -> History {
    let file = std::fs::File::open(path).expect("the file opens");
    input::read(file, None).unwrap_or_else(|error| panic!("{}: {error}", path.display())).1
}

fn report(path: &Path) -> Report {
    judge(&read(path), &Options { threads: 2, ..Options::default() })
}

fn holds(levels: &[(&'static str, LevelVerdict)], name: &str) -> bool {
    levels.iter().any(|(level, verdict)| *level == name && *verdict == LevelVerdict::Holds)
}

/// `strong-session-`, `strong-` or nothing.
fn class(level: &str) -> &'static str {
    if level.starts_with("strong-session-") {
        "session"
    } else if level.starts_with("str") {
        "real time"
    } else {
        ""
    }
}

#[test]
fn adya_folders_are_right() {
    for (level, path) in files("adya") {
        let report = report(&path);
        assert!(
            level == "none" || holds(&report.levels, &level),
            "{} {:?}",
            path.display(),
            report.levels
        );
        for (other, verdict) in &report.levels {
            // Session order and real time are another dimension: compared where the folder says so.
            let stronger = class(other) == class(&level)
                && lattice::canonical(&level).is_none_or(|weaker| {
                    let model = lattice::canonical(other).expect("a level");
                    model != weaker && lattice::weaker(model).contains(weaker)
                });
            assert!(
                !stronger || *verdict != LevelVerdict::Holds,
                "{}: {other} holds too",
                path.display()
            );
        }
        assert!(
            level == "strict-serializable"
                || level.starts_with("strong-session-serializable")
                || level == "serializable"
                || !report.anomalies.is_empty(),
            "{}: no anomaly",
            path.display()
        );
    }
}

#[test]
fn axiomatic_folders_are_right() {
    for (level, path) in files("axiomatic") {
        let report = report(&path);
        let place = AXIOMATIC.iter().position(|name| *name == level);
        for (at, (name, verdict)) in report.axiomatic.iter().enumerate() {
            let expected = LevelVerdict::of(place.is_some_and(|place| at <= place));
            assert_eq!(*verdict, expected, "{}: {name}", path.display());
        }
    }
}
