//! The collection that is built into the program.
//!
//! Source: the list that `build.rs` makes of the files in `cases/bugs`, `cases/papers` and `cases/servers`.

use anchorite_model::Case;
use anchorite_report::bugs::Bug;

use crate::exit::BadInput;

/// Folders, names and texts, sorted by name.
const BUILT_IN: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/collection.rs"));

/// Every bug, sorted by name.
pub fn bugs() -> Result<Vec<Bug>, BadInput> {
    BUILT_IN.iter().map(|(folder, name, text)| bug(folder, name, text)).collect()
}

fn bug(folder: &'static str, name: &str, text: &str) -> Result<Bug, BadInput> {
    let case = Case::parse(name, text).map_err(|error| BadInput(error.to_string()))?;
    Bug::read(folder, case).map_err(|error| BadInput(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_of_the_collection_can_be_read() {
        let bugs = bugs().expect("every header is readable");
        assert!(bugs.len() >= 115, "{}", bugs.len());
        assert!(bugs.is_sorted_by_key(|bug| bug.id().to_owned()));
    }

    #[test]
    fn each_bug_that_manifests_was_found_again_or_says_what_is_missing() {
        let bugs = bugs().expect("every header is readable");
        let complaint = |bug: &Bug| Some(format!("{}: {}", bug.id(), bug.rediscovery_complaint()?));
        let complaints: Vec<String> = bugs.iter().filter_map(complaint).collect();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }

    #[test]
    fn the_readme_has_the_share_that_is_found_again() {
        let readme = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
        let readme = std::fs::read_to_string(readme).expect("the page");
        let bugs = bugs().expect("every header is readable");
        let share = anchorite_report::bugs::share(&bugs).to_string();
        let told = readme.lines().find(|line| line.starts_with("| known bugs that manifest"));
        assert!(told.is_some_and(|line| line.contains(&share)), "it is {share}: {told:?}");
    }
}
