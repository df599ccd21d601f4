//! Bugs that were run, release by release, held against what the headers of their cases say.

use anchorite_judge::Agreement;
use anchorite_model::Level;

use super::matrix::{Cell, Matrix, Shown};
use super::words::release;
use crate::TextOptions;
use crate::escape::visible;
use crate::page::{Page, paint, prose, section};
use crate::style::{Ink, Line};

/// What each bug did, and in full what is not as measured.
pub fn tested(matrix: &Matrix<'_>, options: &TextOptions) -> String {
    let page = Page::new(options);
    let mut lines = Vec::new();
    for (at, column) in matrix.columns.iter().enumerate() {
        section(&release(column), &mut lines);
        for row in &matrix.rows {
            let cells = &row.cells[at];
            if cells.is_empty() {
                continue;
            }
            let told = format!("{}: {}", visible(row.bug.id()), told(cells));
            page.indented(ink(cells), &told, &mut lines);
            for (ink, sentence) in remarks(cells) {
                let remark = prose(ink, &format!("    {}", visible(&sentence)), page.prose);
                lines.extend(remark);
            }
        }
    }
    lines.push(Line::default());
    lines.extend(prose(Ink::Title, &summary(matrix), page.prose));
    paint(&lines, options.style)
}

/// `manifests rr; does not ru rc ser; as measured`
fn told(cells: &[Cell]) -> String {
    let mut words: Vec<(&str, Vec<Level>)> = Vec::new();
    for cell in cells {
        match words.iter_mut().find(|(name, _)| *name == cell.shown.name()) {
            Some((_, levels)) => levels.push(cell.level),
            None => words.push((cell.shown.name(), vec![cell.level])),
        }
    }
    let parts = words.iter().map(|(name, levels)| {
        let levels: Vec<&str> = levels.iter().map(|level| level.short()).collect();
        format!("{name} {}", levels.join(" "))
    });
    let mut parts: Vec<String> = parts.collect();
    let has = |wanted: Agreement| {
        cells.iter().any(|cell| cell.expected.as_ref().is_some_and(|(own, _)| *own == wanted))
    };
    if has(Agreement::Differs) {
        parts.push("NOT AS MEASURED".to_owned());
    } else if has(Agreement::OtherVersion) {
        parts.push("measured on other releases".to_owned());
    } else if has(Agreement::AsExpected) {
        parts.push("as measured".to_owned());
    }
    parts.join("; ")
}

fn ink(cells: &[Cell]) -> Ink {
    if cells.iter().any(|cell| matches!(cell.expected, Some((Agreement::Differs, _)))) {
        Ink::Bad
    } else if cells.iter().any(|cell| cell.shown == Shown::Manifests) {
        Ink::Warning
    } else {
        Ink::Plain
    }
}

/// What is worth a sentence: what differs, and why something could not be run.
fn remarks(cells: &[Cell]) -> Vec<(Ink, String)> {
    let mut remarks: Vec<(Ink, String)> = Vec::new();
    for cell in cells {
        let remark = match (&cell.shown, &cell.expected) {
            (_, Some((Agreement::Differs, sentence))) => {
                (Ink::Bad, format!("at {}: {sentence}", cell.level))
            }
            (Shown::NotApplicable { reason }, _) => (Ink::Faint, reason.clone()),
            _ => continue,
        };
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}

fn summary(matrix: &Matrix<'_>) -> String {
    let count =
        |wanted: &dyn Fn(&Cell) -> bool| matrix.cells().filter(|(_, _, cell)| wanted(cell)).count();
    let shown = |name: &'static str| count(&|cell: &Cell| cell.shown.name() == name);
    let of = |name: &'static str| format!("{} {name}", shown(name));
    let names = ["manifests", "allowed", "does not", "not applicable"].map(of);
    let differs = count(&|cell| matches!(cell.expected, Some((Agreement::Differs, _))));
    let places = matrix.cells().count();
    format!("{places} bugs at levels: {}; {differs} not as measured", names.join(", "))
}
