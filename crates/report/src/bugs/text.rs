//! The table as text; a list, one bug after the other, where the terminal is too narrow for it.

use super::matrix::Matrix;
use super::words::{LEGEND, ink, release, told};
use crate::escape::visible;
use crate::page::{Page, paint, prose};
use crate::style::{Ink, Line};
use crate::table::whole_grid;
use crate::{Glyphs, TextOptions};

/// The matrix for people.
pub fn text(matrix: &Matrix<'_>, options: &TextOptions) -> String {
    let page = Page::new(options);
    let mut lines = match whole_grid(columns(matrix, page.glyphs), page.width, page.glyphs) {
        Some(grid) => grid,
        None => list(matrix, &page),
    };
    lines.push(Line::default());
    lines.extend(prose(Ink::Faint, LEGEND, page.prose));
    paint(&lines, options.style)
}

fn columns(matrix: &Matrix<'_>, glyphs: Glyphs) -> Vec<(String, Vec<(Ink, String)>)> {
    let names = matrix.rows.iter().map(|row| (Ink::Plain, visible(row.bug.id()))).collect();
    let mut columns = vec![("bug".to_owned(), names)];
    for (at, column) in matrix.columns.iter().enumerate() {
        let cells = matrix.rows.iter().map(|row| (ink(row, at), told(row, column, at, glyphs)));
        columns.push((release(column), cells.collect()));
    }
    columns
}

fn list(matrix: &Matrix<'_>, page: &Page) -> Vec<Line> {
    let mut lines = Vec::new();
    for row in &matrix.rows {
        lines.push(Line::of(Ink::Title, visible(row.bug.id())));
        for (at, column) in matrix.columns.iter().enumerate() {
            let told = told(row, column, at, page.glyphs);
            if !told.is_empty() {
                page.indented(ink(row, at), &format!("{}: {told}", release(column)), &mut lines);
            }
        }
    }
    lines
}
