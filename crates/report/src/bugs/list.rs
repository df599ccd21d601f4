//! The collection as a list, and one bug in full.

use serde_json::{Value as Json, json};

use super::bug::Bug;
use super::json::about;
use super::matrix::Matrix;
use super::status::Status;
use super::words::{release, told};
use crate::TextOptions;
use crate::escape::{visible, visible_lines};
use crate::page::{Page, paint, prose, section};
use crate::style::{Ink, Line};
use crate::table::whole_grid;

/// A line for each bug, then how many there are.
pub fn list(bugs: &[&Bug], options: &TextOptions) -> String {
    let page = Page::new(options);
    let column = |name: &str, cell: &dyn Fn(&Bug) -> (Ink, String)| {
        (name.to_owned(), bugs.iter().map(|bug| cell(bug)).collect())
    };
    let columns = vec![
        column("bug", &|bug| (Ink::Title, visible(bug.id()))),
        column("kind", &|bug| (Ink::Plain, bug.lines.kind.name().to_owned())),
        column("status", &|bug| (ink(bug.status()), bug.status().name().to_owned())),
        column("products", &|bug| (Ink::Faint, products(bug))),
    ];
    let grid = whole_grid(columns, usize::MAX, page.glyphs).unwrap_or_default();
    let mut lines = Vec::new();
    // The title goes below, where a line has room for it.
    let head = grid.len().saturating_sub(bugs.len());
    for (at, line) in grid.into_iter().enumerate() {
        lines.push(line);
        if let Some(bug) = at.checked_sub(head).and_then(|row| bugs.get(row)) {
            page.indented(Ink::Faint, &visible(bug.title()), &mut lines);
        }
    }
    lines.push(Line::default());
    lines.push(Line::of(Ink::Title, count(bugs)));
    paint(&lines, options.style)
}

fn count(bugs: &[&Bug]) -> String {
    let of = |status: Status| {
        let count = bugs.iter().filter(|bug| bug.status() == status).count();
        format!("{count} {}", status.name())
    };
    let told: Vec<String> = Status::ALL.into_iter().map(of).collect();
    let noun = if bugs.len() == 1 { "bug" } else { "bugs" };
    format!("{} {noun}: {}", bugs.len(), told.join(", "))
}

fn ink(status: Status) -> Ink {
    match status {
        Status::Live => Ink::Warning,
        Status::Gone | Status::Documented => Ink::Plain,
        Status::Unseen => Ink::Faint,
    }
}

fn products(bug: &Bug) -> String {
    let names: Vec<&str> = bug.case.header.targets.iter().map(|product| product.name()).collect();
    names.join(", ")
}

/// The same as JSON.
pub fn list_json(bugs: &[&Bug], version: &str) -> String {
    let bugs: Vec<Json> = bugs.iter().map(|bug| about(bug)).collect();
    format!("{}\n", json!({"anchorite": version, "bugs": bugs}))
}

/// One bug: what it is, where it was measured, and its case, which can be saved and run.
pub fn show(matrix: &Matrix<'_>, options: &TextOptions) -> String {
    let page = Page::new(options);
    let mut lines = Vec::new();
    for row in &matrix.rows {
        page.rule(&mut lines);
        let bug = row.bug;
        let title = format!("{}: {}", visible(bug.id()), visible(bug.title()));
        lines.extend(prose(Ink::Title, &title, page.prose));
        page.field("kind", Ink::Plain, bug.lines.kind.name(), &mut lines);
        page.field("status", ink(bug.status()), bug.status().name(), &mut lines);
        page.field("products", Ink::Plain, &products(bug), &mut lines);
        if !bug.lines.also.is_empty() {
            page.field("also", Ink::Plain, &bug.lines.also.join(", "), &mut lines);
        }
        for source in &bug.case.header.source {
            page.field("source", Ink::Faint, source, &mut lines);
        }
        for found in &bug.lines.found {
            page.field("found by", Ink::Plain, &format!("{}: {}", found.at, found.by), &mut lines);
        }
        for missing in &bug.lines.missing {
            let told = format!("{}: {}", missing.part.name(), missing.what);
            page.field("missing", Ink::Plain, &told, &mut lines);
        }
        section("Measured", &mut lines);
        for (at, column) in matrix.columns.iter().enumerate() {
            let told = told(row, column, at, page.glyphs);
            if !told.is_empty() {
                page.indented(Ink::Plain, &format!("{}: {told}", release(column)), &mut lines);
            }
        }
        section("Case", &mut lines);
        let text = visible_lines(&bug.case.to_string());
        lines.extend(text.into_iter().map(|line| Line::of(Ink::Plain, line)));
    }
    paint(&lines, options.style)
}
