//! The timeline as part of a page: a lane per session, time downwards, waiting as a bar that lasts until the statement
//! resumes.
//!
//! Idea: a grid whose rows are the entries of the run. A statement is a box in the row in which it was sent. One that
//! blocked is followed by a bar, in the colour of the session it waits for, through all that happened meanwhile, down
//! to the row in which it was answered. Statements that queue meanwhile are on top of the bar, each in the row where it
//! was due. The wrong answer is red. Without style sheets the boxes still read in order, each with its number and
//! session. Assumption: while a statement waits, its session does nothing but queue. Blind spot: rows are entries, not
//! milliseconds; tooltips show how long something took.

use anchorite_model::{Dependency, Event, Outcome, Rows, Run};
use maud::{Markup, html as markup};

use crate::blame::Blame;
use crate::cycle::arrows;
use crate::entries::{Entry, EntryKind, Item, Tone, describe};
use crate::escape::{visible, visible_lines};
use crate::result::{counted, session_names};
use crate::table::{ROWS_MAX, cell};
use crate::timeline::{COLOURS, blocking_session, wait_end, waits};

/// The grid's first row of events; above it are the names.
const FIRST_ROW: usize = 2;

/// The timeline of a run, with the cycle that it shows.
pub(super) fn lanes(run: &Run, blame: Option<&Blame>, cycle: &[Dependency]) -> Markup {
    let names = session_names(run);
    let entries = describe(run, blame);
    let bottom = entries.len() + FIRST_ROW;
    let columns = format!("grid-template-columns: repeat({}, minmax(11rem, 1fr))", names.len());
    markup! {
        div.wide {
            div.lanes style=(columns) {
                @for (lane, name) in names.iter().enumerate() {
                    div.lane style=(format!("grid-column: {}; grid-row: 1 / {bottom}", lane + 1)) {}
                    div class=(format!("name {}", colour(lane)))
                        style=(format!("grid-column: {}; grid-row: 1", lane + 1)) { (visible(name)) }
                }
                @for (i, entry) in entries.iter().enumerate() {
                    (wait_told(&entries, i))
                    (scene_told(&entries, i, entry, &names))
                }
                (arrows(cycle, &entries, FIRST_ROW))
            }
        }
    }
}

fn colour(lane: usize) -> String {
    format!("lane-{}", lane % COLOURS)
}

fn place(entry: &Entry<'_>, from: usize, to: usize) -> String {
    let (from, to) = (from + FIRST_ROW, to + FIRST_ROW);
    format!("grid-column: {}; grid-row: {from} / {to}", entry.session + 1)
}

fn scene_told(entries: &[Entry<'_>], i: usize, entry: &Entry<'_>, names: &[String]) -> Markup {
    let class = format!(
        "box {} {}{}",
        shape(entries, i),
        colour(entry.session),
        if entry.is_wrong { " guilty" } else { fate(entry) }
    );
    let moment = entry.event().map(|event| format!("after {}", milliseconds(event.at_us)));
    markup! {
        div class=(class) style=(place(entry, i, i + 1)) title=[moment] {
            p.who { span.n { (entry.n) } " " (visible(&names[entry.session])) }
            @if let Some(sql) = entry.sql { pre.sql { (visible_lines(sql).join("\n")) } }
            @for item in entry.items.iter().filter(|item| !is_plain_ok(item)) { (item_told(item)) }
        }
    }
}

/// How the box joins the bars above and below it.
fn shape(entries: &[Entry<'_>], i: usize) -> &'static str {
    let entry = &entries[i];
    let earlier = |part: fn(&Entry<'_>) -> bool| {
        entries[..i].iter().any(|other| other.n == entry.n && part(other))
    };
    let waited = earlier(|other| waits(other) || other.kind == EntryKind::Sent);
    match (entry.kind, waited, waits(entry) || entry.kind == EntryKind::Sent) {
        (EntryKind::Queued, ..) => "queued",
        (_, false, true) => "begins",
        (_, false, false) => "whole",
        (_, true, true) => "goes-on-waiting",
        (_, true, false) => "ends",
    }
}

fn fate(entry: &Entry<'_>) -> &'static str {
    match entry.event().map(|event| &event.outcome) {
        Some(Outcome::Error(_)) => " failed",
        Some(Outcome::Skipped { .. }) => " skipped",
        _ => "",
    }
}

fn wait_told(entries: &[Entry<'_>], i: usize) -> Markup {
    let entry = &entries[i];
    let (next, queues) = wait_end(entries, i);
    let (from, to) = (i + 1, next.unwrap_or(entries.len()));
    let event = entry.event().filter(|_| waits(entry) && to > from);
    markup! {
        @if let Some(event) = event {
            @let title = bar_title(event, next.and_then(|at| entries[at].event()));
            div class=(format!("bar {}", blocker_colour(event))) style=(place(entry, from, to)) title=(title) {
                @if !queues { span { (entry.n) " waits" } }
            }
        }
    }
}

/// A successful BEGIN or COMMIT needs no words: what went wrong is marked.
fn is_plain_ok(item: &Item<'_>) -> bool {
    matches!(item, Item::Remark(Tone::Answer, text) if text == "ok")
}

/// The colour of the session that the statement waits for.
fn blocker_colour(event: &Event) -> String {
    blocking_session(event).map_or_else(|| "lane-outside".to_owned(), colour)
}

fn bar_title(event: &Event, next: Option<&Event>) -> String {
    match next {
        Some(answer) => {
            let waited = answer.at_us.saturating_sub(event.at_us);
            format!("statement {} waits {}", event.n, milliseconds(waited))
        }
        None => format!("statement {} is never answered", event.n),
    }
}

fn milliseconds(us: u64) -> String {
    format!("{}.{:03} ms", us / 1000, us % 1000)
}

fn item_told(item: &Item<'_>) -> Markup {
    match item {
        Item::Rows(rows) => rows_told(rows),
        Item::Remark(tone, text) => {
            markup! { p class=(tone_class(*tone)) { (visible_lines(text).join("\n")) } }
        }
    }
}

/// The class that gives a remark its colour.
const fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Answer => "answer",
        Tone::Blocked => "blocked",
        Tone::Resumed => "resumed",
        Tone::Failed => "error",
        Tone::Wrong => "wrong",
        Tone::Progress => "aside",
        Tone::Quote => "quote",
    }
}

/// A result set as a small table.
fn rows_told(rows: &Rows) -> Markup {
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
