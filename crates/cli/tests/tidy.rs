//! Rules of the house that a compiler does not check, checked on every source file.

use std::path::{Path, PathBuf};

/// Past this many lines a file has more than one subject.
const LINES_MAX: usize = 450;
/// A line that is longer does not fit beside another file.
const COLUMNS_MAX: usize = 120;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources can be listed") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn complaints(path: &Path, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if !text.starts_with("//!") {
        complaints.push("does not begin with a //! page".to_owned());
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        complaints.push(format!("has {lines} lines"));
    }
    // Built from parts, so that this file does not complain about itself.
    let sleep = ["thread::", "sleep("].concat();
    for (number, line) in text.lines().enumerate() {
        if line.chars().count() > COLUMNS_MAX && !line.contains("https://") {
            complaints.push(format!("line {} is too long", number + 1));
        }
        if line.contains(&sleep) {
            complaints.push(format!("line {}: a bare sleep", number + 1));
        }
    }
    complaints.into_iter().map(|what| format!("{}: {what}", path.display())).collect()
}

#[test]
fn what_users_install_carries_no_tables_of_lines() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let text = std::fs::read_to_string(manifest).expect("the workspace has a manifest");
    let release = text.split("[profile.release]").nth(1).expect("a release profile");
    let settings: Vec<&str> = release.lines().take_while(|line| !line.starts_with('[')).collect();
    assert!(settings.contains(&"debug = 0"), "{settings:?}");
    assert!(settings.contains(&"strip = \"debuginfo\""), "{settings:?}");
}

#[test]
fn sources_are_tidy() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    assert!(files.len() > 50, "found only {} sources", files.len());
    let complaints: Vec<String> = files
        .iter()
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).expect("a source is readable");
            complaints(path, &text)
        })
        .collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
