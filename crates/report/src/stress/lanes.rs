//! The transactions of a witness side by side, time downwards: a lane for each, as long as the transaction was open.
//!
//! Idea: what is known is the order of all begins and ends. So the rows of the grid are these moments, and a
//! transaction is a box from its begin to its end: those that overlap stand beside each other. Blind spot: the moment
//! of a single statement is not known; one whose times were forgotten has a box as high as the picture.

use maud::{Markup, html as markup};

use super::Lane;
use crate::escape::{visible, visible_lines};

/// Statements of one transaction that are shown.
const STATEMENTS_SHOWN: usize = 14;

/// The first row is that of the names.
const FIRST_ROW: usize = 2;

/// The lanes of one witness.
pub(super) fn lanes(all: &[Lane]) -> Markup {
    let mut moments: Vec<u64> = all.iter().filter_map(|lane| lane.times).flat_map(both).collect();
    moments.sort_unstable();
    moments.dedup();
    let row = |time: u64| FIRST_ROW + moments.binary_search(&time).unwrap_or(0);
    let bottom = FIRST_ROW + moments.len().saturating_sub(1).max(1);
    let rows = |lane: &Lane| match lane.times {
        Some((begun, ended)) => (row(begun), row(ended).max(row(begun) + 1)),
        None => (FIRST_ROW, bottom),
    };
    let place = |column: usize, from: usize, to: usize| {
        format!("grid-column: {}; grid-row: {from} / {to}", column + 1)
    };
    let columns =
        format!("grid-template-columns: repeat({}, minmax(16rem, 1fr))", all.len().max(1));
    markup! {
        div.wide { div.lanes style=(columns) {
            @for (column, lane) in all.iter().enumerate() {
                @let (from, to) = rows(lane);
                div.name style=(place(column, 1, FIRST_ROW)) {
                    (visible(&lane.name)) " " small { (visible(&lane.session)) }
                }
                div.box style=(place(column, from, to)) { (statements(lane)) }
            }
        } }
    }
}

fn both((begun, ended): (u64, u64)) -> [u64; 2] {
    [begun, ended]
}

fn statements(lane: &Lane) -> Markup {
    let more = lane.sql.len().saturating_sub(STATEMENTS_SHOWN);
    markup! {
        @for sql in lane.sql.iter().take(STATEMENTS_SHOWN) {
            pre.sql { (visible_lines(sql).join("\n")) ";" }
        }
        @if more > 0 { p.aside { "… " (more) " more" } }
    }
}
