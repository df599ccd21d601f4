//! A finding in brief: its title, and why, in a few sentences.

use anchorite_model::Finding;

use super::headline::title_of;
use super::outcomes::reasons;
use super::words::{because, deciding, product_and_version};
use crate::result::level_label;

/// `MariaDB 10.11.18, read committed: DELETE waits, then deletes nothing`.
pub fn title(finding: &Finding) -> String {
    let run = &finding.run;
    let level = match level_label(run) {
        "default" => "default level",
        "mixed" => "mixed levels",
        name => name,
    };
    format!("{}, {level}: {}", product_and_version(&run.target), title_of(finding))
}

/// The text at the top of a finding's scripts.
pub fn remarks(finding: &Finding) -> Vec<String> {
    let mut lines = vec![title(finding)];
    lines.extend(in_brief(finding).into_iter().map(str::to_owned));
    lines
}

/// Why, without what needs the tables of a report to be readable; if nothing would be left, all of it.
pub(crate) fn in_brief(finding: &Finding) -> Vec<&str> {
    let all = || deciding(finding).map_or(&[][..], |judgement| because(&judgement.verdict));
    match reasons(finding) {
        none if none.is_empty() => all().iter().map(String::as_str).collect(),
        some => some,
    }
}
