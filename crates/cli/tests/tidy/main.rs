//! Rules of the house that a compiler does not check, checked on every source file.
//!
//! * here: a page on top, the size of a file, the width of a line;
//! * `functions`: how long a function may be;
//! * `waits`: nobody sleeps, by whatever name;
//! * `circles`: modules of a crate import each other in one direction only.

mod circles;
mod functions;
mod waits;

use std::path::{Path, PathBuf};

/// Past this many lines a file has more than one subject.
const LINES_MAX: usize = 450;
/// A line that is longer does not fit beside another file.
const COLUMNS_MAX: usize = 120;

/// A source file of the workspace.
pub struct Source {
    /// Its path below `crates`, such as `model/src/lib.rs`.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its syntax tree.
    pub tree: syn::File,
}

fn paths(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources can be listed") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            paths(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Every source file of every crate, in order of their paths.
pub fn sources() -> Vec<Source> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    paths(&crates, &mut found);
    found.sort();
    assert!(found.len() > 50, "found only {} sources", found.len());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a source is readable");
        let path = path.strip_prefix(&crates).expect("it is below").display().to_string();
        let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        Source { path, text, tree }
    };
    found.into_iter().map(read).collect()
}

fn complaints(source: &Source) -> Vec<String> {
    let Source { path, text, .. } = source;
    let mut complaints = Vec::new();
    if !text.starts_with("//!") {
        complaints.push(format!("{path}: does not begin with a //! page"));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        complaints.push(format!("{path}: has {lines} lines"));
    }
    for (number, line) in text.lines().enumerate() {
        if line.chars().count() > COLUMNS_MAX && !line.contains("https://") {
            complaints.push(format!("{path}:{}: is too long", number + 1));
        }
    }
    complaints
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

/// One test for all rules: reading every source is what takes its time.
#[test]
fn sources_are_tidy() {
    let sources = sources();
    let mut found: Vec<String> = sources
        .iter()
        .flat_map(|source| {
            let mut found = complaints(source);
            found.extend(functions::complaints(source));
            found.extend(waits::complaints(source));
            found
        })
        .collect();
    found.extend(circles::complaints(&sources));
    assert!(found.is_empty(), "{} complaints\n{}", found.len(), found.join("\n"));
}

/// A source for the tests of the rules.
fn example(text: &str) -> Source {
    let tree = syn::parse_file(text).expect("valid Rust");
    Source { path: "x/src/lib.rs".to_owned(), text: text.to_owned(), tree }
}
