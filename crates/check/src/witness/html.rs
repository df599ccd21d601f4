//! Witnesses as one self-contained HTML page with swim lanes.
//!
//! Each anomaly is a picture: one lane per session, one box per transaction with its operations, those
//! that matter highlighted, and an arrow per dependency. No scripts, no outside files.

use super::{Anomaly, Step, kind_name};
use crate::graph::Kind;
use crate::levels::Verdict;
use crate::model::{History, OpId, TxnId};
use crate::report::Report;
use crate::report::text::op_text;
use std::fmt::Write;

const BOX_WIDTH: usize = 230;
const GAP: usize = 70;
const LINE: usize = 16;
const SHOWN_OPS: usize = 14;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;\
color:#1b2631;background:#fdfefe}h2{margin-top:2em}table{border-collapse:collapse}td{padding:2px 14px 2px 0}\
.yes{color:#1e8449}.no{color:#c0392b}.unknown{color:#b9770e}svg{max-width:100%;height:auto;\
border:1px solid #d5d8dc;background:#fff}code{font-family:ui-monospace,monospace}\
@media(prefers-color-scheme:dark){body{background:#17202a;color:#eaecee}}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Ww | Kind::WwPredicate => "#c0392b",
        Kind::Wr | Kind::WrPredicate => "#2471a3",
        Kind::Rw | Kind::RwPredicate => "#b9770e",
        Kind::Session => "#5d6d7e",
        Kind::RealTime => "#7d3c98",
    }
}

/// A page for several files.
pub fn page(results: &[(String, &History, &Report)]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>anchorite check</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n\
         <h1>anchorite check</h1>\n"
    );
    for (file, history, report) in results {
        section(&mut out, file, history, report);
    }
    out.push_str("</body></html>\n");
    out
}

fn word(verdict: &Verdict) -> (&'static str, &str) {
    match verdict {
        Verdict::Holds => ("yes", ""),
        Verdict::Fails => ("no", ""),
        Verdict::Unknown(why) => ("unknown", why),
    }
}

fn section(out: &mut String, file: &str, history: &History, report: &Report) {
    let (class, why) = word(&report.valid);
    let _ = writeln!(
        out,
        "<h2>{}: {} <span class=\"{class}\">{class}</span></h2><p>{} transactions, {} operations. {}</p>",
        escaped(file),
        escaped(&report.asked.join(", ")),
        report.transactions,
        report.operations,
        escaped(why)
    );
    for anomaly in report.anomalies.iter().chain(&report.others) {
        let also = anomaly.also.join(", ");
        let _ = writeln!(out, "<h3>{} <small>{}</small></h3><ul>", anomaly.name, escaped(&also));
        for sentence in &anomaly.because {
            let _ = writeln!(out, "<li>{}</li>", escaped(sentence));
        }
        out.push_str("</ul>\n");
        if !anomaly.transactions.is_empty() {
            picture(out, history, anomaly);
        }
    }
    for (title, levels) in [("Adya, Elle", &report.levels), ("Biswas and Enea", &report.axiomatic)]
    {
        if levels.is_empty() {
            continue;
        }
        let _ = writeln!(out, "<h3>Levels ({title})</h3><table>");
        for (name, verdict) in levels {
            let (class, why) = word(verdict);
            let _ = writeln!(
                out,
                "<tr><td>{name}</td><td class=\"{class}\">{class}</td><td>{}</td></tr>",
                escaped(why)
            );
        }
        out.push_str("</table>\n");
    }
}

/// Where a transaction's box is.
struct Place {
    txn: TxnId,
    x: usize,
    y: usize,
    height: usize,
    lines: Vec<(String, bool)>,
}

fn places(history: &History, anomaly: &Anomaly) -> (Vec<Place>, Vec<(u32, usize, usize)>) {
    let mut sessions: Vec<u32> =
        anomaly.transactions.iter().map(|txn| history.txns[*txn as usize].session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let mut order = anomaly.transactions.clone();
    order.sort_by_key(|txn| (history.txns[*txn as usize].invoked, *txn));
    let mut heights = vec![0; sessions.len()];
    let mut found: Vec<Place> = Vec::new();
    for (column, &txn) in order.iter().enumerate() {
        let mut lines: Vec<(String, bool)> = Vec::new();
        for op in history.range(txn) {
            let matters = anomaly.ops.contains(&(op as OpId));
            if matters || history.range(txn).len() <= SHOWN_OPS {
                let mut text = op_text(history, op as OpId);
                if text.chars().count() > 32 {
                    text = text.chars().take(31).chain(['…']).collect();
                }
                lines.push((text, matters));
            }
        }
        let height = (lines.len() + 2) * LINE;
        let lane = sessions.iter().position(|s| *s == history.txns[txn as usize].session);
        let lane = lane.unwrap_or(0);
        heights[lane] = heights[lane].max(height);
        found.push(Place { txn, x: 90 + column * (BOX_WIDTH + GAP), y: lane, height, lines });
    }
    let mut lanes = Vec::new();
    let mut top = 20;
    for (session, height) in sessions.iter().zip(&heights) {
        lanes.push((*session, top, height + 30));
        top += height + 40;
    }
    for place in &mut found {
        place.y = lanes[place.y].1 + 15;
    }
    (found, lanes)
}

fn picture(out: &mut String, history: &History, anomaly: &Anomaly) {
    let (places, lanes) = places(history, anomaly);
    let width = 90 + places.len() * (BOX_WIDTH + GAP);
    let height = lanes.last().map_or(0, |lane| lane.1 + lane.2) + 40;
    let _ = writeln!(
        out,
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" font-family=\"ui-monospace,monospace\" \
         font-size=\"12\" role=\"img\"><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>"
    );
    for (session, top, height) in &lanes {
        let name = history.symbols.show(history.sessions[*session as usize]);
        let _ = writeln!(
            out,
            "<rect x=\"0\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"#f4f6f7\"/>\
             <text x=\"8\" y=\"{}\" fill=\"#566573\">session {}</text>",
            top + 18,
            escaped(&name)
        );
    }
    for place in &places {
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{BOX_WIDTH}\" height=\"{}\" rx=\"6\" fill=\"#fff\" \
             stroke=\"#34495e\"/><text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>",
            place.x,
            place.y,
            place.height,
            place.x + 8,
            place.y + LINE,
            escaped(&history.txn_name(place.txn))
        );
        for (line, (text, matters)) in place.lines.iter().enumerate() {
            let look =
                if *matters { "fill=\"#c0392b\" font-weight=\"bold\"" } else { "fill=\"#808b96\"" };
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" {look}>{}</text>",
                place.x + 8,
                place.y + (line + 2) * LINE,
                escaped(text)
            );
        }
    }
    for (number, step) in anomaly.steps.iter().enumerate() {
        arrow(out, &places, step, number);
    }
    out.push_str("</svg>\n");
}

fn arrow(out: &mut String, places: &[Place], step: &Step, number: usize) {
    let find = |txn: TxnId| places.iter().find(|place| place.txn == txn);
    let (Some(from), Some(to)) = (find(step.from), find(step.to)) else { return };
    let forward = from.x < to.x;
    let (x1, x2) = if forward { (from.x + BOX_WIDTH, to.x) } else { (from.x, to.x + BOX_WIDTH) };
    let offset = 14 * (number % 4);
    let (y1, y2) = (from.y + from.height / 2 + offset, to.y + to.height / 2 + offset);
    let bend = if forward { 30_i64 } else { -30 };
    let middle = (x1.midpoint(x2), y1.midpoint(y2));
    let _ = writeln!(
        out,
        "<path d=\"M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" \
         marker-end=\"url(#tip)\"><title>{}</title></path><text x=\"{}\" y=\"{}\" fill=\"{}\" \
         text-anchor=\"middle\">{}</text>",
        x1 as i64 + bend,
        x2 as i64 - bend,
        colour(step.kind),
        escaped(&step.because),
        middle.0,
        middle.1.saturating_sub(5),
        colour(step.kind),
        kind_name(step.kind)
    );
}
