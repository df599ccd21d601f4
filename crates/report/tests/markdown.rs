//! Whole reports as Markdown.

mod samples;

use anchorite_model::Case;
use anchorite_report::{RunResult, markdown};

fn report(results: &[RunResult]) -> String {
    markdown(results, &Case::to_text)
}

#[test]
fn a_wait_and_its_verdicts() {
    insta::assert_snapshot!(report(&[samples::judged()]));
}

#[test]
fn errors_notices_and_checks() {
    insta::assert_snapshot!(report(&[samples::failed_commit().into()]));
}

#[test]
fn values_and_statements_of_several_lines() {
    let results = [samples::shapes::values().into(), samples::shapes::multi_line().into()];
    insta::assert_snapshot!(report(&results));
}

#[test]
fn a_lost_server_seen_twice() {
    let results = [samples::server_lost().into(), samples::server_lost().into()];
    insta::assert_snapshot!(report(&results));
}

#[test]
fn hostile_text_stays_text() {
    insta::assert_snapshot!(report(&[samples::hostile::hostile()]));
}

#[test]
fn every_row_of_a_table_has_as_many_cells_as_its_head() {
    let results = [samples::hostile::hostile(), samples::failed_commit().into()];
    let text = report(&results);
    let mut expected = None;
    for line in text.lines() {
        if line.starts_with("| ") {
            let cells = cells_as_github_counts(line);
            assert_eq!(*expected.get_or_insert(cells), cells, "{line}");
        } else {
            expected = None;
        }
    }
}

/// A cell ends at a `|` that is not behind a backslash; a backslash hides exactly the character
/// after it.
fn cells_as_github_counts(line: &str) -> usize {
    let mut cells = 0;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '|' => cells += 1,
            _ => (),
        }
    }
    cells
}
