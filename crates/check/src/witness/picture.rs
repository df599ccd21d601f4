//! One anomaly as a picture: a box per transaction with its operations, an arrow per dependency.
//!
//! Idea: the operations that matter are highlighted, the others are dimmed or only counted. An arrow's label has the
//! number of its sentence below the picture, the kind of dependency and the key. Colours come from the page's style
//! sheet, so that the picture suits light and dark. Assumption: a monospaced font with characters of [`CHARACTER`]
//! units; boxes have room for a little more.

use maud::{Markup, html as markup};
use unicode_width::UnicodeWidthStr;

use super::layout::{Arrow, LABEL_HEIGHT, Layout, Point, Rect, ring};
use super::op_text;
use super::{Anomaly, Step, kind_name};
use crate::graph::Kind;
use crate::model::{History, OpId, TxnId};

/// The width of a character of the monospaced font.
const CHARACTER: f64 = 7.4;
/// From one line of text to the next.
const LINE: f64 = 18.0;
/// Between a box and its text.
const PADDING: f64 = 12.0;
/// From the text's baseline to the top of its line.
const BASELINE: f64 = 13.0;
/// A box with one line still has room for two arrows at its side.
const BOX_HEIGHT_MIN: f64 = 72.0;
/// A line of a box may have this many columns.
const COLUMNS_MAX: usize = 38;
/// And its box has room for at least this many.
const COLUMNS_MIN: usize = 16;
/// A key in a label may have this many columns.
const KEY_COLUMNS_MAX: usize = 16;
/// Of a longer transaction only the operations that matter are shown.
const OPERATIONS_MAX: usize = 8;
/// How round the corners of arrows are.
const CORNER: f64 = 10.0;
/// Sessions beyond this many share colours.
const COLOURS: usize = 6;

/// The contents of a transaction's box.
struct Content {
    name: String,
    session: String,
    colour: usize,
    lines: Vec<Operation>,
    /// Operations that are not shown.
    more: usize,
}

struct Operation {
    text: String,
    matters: bool,
}

/// The picture of an anomaly.
pub(crate) fn picture(history: &History, anomaly: &Anomaly) -> Markup {
    let contents: Vec<Content> =
        anomaly.transactions.iter().map(|txn| content(history, anomaly, *txn)).collect();
    let columns = contents.iter().map(Content::columns).max().unwrap_or(0);
    let width = columns.clamp(COLUMNS_MIN, COLUMNS_MAX) as f64 * CHARACTER + 2.0 * PADDING;
    let heights: Vec<f64> = contents.iter().map(Content::height).collect();
    let labels: Vec<String> =
        anomaly.steps.iter().enumerate().map(|(at, step)| label(history, at, step)).collect();
    let label_widths: Vec<f64> =
        labels.iter().map(|label| label.width() as f64 * CHARACTER + 16.0).collect();
    let layout = ring(width, &heights, &label_widths);
    let view = format!("0 0 {:.0} {:.0}", layout.width, layout.height);
    markup! {
        svg.picture viewBox=(view) width=(format!("{:.0}", layout.width)) role="img"
            aria-label=(described(history, anomaly)) {
            @for (arrow, step) in layout.arrows.iter().zip(&anomaly.steps) { (line(arrow, step)) }
            @for (place, content) in layout.boxes.iter().zip(&contents) { (boxed(place, content)) }
            (pills(&layout, anomaly, &labels))
        }
    }
}

/// The picture in words, for screen readers.
fn described(history: &History, anomaly: &Anomaly) -> String {
    let names: Vec<String> =
        anomaly.transactions.iter().map(|txn| history.txn_name(*txn)).collect();
    let how = if anomaly.steps.is_empty() { "between" } else { "a cycle of" };
    format!("{}: {how} {}", anomaly.name, names.join(", "))
}

fn content(history: &History, anomaly: &Anomaly, txn: TxnId) -> Content {
    let range = history.range(txn);
    let many = range.len() > OPERATIONS_MAX;
    let session = history.txns[txn as usize].session as usize;
    let lines: Vec<Operation> = range
        .clone()
        .map(|op| {
            let matters = anomaly.ops.contains(&(op as OpId));
            Operation { text: cut(&op_text(history, op as OpId), COLUMNS_MAX), matters }
        })
        .filter(|operation| operation.matters || !many)
        .collect();
    Content {
        name: history.txn_name(txn),
        session: cut(&format!("session {}", history.symbols.show(history.sessions[session])), 20),
        colour: session % COLOURS,
        more: range.len() - lines.len(),
        lines,
    }
}

impl Content {
    fn columns(&self) -> usize {
        let head = self.name.width() + 2 + self.session.width();
        self.lines.iter().map(|line| line.text.width()).chain([head]).max().unwrap_or(0)
    }

    fn height(&self) -> f64 {
        let lines = 1 + self.lines.len() + usize::from(self.more > 0);
        (lines as f64 * LINE + 2.0 * PADDING).max(BOX_HEIGHT_MIN)
    }
}

/// Text of at most this many columns.
fn cut(text: &str, columns: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.width() <= columns {
        return text;
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if short.width() >= columns {
            short.pop();
            break;
        }
    }
    short + "…"
}

/// `1 rw x`: which sentence, which dependency, through which key.
fn label(history: &History, at: usize, step: &Step) -> String {
    let key = step.ops.last().map(|op| history.key_name(history.ops[*op as usize].key));
    let key = key.map_or_else(String::new, |key| format!(" {}", cut(&key, KEY_COLUMNS_MAX)));
    format!("{} {}{key}", at + 1, kind_name(step.kind))
}

/// The class that gives a dependency its colour.
fn kind_class(kind: Kind) -> &'static str {
    match kind {
        Kind::Ww | Kind::WwPredicate => "ww",
        Kind::Wr | Kind::WrPredicate => "wr",
        Kind::Rw | Kind::RwPredicate => "rw",
        Kind::Session => "so",
        Kind::RealTime => "rt",
    }
}

fn boxed(place: &Rect, content: &Content) -> Markup {
    let x = place.x + PADDING;
    let first = place.y + PADDING + BASELINE;
    let at = |line: usize| number(first + line as f64 * LINE);
    let right = number(place.right() - PADDING);
    let (left, top) = (number(place.x + 2.0), number(place.y + 6.0));
    let edge = format!("M{left} {top}v{}", number(place.height - 12.0));
    markup! {
        g.txn.{ "s" (content.colour) } {
            rect x=(number(place.x)) y=(number(place.y)) width=(number(place.width))
                height=(number(place.height)) rx="6" {}
            path.edge d=(edge) {}
            text.name x=(number(x)) y=(at(0)) { (content.name) }
            text.session x=(right) y=(at(0)) text-anchor="end" { (content.session) }
            @for (i, line) in content.lines.iter().enumerate() {
                text.op.matters[line.matters] x=(number(x)) y=(at(i + 1)) { (line.text) }
            }
            @if content.more > 0 {
                text.op x=(number(x)) y=(at(content.lines.len() + 1)) { "… " (content.more) " more" }
            }
        }
    }
}

/// An arrow's line with round corners, and its head.
fn line(arrow: &Arrow, step: &Step) -> Markup {
    let points = &arrow.points;
    let mut path = format!("M{} {}", number(points[0].0), number(points[0].1));
    for corner in points.windows(3) {
        let [before, at, after] = [corner[0], corner[1], corner[2]];
        let (from, to) = (towards(at, before, CORNER), towards(at, after, CORNER));
        path += &format!(
            "L{} {}Q{} {} {} {}",
            number(from.0),
            number(from.1),
            number(at.0),
            number(at.1),
            number(to.0),
            number(to.1)
        );
    }
    let (before, tip) = (points[points.len() - 2], points[points.len() - 1]);
    let neck = towards(tip, before, 8.0);
    path += &format!("L{} {}", number(neck.0), number(neck.1));
    let aside = ((tip.1 - neck.1) / 2.0, (neck.0 - tip.0) / 2.0);
    let head = format!(
        "M{} {}L{} {}L{} {}z",
        number(tip.0),
        number(tip.1),
        number(neck.0 + aside.0 * 1.2),
        number(neck.1 + aside.1 * 1.2),
        number(neck.0 - aside.0 * 1.2),
        number(neck.1 - aside.1 * 1.2)
    );
    markup! {
        g.arrow.{ (kind_class(step.kind)) } {
            path.line d=(path) {}
            path.head d=(head) {}
        }
    }
}

/// The point at this distance from the first point on the way to the second.
fn towards(from: Point, to: Point, distance: f64) -> Point {
    let length = (to.0 - from.0).hypot(to.1 - from.1).max(f64::MIN_POSITIVE);
    let part = (distance / length).min(1.0);
    (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
}

fn pills(layout: &Layout, anomaly: &Anomaly, labels: &[String]) -> Markup {
    let steps = layout.arrows.iter().zip(&anomaly.steps).zip(labels);
    markup! {
        @for ((arrow, step), label) in steps {
            @let place = arrow.label;
            g.pill.{ (kind_class(step.kind)) } {
                title { (step.because) }
                rect x=(number(place.x)) y=(number(place.y)) width=(number(place.width))
                    height=(number(place.height)) rx=(number(LABEL_HEIGHT / 2.0)) {}
                text x=(number(place.centre().0)) y=(number(place.centre().1 + 4.0)) text-anchor="middle" { (label) }
            }
        }
    }
}

/// A coordinate, to a tenth.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
