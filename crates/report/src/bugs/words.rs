//! The words that all forms of the table use.
//!
//! Idea: a release is one column, and a cell names the levels at which the bug shows: `rr ser`. Levels at which a page
//! of the vendor documents it are in parentheses, and `·` says that it was run and did not show. A sign behind them
//! says what differs from the header of the case.

use anchorite_judge::Agreement;
use anchorite_model::Level;

use super::matrix::{Cell, Column, Row, Shown};
use crate::style::{Glyphs, Ink};

/// Where nothing shows.
const NOWHERE: (&str, &str) = ("·", ".");
/// Behind what is not as the header says.
const DIFFERS: (&str, &str) = ("✗", "!");

/// The explanation below a table.
pub(super) const LEGEND: &str = "levels: the bug shows there; (levels): it shows, and the vendor documents it; \
    ·: it was run and does not show; n/a: it cannot be run there; nothing: not measured";

/// The name of a column.
pub(super) fn release(column: &Column) -> String {
    format!("{} {}", column.product, column.version)
}

/// What a bug did on a release.
pub(super) fn told(row: &Row<'_>, column: &Column, at: usize, glyphs: Glyphs) -> String {
    let cells = &row.cells[at];
    if cells.is_empty() {
        return String::new();
    }
    if cells.iter().all(|cell| matches!(cell.shown, Shown::NotApplicable { .. })) {
        return "n/a".to_owned();
    }
    let shows = levels(&row.levels(at, |shown| matches!(shown, Shown::Manifests)), column);
    let allowed = levels(&row.levels(at, |shown| matches!(shown, Shown::Allowed { .. })), column);
    let allowed = allowed.map(|levels| format!("({levels})"));
    let mut words: Vec<String> = [shows, allowed].into_iter().flatten().collect();
    if words.is_empty() {
        words.push(glyphs.pick(NOWHERE.0, NOWHERE.1).to_owned());
    }
    if differs(cells) {
        words.push(glyphs.pick(DIFFERS.0, DIFFERS.1).to_owned());
    }
    words.join(" ")
}

/// Whether something is not as the header of the case says.
pub(super) fn differs(cells: &[Cell]) -> bool {
    let differs = |cell: &Cell| matches!(cell.expected, Some((Agreement::Differs, _)));
    cells.iter().any(differs)
}

/// The colour of a cell.
pub(super) fn ink(row: &Row<'_>, at: usize) -> Ink {
    let cells = &row.cells[at];
    if differs(cells) {
        Ink::Bad
    } else if cells.iter().any(|cell| cell.shown == Shown::Manifests) {
        Ink::Warning
    } else {
        Ink::Plain
    }
}

/// The abbreviations of levels; `all` for all those of the release, if it has several.
fn levels(levels: &[Level], column: &Column) -> Option<String> {
    let mut own = levels.to_vec();
    own.sort();
    own.dedup();
    match own.len() {
        0 => None,
        count if count > 1 && own == column.levels => Some("all".to_owned()),
        _ => Some(own.into_iter().map(Level::short).collect::<Vec<_>>().join(" ")),
    }
}
