//! The table as one HTML page that needs no other file and no network, and can be filtered.
//!
//! Idea: every row carries what the form above the table asks for, and a short script hides what does not fit; without
//! scripts the form is not there, and all rows are. Assumption: all text is untrusted. It is made visible first, and
//! then escaped by the template; the style and the script are ours, and hold no text of a case.

use anchorite_judge::BugKind;
use anchorite_model::Level;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::bug::Bug;
use super::matrix::{Cell, Matrix, Row, Shown};
use super::status::Status;
use super::words::{LEGEND, differs, release, told};

use crate::Glyphs;
use crate::escape::visible;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("filter.js");

/// The matrix as an HTML page. `version` is Anchorite's own.
pub fn html(matrix: &Matrix<'_>, version: &str) -> String {
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Known bugs" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Known bugs" }
                (form(matrix))
                div.wide {
                    table {
                        thead { (head(matrix)) }
                        tbody { @for row in &matrix.rows { (body(matrix, row)) } }
                    }
                }
                p.legend { (LEGEND) "." }
                footer { "anchorite " (version) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}

fn form(matrix: &Matrix<'_>) -> Markup {
    let mut products: Vec<&str> = matrix.columns.iter().map(|c| c.product.name()).collect();
    products.dedup();
    let choices: [(&str, Vec<&str>); 4] = [
        ("kind", BugKind::ALL.map(BugKind::name).to_vec()),
        ("status", Status::ALL.map(Status::name).to_vec()),
        ("level", Level::ALL.map(Level::short).to_vec()),
        ("product", products),
    ];
    markup! {
        form hidden {
            label { "words " input name="words" type="search"; }
            @for (name, options) in &choices {
                label {
                    (name) " "
                    select name=(name) {
                        option value="" { "any" }
                        @for option in options { option value=(option) { (option) } }
                    }
                }
            }
            span id="count" {}
        }
    }
}

fn head(matrix: &Matrix<'_>) -> Markup {
    markup! {
        tr {
            th { "bug" }
            th { "kind" }
            @for column in &matrix.columns { th { (release(column)) } }
        }
    }
}

fn body(matrix: &Matrix<'_>, row: &Row<'_>) -> Markup {
    let bug = row.bug;
    let cells = || row.cells.iter().flatten();
    let mut levels: Vec<Level> =
        cells().filter(|cell| is_shown(cell)).map(|cell| cell.level).collect();
    levels.sort();
    levels.dedup();
    let levels: Vec<&str> = levels.into_iter().map(Level::short).collect();
    let products = matrix.columns.iter().zip(&row.cells);
    let products = products.filter(|(_, cells)| cells.iter().any(is_shown));
    let products: Vec<&str> = products.map(|(column, _)| column.product.name()).collect();
    markup! {
        tr data-kind=(bug.lines.kind.name()) data-status=(bug.status().name())
            data-level=(levels.join(" ")) data-product=(products.join(" ")) {
            td { (name(bug)) small { (visible(bug.title())) } }
            td { (bug.lines.kind.name()) }
            @for (at, column) in matrix.columns.iter().enumerate() {
                @let here = &row.cells[at];
                td.shows[here.iter().any(|cell| cell.shown == Shown::Manifests)].differs[differs(here)] {
                    (told(row, column, at, Glyphs::Unicode))
                    @for page in pages(here) { " " a href=(page) { "page" } }
                }
            }
        }
    }
}

const fn is_shown(cell: &Cell) -> bool {
    matches!(cell.shown, Shown::Manifests | Shown::Allowed { .. })
}

/// The pages that allow what shows here, each once.
fn pages(cells: &[Cell]) -> Vec<&str> {
    let mut pages: Vec<&str> = cells.iter().filter_map(|cell| page(&cell.shown)).collect();
    pages.sort_unstable();
    pages.dedup();
    pages
}

fn page(shown: &Shown) -> Option<&str> {
    match shown {
        Shown::Allowed { page } => Some(page),
        _ => None,
    }
}

/// The name, with a link to the report.
fn name(bug: &Bug) -> Markup {
    let source = bug.case.header.source.iter().find(|source| source.starts_with("https://"));
    markup! {
        @match source {
            Some(address) => { a href=(address) { (visible(bug.id())) } }
            None => { (visible(bug.id())) }
        }
    }
}
