//! The table as Markdown for pasting.

use super::bug::Bug;
use super::matrix::Matrix;
use super::words::{LEGEND, release, told};
use crate::Glyphs;
use crate::markup::{plain, row};

/// The matrix with its explanation.
pub fn markdown(matrix: &Matrix<'_>) -> String {
    format!("{}\n{}.\n", table(matrix, &|bug| plain(bug.id())), plain(LEGEND))
}

/// The table alone; `name` makes the first column.
pub(super) fn table(matrix: &Matrix<'_>, name: &dyn Fn(&Bug) -> String) -> String {
    let releases: Vec<String> = matrix.columns.iter().map(|c| plain(&release(c))).collect();
    let head: Vec<&str> =
        ["bug", "kind"].into_iter().chain(releases.iter().map(String::as_str)).collect();
    let mut out = row(head.iter().copied()) + &row(head.iter().map(|_| "---"));
    for bug in &matrix.rows {
        let mut cells = vec![name(bug.bug), bug.bug.lines.kind.name().to_owned()];
        for (at, column) in matrix.columns.iter().enumerate() {
            cells.push(told(bug, column, at, Glyphs::Unicode));
        }
        out += &row(cells.iter().map(String::as_str));
    }
    out
}
