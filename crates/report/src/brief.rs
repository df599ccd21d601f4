//! Many runs, a line each: the output of a regression run while all is well.
//!
//! Idea: nobody reads a hundred runs in full. Those that need attention follow in full; the others are reduced to the
//! verdict, the place, and what is still worth knowing.

use anchorite_claims::Promise;
use anchorite_judge::Agreement;

use crate::RunResult;
use crate::escape::visible;
use crate::fold::{Outcomes, fold};
use crate::matrix::Cell;
use crate::opinion::{observed_told, remark_told};
use crate::page::{INDENT, Page, prose};
use crate::result::level_label;
use crate::style::{Ink, Line};
use crate::wrap::{width, wrap};

/// The column where the names of the cases begin: after a sign and the longest word.
const NAME_AT: usize = 2 + "undecided".len() + INDENT;
/// The columns that a remark below its line is indented by.
const REMARK_INDENT: usize = 4;

/// The runs, a line each.
pub(crate) fn lines(results: &[RunResult], page: &Page) -> Vec<Line> {
    let names = results.iter().map(|result| width(&visible(&result.run.case.name)));
    let place_at = NAME_AT + names.max().unwrap_or(0) + INDENT;
    let mut out = Vec::new();
    for repeats in fold(results) {
        for outcomes in &repeats.outcomes {
            line(outcomes, place_at, page, &mut out);
            for remark in remarks(outcomes.result) {
                for piece in wrap(&visible(&remark), page.prose - REMARK_INDENT, 0) {
                    out.push(Line::of(Ink::Plain, piece).indented(REMARK_INDENT));
                }
            }
        }
    }
    out
}

fn line(outcomes: &Outcomes<'_>, place_at: usize, page: &Page, out: &mut Vec<Line>) {
    let (run, cell) = (&outcomes.result.run, Cell::of(outcomes.result));
    let times = match outcomes.repeats.len() {
        1 => String::new(),
        times => format!(", {times} times"),
    };
    let mark = format!("{} {}", cell.sign(page.glyphs), cell.word.name());
    let name = visible(&run.case.name);
    let place = visible(&format!("{}, {}{times}", run.target, level_label(run)));
    let mut line = Line::of(cell.ink(), mark.clone());
    line.pad_to(NAME_AT);
    line.push(Ink::Plain, name.clone());
    line.pad_to(place_at);
    line.push(Ink::Faint, place.clone());
    if line.width() <= page.width {
        out.push(line);
    } else {
        out.extend(prose(cell.ink(), &format!("{mark} {name} {place}"), page.prose));
    }
}

/// What is worth knowing about a run that is not shown in full.
fn remarks(result: &RunResult) -> Vec<String> {
    let elsewhere =
        result.compared.remarks.iter().filter(|r| r.agreement == Agreement::OtherVersion);
    let prevented = result.observed.iter().filter(|o| o.promise == Promise::Prevented);
    elsewhere.map(remark_told).chain(prevented.map(observed_told)).collect()
}
