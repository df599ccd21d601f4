//! The timeline as a picture by itself, for a tracker: one SVG file, no script, no style sheet from elsewhere.
//!
//! Idea: what the page shows as a grid, drawn: a lane per session, time downwards, a box per statement and answer, a
//! striped bar while it waits, queued statements on top of the bar, the wrong answer in red. The lines in the boxes are
//! those of the text form, so the words are the same. It has its own light background, because a tracker may show it on
//! any. Assumption: a monospaced font whose characters take [`CHARACTER`] units; lines are wrapped by columns.

use anchorite_model::{Dependency, Run};
use maud::{Markup, PreEscaped, html as markup};

use crate::blame::Blame;
use crate::columns::Draw;
use crate::cycle;
use crate::entries::{Entry, EntryKind, describe};
use crate::escape::visible;
use crate::page::{Page, TextOptions};
use crate::result::session_names;
use crate::style::{Glyphs, Ink, Line, Style};
use crate::timeline::{blocking_session, wait_end, waits};
use crate::wrap::{cut, width};

/// The width of a character.
const CHARACTER: f64 = 7.3;
/// From one line to the next.
const LINE: f64 = 17.0;
/// Around the text in a box.
const PADDING: f64 = 8.0;
/// From the top of a line to its baseline.
const BASELINE: f64 = 12.5;
/// Between boxes, one below the other.
const GAP: f64 = 6.0;
/// Between lanes.
const LANE_GAP: f64 = 18.0;
/// Around the picture.
const MARGIN: f64 = 16.0;
/// The fewest and the most columns of text in a lane.
const COLUMNS: (usize, usize) = (20, 46);
/// A bar is at least this high.
const BAR_MIN: f64 = 18.0;
/// The inset of queued statements within the bar.
const INSET: f64 = 12.0;
/// The columns between a statement's number and its text.
const NUMBER_GAP: usize = 2;
/// A longer title is cut.
const TITLE_COLUMNS: usize = 110;
/// The height of the line with the title, and of the one with the names.
const HEAD: f64 = 30.0;

const FONTS: &str = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
const STYLE: &str = include_str!("svg.css");

/// A box or a bar of the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// A entry with its lines and its place.
struct Drawn<'s, 'a> {
    entry: &'s Entry<'a>,
    lines: Vec<Line>,
    place: Area,
}

/// A wait: the position of its bar, the session whose colour it has, and whether there is room for text.
struct Bar {
    place: Area,
    colour: Option<usize>,
    label: Option<String>,
}

/// The picture of a run, with a title and a line below it, and the cycle that it shows.
pub(crate) fn svg(
    run: &Run,
    (title, below): (&str, &str),
    blame: Option<&Blame>,
    cycle: &[Dependency],
) -> String {
    let names: Vec<String> = session_names(run).iter().map(|name| visible(name)).collect();
    let entries = describe(run, blame);
    let options = TextOptions { width: 400, style: Style::Plain, glyphs: Glyphs::Unicode };
    let digits = entries.iter().map(|entry| entry.n.to_string().len()).max().unwrap_or(1);
    let sheet = Sheet { page: Page::new(&options), label: digits + NUMBER_GAP };
    let lanes = lanes(&entries, &names, &sheet);
    let drawn = boxes(&entries, &lanes, &sheet);
    let bars = bars(&drawn);
    let bottom = drawn.last().map_or(3.0 * HEAD, |last| last.place.y + last.place.height);
    let across = lanes.last().map_or(0.0, |last| last.x + last.width) + MARGIN;
    let arrows = arrows(cycle, &entries, &drawn);
    let title = cut(&visible(title), TITLE_COLUMNS, "…");
    let below = cut(&visible(below), TITLE_COLUMNS, "…");
    let heading = width(&title).max(width(&below)) as f64 * CHARACTER * 1.1 + 2.0 * MARGIN;
    let (wide, high) = (across.max(heading).ceil(), (bottom + MARGIN).ceil());
    let picture = markup! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {wide} {high}"))
            width=(tenth(wide)) height=(tenth(high)) font-family=(FONTS) {
            title { (title) }
            style { (PreEscaped(STYLE)) }
            rect.page width=(tenth(wide)) height=(tenth(high)) {}
            text.title x=(tenth(MARGIN)) y=(tenth(MARGIN + BASELINE)) { (title) }
            text.faint x=(tenth(MARGIN)) y=(tenth(MARGIN + BASELINE + LINE)) { (below) }
            @for (i, (lane, name)) in lanes.iter().zip(&names).enumerate() { (head(i, lane, name, bottom)) }
            @for (i, bar) in bars.iter().enumerate() { (bar_drawn(i, bar)) }
            @for one in &drawn { (box_drawn(one, sheet.label)) }
            (arrows)
        }
    };
    picture.into_string() + "\n"
}

/// The page for laying out lines.
struct Sheet {
    page: Page,
    /// The columns of a statement's number.
    label: usize,
}

/// The lanes from left to right; their height is not set yet.
fn lanes(entries: &[Entry<'_>], names: &[String], sheet: &Sheet) -> Vec<Area> {
    let (least, most) = COLUMNS;
    let mut x = MARGIN;
    let lane = |(session, name): (usize, &String)| {
        let own = entries.iter().filter(|entry| entry.session == session);
        let lines = own.flat_map(|entry| sheet.page.lines(entry, most));
        let widest = lines.map(|line| line.width()).max().unwrap_or(0);
        let columns = (widest.max(width(name)) + sheet.label).clamp(least, most + sheet.label);
        let wide = columns as f64 * CHARACTER + 2.0 * PADDING;
        let place = Area { x, y: MARGIN + HEAD + LINE, width: wide, height: HEAD };
        x += wide + LANE_GAP;
        place
    };
    names.iter().enumerate().map(lane).collect()
}

/// One entry below the other, each in its lane.
fn boxes<'s, 'a>(entries: &'s [Entry<'a>], lanes: &[Area], sheet: &Sheet) -> Vec<Drawn<'s, 'a>> {
    let mut y = lanes.first().map_or(0.0, |lane| lane.y) + HEAD + GAP;
    let one = |(i, entry): (usize, &'s Entry<'a>)| {
        let lane = lanes[entry.session];
        let inset = if entry.kind == EntryKind::Queued { INSET } else { 0.0 };
        let room = lane.width - 2.0 * PADDING - 2.0 * inset;
        let columns = ((room / CHARACTER) as usize).saturating_sub(sheet.label).max(1);
        let lines = sheet.page.lines(entry, columns);
        let height = lines.len().max(1) as f64 * LINE + 2.0 * PADDING - 2.0;
        let (x, wide) = (lane.x + inset, lane.width - 2.0 * inset);
        let place = Area { x, y, width: wide, height };
        // A wait that is answered at once still gets a visible bar.
        let (next, _) = wait_end(entries, i);
        let short = waits(entry) && next == Some(i + 1);
        y += height + if short { BAR_MIN } else { GAP };
        Drawn { entry, lines, place }
    };
    entries.iter().enumerate().map(one).collect()
}

/// From the box of a statement that waits to the box of what follows.
fn bars(drawn: &[Drawn<'_, '_>]) -> Vec<Bar> {
    let entries: Vec<Entry<'_>> = drawn.iter().map(|one| one.entry.clone()).collect();
    let bar = |(i, one): (usize, &Drawn<'_, '_>)| {
        let event = one.entry.event().filter(|_| waits(one.entry))?;
        let (next, queues) = wait_end(&entries, i);
        let top = one.place.y + one.place.height;
        let last = drawn.last().map_or(top, |last| last.place.y + last.place.height);
        let end = next.map_or(last, |next| drawn[next].place.y);
        let place = Area { y: top, height: end - top, ..one.place };
        let label = (!queues && place.height >= BAR_MIN).then(|| format!("{} waits", one.entry.n));
        (place.height > 0.0).then(|| Bar { place, colour: blocking_session(event), label })
    };
    drawn.iter().enumerate().filter_map(bar).collect()
}

/// An arrow for each step of a cycle, between the sides of the boxes that face each other.
fn arrows(cycle: &[Dependency], entries: &[Entry<'_>], drawn: &[Drawn<'_, '_>]) -> Markup {
    let side = |one: Area, other: Area| if one.x < other.x { one.x + one.width } else { one.x };
    let middle = |one: Area| one.y + one.height / 2.0;
    markup! {
        @for (number, step) in cycle.iter().enumerate() {
            @if let Some((from, to)) = cycle::ends(entries, step) {
                @let (from, to) = (drawn[from].place, drawn[to].place);
                @let (x1, y1, x2, y2) = (side(from, to), middle(from), side(to, from), middle(to));
                @let part = cycle::label_at(number);
                g.edge {
                    title { (visible(&cycle::told(step))) }
                    marker id=(format!("e{number}")) viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7"
                        markerHeight="7" orient="auto" { path d="M0 0 L10 5 L0 10 z" {} }
                    line x1=(tenth(x1)) y1=(tenth(y1)) x2=(tenth(x2)) y2=(tenth(y2))
                        marker-end=(format!("url(#e{number})")) {}
                    text x=(tenth(x1 + (x2 - x1) * part)) y=(tenth(y1 + (y2 - y1) * part)) text-anchor="middle" {
                        (visible(&step.kind))
                    }
                }
            }
        }
    }
}

fn lane_class(session: usize) -> String {
    format!("l{}", session % crate::timeline::COLOURS)
}

fn head(i: usize, lane: &Area, name: &str, bottom: f64) -> Markup {
    let middle = lane.x + lane.width / 2.0;
    let columns = (lane.width / CHARACTER) as usize;
    markup! {
        line.lane x1=(tenth(middle)) x2=(tenth(middle)) y1=(tenth(lane.y + HEAD)) y2=(tenth(bottom)) {}
        g class=(lane_class(i)) {
            text.name x=(tenth(middle)) y=(tenth(lane.y + BASELINE)) text-anchor="middle" { (cut(name, columns, "…")) }
            rect.rule x=(tenth(lane.x)) y=(tenth(lane.y + LINE + 2.0)) width=(tenth(lane.width)) height="3" {}
        }
    }
}

fn bar_drawn(i: usize, bar: &Bar) -> Markup {
    let Area { x, y, width: wide, height } = bar.place;
    let class = bar.colour.map_or_else(|| "outside".to_owned(), lane_class);
    let (middle, centre) = (x + wide / 2.0, y + height / 2.0);
    let label_width =
        bar.label.as_ref().map_or(0.0, |label| width(label) as f64 * CHARACTER + 12.0);
    markup! {
        g class=(class) {
            pattern id=(format!("w{i}")) width="9" height="9" patternUnits="userSpaceOnUse"
                patternTransform="rotate(45)" { rect.stripe width="4" height="9" {} }
            rect.ground x=(tenth(x)) y=(tenth(y)) width=(tenth(wide)) height=(tenth(height)) {}
            rect x=(tenth(x)) y=(tenth(y)) width=(tenth(wide)) height=(tenth(height)) fill=(format!("url(#w{i})")) {}
            rect.side x=(tenth(x)) y=(tenth(y)) width="4" height=(tenth(height)) {}
            rect.side x=(tenth(x + wide - 4.0)) y=(tenth(y)) width="4" height=(tenth(height)) {}
            @if let Some(label) = &bar.label {
                rect.page x=(tenth(middle - label_width / 2.0)) y=(tenth(centre - 8.0))
                    width=(tenth(label_width)) height="16" rx="4" {}
                text.warning x=(tenth(middle)) y=(tenth(centre + 4.0)) text-anchor="middle" { (label) }
            }
        }
    }
}

fn box_drawn(one: &Drawn<'_, '_>, label: usize) -> Markup {
    let Area { x, y, width: wide, height } = one.place;
    let kind = match one.entry.kind {
        _ if one.entry.is_wrong => "guilty",
        EntryKind::Queued => "queued",
        _ => "box",
    };
    let text_x = x + PADDING + label as f64 * CHARACTER;
    let at = |line: usize| y + PADDING - 1.0 + line as f64 * LINE + BASELINE;
    markup! {
        g class=(lane_class(one.entry.session)) {
            rect class=(kind) x=(tenth(x)) y=(tenth(y)) width=(tenth(wide)) height=(tenth(height)) rx="4" {}
            rect.side x=(tenth(x)) y=(tenth(y)) width="4" height=(tenth(height)) rx="2" {}
            text.n x=(tenth(x + PADDING + 2.0)) y=(tenth(at(0))) { (one.entry.n) }
            @for (i, line) in one.lines.iter().enumerate() {
                text x=(tenth(text_x)) y=(tenth(at(i))) xml:space="preserve" {
                    @for (ink, text) in line.pieces() { tspan class=(ink_class(*ink)) { (text) } }
                }
            }
        }
    }
}

const fn ink_class(ink: Ink) -> &'static str {
    match ink {
        Ink::Plain => "plain",
        Ink::Title => "strong",
        Ink::Faint => "faint",
        Ink::Warning => "warning",
        Ink::Good => "good",
        Ink::Bad => "bad",
    }
}

/// A coordinate, to a tenth.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
