//! The timeline: a lane per session, time downwards, waiting as a bar that lasts until the statement goes on.
//!
//! Idea: a grid whose rows are the run's events. A statement is a box in the row in which it was sent. One that
//! blocked is followed by a bar, in the colour of the session it waits for, through all that happened
//! meanwhile, down to the row in which it was answered. Without style sheets the boxes still read in order,
//! each with its number and session.
//! Assumption: while a statement waits its session does nothing else, so bars and boxes never overlap.
//! Blind spot: rows are events, not milliseconds; how long something took is told when the pointer rests on it.

use anchorite_model::{Blocker, Event, Outcome, Rows, Run};
use maud::{Markup, html as markup};

use crate::escape::{visible, visible_lines};
use crate::result::{counted, session_names};
use crate::story::{Item, Scene, Tone, tell};
use crate::table::{ROWS_MAX, cell};

/// Lanes beyond this many share colours.
const COLOURS: usize = 6;
/// The grid's first row of events; above it stand the names.
const FIRST_ROW: usize = 2;

/// The timeline of a run.
pub(super) fn lanes(run: &Run) -> Markup {
    let names = session_names(run);
    let scenes = tell(run);
    let bottom = scenes.len() + FIRST_ROW;
    let columns = format!("grid-template-columns: repeat({}, minmax(11rem, 1fr))", names.len());
    markup! {
        div.wide {
            div.lanes style=(columns) {
                @for (lane, name) in names.iter().enumerate() {
                    div.lane style=(format!("grid-column: {}; grid-row: 1 / {bottom}", lane + 1)) {}
                    div class=(format!("name {}", colour(lane)))
                        style=(format!("grid-column: {}; grid-row: 1", lane + 1)) { (visible(name)) }
                }
                @for (i, scene) in scenes.iter().enumerate() {
                    (statement_or_answer(&scenes, i, scene, &names))
                }
            }
        }
    }
}

fn colour(lane: usize) -> String {
    format!("lane-{}", lane % COLOURS)
}

fn statement_or_answer(
    scenes: &[Scene<'_>],
    i: usize,
    scene: &Scene<'_>,
    names: &[String],
) -> Markup {
    let place = |from: usize, to: usize| {
        let (from, to) = (from + FIRST_ROW, to + FIRST_ROW);
        format!("grid-column: {}; grid-row: {from} / {to}", scene.session + 1)
    };
    let waits = matches!(outcome(scene), Some(Outcome::Blocked { .. }));
    let next = scenes[i + 1..].iter().position(|other| other.n == scene.n).map(|at| i + 1 + at);
    let fate = match outcome(scene) {
        Some(Outcome::Error(_)) => " failed",
        Some(Outcome::Skipped { .. }) => " skipped",
        _ => "",
    };
    let part = match (scene.sql.is_some(), waits || scene.event.is_none()) {
        (true, true) => "begins",
        (true, false) => "whole",
        (false, true) => "goes-on-waiting",
        (false, false) => "ends",
    };
    let bar_from = i + 1;
    let bar_to = next.unwrap_or(scenes.len());
    markup! {
        div class=(format!("box {part} {}{fate}", colour(scene.session)))
            style=(place(i, i + 1)) title=[scene.event.map(|event| format!("after {}", milliseconds(event)))] {
            p.who { span.n { (scene.n) } " " (visible(&names[scene.session])) }
            @if let Some(sql) = scene.sql { pre.sql { (visible_lines(sql).join("\n")) } }
            @for item in scene.items.iter().filter(|item| !is_plain_ok(item)) { (item_told(item)) }
        }
        @if let Some(event) = scene.event.filter(|_| waits && bar_to > bar_from) {
            div class=(format!("bar {}", blocker_colour(event)))
                style=(place(bar_from, bar_to)) title=(bar_title(event, next.and_then(|at| scenes[at].event))) {
                span { (scene.n) " waits" }
            }
        }
    }
}

/// That a BEGIN or COMMIT went well needs no words: what went wrong is marked.
fn is_plain_ok(item: &Item<'_>) -> bool {
    matches!(item, Item::Remark(Tone::Answer, text) if text == "ok")
}

/// The colour of whom the statement waits for.
fn blocker_colour(event: &Event) -> String {
    let Outcome::Blocked { by, .. } = &event.outcome else { return String::new() };
    let session = by.iter().find_map(|blocker| match blocker {
        Blocker::Session(session) => Some(*session),
        Blocker::Outside(_) | Blocker::Prepared(_) => None,
    });
    session.map_or_else(|| "lane-outside".to_owned(), colour)
}

fn outcome<'a>(scene: &Scene<'a>) -> Option<&'a Outcome> {
    scene.event.map(|event| &event.outcome)
}

fn bar_title(event: &Event, next: Option<&Event>) -> String {
    match next {
        Some(answer) => {
            let waited = answer.at_us.saturating_sub(event.at_us);
            format!("statement {} waits {}.{:03} ms", event.n, waited / 1000, waited % 1000)
        }
        None => format!("statement {} is never answered", event.n),
    }
}

fn milliseconds(event: &Event) -> String {
    format!("{}.{:03} ms", event.at_us / 1000, event.at_us % 1000)
}

fn item_told(item: &Item<'_>) -> Markup {
    match item {
        Item::Rows(rows) => rows_told(rows),
        Item::Remark(tone, text) => {
            let class = match tone {
                Tone::Answer => "answer",
                Tone::Blocked => "blocked",
                Tone::Resumed => "resumed",
                Tone::Failed => "error",
                Tone::Aside => "aside",
                Tone::Quote => "quote",
            };
            markup! { p class=(class) { (visible_lines(text).join("\n")) } }
        }
    }
}

/// A result set as a small table.
pub(super) fn rows_told(rows: &Rows) -> Markup {
    if rows.rows.is_empty() {
        return markup! { p.answer { "no rows" } };
    }
    let more = rows.rows.len().saturating_sub(ROWS_MAX);
    markup! {
        table.rows {
            thead { tr { @for name in &rows.columns { th { (visible(name)) } } } }
            tbody { @for row in rows.rows.iter().take(ROWS_MAX) {
                tr { @for value in row { td { (cell(value)) } } }
            } }
        }
        @if more > 0 { p.aside { "… " (counted(more, "more row", "more rows")) } }
    }
}
