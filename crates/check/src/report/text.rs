//! The report as text for people.

use super::Report;
use crate::levels::LevelVerdict;
use crate::model::{History, OpId, TxnId};
use crate::witness::{Anomaly, op_text};
use std::fmt::Write;

/// The most operations that are shown of one transaction.
const SHOWN_OPS: usize = 12;

/// How text is coloured: escape sequences, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colours.
    pub colour: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn verdict(self, verdict: &LevelVerdict) -> String {
        match verdict {
            LevelVerdict::Holds => self.paint("32", "yes"),
            LevelVerdict::Fails => self.paint("31", "no"),
            LevelVerdict::Unknown(why) => format!("{} ({why})", self.paint("33", "unknown")),
        }
    }
}

/// The whole report.
pub fn render(history: &History, report: &Report, file: &str, input: &str, style: Style) -> String {
    let mut out = String::new();
    let verdict = match &report.valid {
        LevelVerdict::Holds => style.paint("32;1", "valid"),
        LevelVerdict::Fails => style.paint("31;1", "INVALID"),
        LevelVerdict::Unknown(_) => style.paint("33;1", "unknown"),
    };
    let asked = report.asked_told();
    let _ = writeln!(out, "{file}: {verdict} for {asked} ({input}, {})", report.size_told());
    if let LevelVerdict::Unknown(why) = &report.valid {
        let _ = writeln!(out, "  because {why}");
    }
    for sentence in report.differences() {
        let _ = writeln!(out, "  {sentence}");
    }
    for anomaly in &report.anomalies {
        describe(&mut out, history, anomaly, style);
    }
    if !report.not.is_empty() {
        let _ = writeln!(out, "\n  so it is not: {}", report.not.join(", "));
    }
    if !report.others.is_empty() {
        let names: Vec<&str> = report.others.iter().map(|anomaly| anomaly.name).collect();
        let _ = writeln!(out, "\n  also in it, but no proof against {asked}: {}", names.join(", "));
    }
    for (family, levels) in report.families() {
        let _ = writeln!(out, "\n  levels of {} ({})", family.authors(), family.difference());
        for (name, verdict) in levels {
            let _ = writeln!(out, "    {name:<36}{}", style.verdict(verdict));
        }
    }
    out
}

fn describe(out: &mut String, history: &History, anomaly: &Anomaly, style: Style) {
    let also = if anomaly.also.is_empty() {
        String::new()
    } else {
        format!(" ({})", anomaly.also.join(", "))
    };
    let _ = writeln!(out, "\n  {}{also}", style.paint("1", anomaly.name));
    for sentence in &anomaly.because {
        let _ = writeln!(out, "    {sentence}");
    }
    if !anomaly.steps.is_empty() {
        let _ = writeln!(out, "    which is a cycle");
    }
    for &txn in &anomaly.transactions {
        let _ = writeln!(out, "    {}", transaction(history, txn, &anomaly.ops, style));
    }
}

/// A transaction on one line, the operations that matter highlighted.
fn transaction(history: &History, txn: TxnId, marked: &[OpId], style: Style) -> String {
    let range = history.range(txn);
    let many = range.len() > SHOWN_OPS;
    let mut shown = Vec::new();
    for op in range {
        let matters = marked.contains(&(op as OpId));
        if many && !matters {
            continue;
        }
        let text = op_text(history, op as OpId);
        shown.push(if !matters {
            text
        } else if style.colour {
            style.paint("1;36", &text)
        } else {
            format!("*{text}*")
        });
    }
    if many {
        shown.push("…".to_owned());
    }
    let session = history.txns[txn as usize].session as usize;
    let session = history.symbols.show(history.sessions[session]);
    format!("{} (session {session}): {}", history.txn_name(txn), shown.join("; "))
}
