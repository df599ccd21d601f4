//! The table as text for a terminal.
//!
//! Idea: a level takes two lines, what was observed and what is claimed, with the ten anomalies side by side; the
//! variants have a line each, with the levels side by side. On a terminal that is too narrow for that, every level
//! becomes a list. Blind spot: below about 50 columns the lists are wider than the terminal.

use anchorite_claims::{Anomaly, Promise};
use anchorite_model::BlockingKnowledge;

use super::sheet::Sheet;
use super::words::{Tone, anomalies, blocking, level_told, observed, summary};
use super::{CaseProbe, LevelProbe, Probe};
use crate::TextOptions;
use crate::escape::visible;
use crate::page::{INDENT, Page, paint, prose, section};
use crate::result::blocking_label;
use crate::style::{Glyphs, Ink, Line};
use crate::table::whole_grid;
use crate::wrap::wrap;

/// The width of an observation that is followed by its claim: `deadlock`, `possible`.
const OBSERVED_WIDTH: usize = 8;

/// A column: its name and its cells.
type Column = (String, Vec<(Ink, String)>);

/// The probes as text.
pub fn text(probes: &[Probe], options: &TextOptions) -> String {
    let page = Page::new(options);
    let mut lines = Vec::new();
    for probe in probes {
        if !lines.is_empty() {
            lines.push(Line::default());
            lines.push(Line::of(Ink::Faint, page.glyphs.heavy().repeat(page.prose)));
        }
        Drawing { page: &page, sheet: &Sheet::of(probe) }.draw(&mut lines);
    }
    paint(&lines, options.style)
}

struct Drawing<'a> {
    page: &'a Page,
    sheet: &'a Sheet<'a>,
}

impl Drawing<'_> {
    fn draw(&self, out: &mut Vec<Line>) {
        self.header(out);
        out.push(Line::default());
        out.extend(self.grid_or_lists(self.main_columns(), &Anomaly::ALL.map(Anomaly::name)));
        out.push(Line::default());
        self.legend(out);
        if !self.sheet.variants.is_empty() {
            section("Variants of the same anomalies", out);
            out.extend(self.grid_or_lists(self.variant_columns(), &self.sheet.variants));
        }
        self.contradictions(out);
        self.not_run(out);
        self.sources(out);
        out.push(Line::default());
        let probe = self.sheet.probe;
        let wrong = probe.incomplete.is_some() || probe.contradictions().next().is_some();
        let ink = if wrong { Ink::Bad } else { Ink::Title };
        out.extend(prose(ink, &summary(probe), self.page.prose));
    }

    fn header(&self, out: &mut Vec<Line>) {
        let probe = self.sheet.probe;
        let title = format!("Anomalies on {}", visible(&probe.target.to_string()));
        out.extend(prose(Ink::Title, &title, self.page.prose));
        for (i, level) in probe.levels.iter().enumerate() {
            let told = format!("{}: {}", level.name(), level_told(level));
            self.page.field(if i == 0 { "levels" } else { "" }, Ink::Plain, &told, out);
        }
        for blocking in blocking(probe) {
            let exact = matches!(blocking, BlockingKnowledge::Asked(_));
            let ink = if exact { Ink::Plain } else { Ink::Warning };
            self.page.field("blocking", ink, &blocking_label(blocking), out);
        }
    }

    /// Levels downwards, two lines each, and anomalies sideways.
    fn main_columns(&self) -> Vec<Column> {
        let levels = &self.sheet.probe.levels;
        let labels = levels
            .iter()
            .flat_map(|level| [(Ink::Title, label(level)), (Ink::Faint, "  claimed".to_owned())]);
        let mut columns = vec![("level".to_owned(), labels.collect())];
        for anomaly in Anomaly::ALL {
            let cells = levels.iter().flat_map(|level| match level.case(anomaly.name()) {
                Some(case) => [told(case), (claim_ink(case), self.claim_mark(case))],
                None => [nothing(), nothing()],
            });
            columns.push((anomaly.name().to_owned(), cells.collect()));
        }
        columns
    }

    /// Variants downwards, a line each, and levels sideways.
    fn variant_columns(&self) -> Vec<Column> {
        let names = &self.sheet.variants;
        let first = names.iter().map(|name| (Ink::Plain, visible(name))).collect();
        let mut columns: Vec<Column> = vec![("case".to_owned(), first)];
        for level in &self.sheet.probe.levels {
            let cell = |case: &CaseProbe| {
                let (ink, seen) = told(case);
                (ink, format!("{seen:<OBSERVED_WIDTH$}  {}", self.claim_mark(case)))
            };
            let cells = names.iter().map(|name| level.case(name).map_or_else(nothing, cell));
            columns.push((label(level), cells.collect()));
        }
        columns
    }

    /// The columns or, if they are too wide, a list of these cases for each level.
    fn grid_or_lists(&self, columns: Vec<Column>, names: &[&str]) -> Vec<Line> {
        if let Some(lines) = whole_grid(columns, self.page.width, self.page.glyphs) {
            return lines;
        }
        let mut lines = Vec::new();
        for level in &self.sheet.probe.levels {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.push(Line::of(Ink::Title, label(level)));
            let list = whole_grid(self.list_columns(level, names), usize::MAX, self.page.glyphs);
            lines.extend(list.into_iter().flatten());
        }
        lines
    }

    fn list_columns(&self, level: &LevelProbe, names: &[&str]) -> Vec<Column> {
        let cases: Vec<&CaseProbe> = names.iter().filter_map(|name| level.case(name)).collect();
        let of = |cell: &dyn Fn(&CaseProbe) -> (Ink, String)| {
            cases.iter().map(|case| cell(case)).collect::<Vec<_>>()
        };
        vec![
            ("case".to_owned(), of(&|case| (Ink::Plain, visible(&case.name)))),
            ("observed".to_owned(), of(&told)),
            ("claimed".to_owned(), of(&|case| (claim_ink(case), self.claim_mark(case)))),
        ]
    }

    /// `✓ [3]`: what is claimed, and which claim it is.
    fn claim_mark(&self, case: &CaseProbe) -> String {
        let mark = promise_mark(case.documented.promise, self.page.glyphs);
        let alarm = if case.contradicts() { " !" } else { "" };
        format!("{mark} {}{alarm}", self.sheet.reference(case))
    }

    fn legend(&self, out: &mut Vec<Line>) {
        let mark = |promise| promise_mark(promise, self.page.glyphs);
        let mut sentences = vec![
            "observed: possible, or how it was prevented: wait, error, deadlock, snapshot"
                .to_owned(),
            format!(
                "claimed: {} prevented, {} possible, {} not said; [n] is the claim, below",
                mark(Promise::Prevented),
                mark(Promise::Possible),
                mark(Promise::Unspecified)
            ),
            anomalies(),
        ];
        if self.sheet.probe.levels.iter().any(|level| level.is_default) {
            sentences.insert(0, "* the level of a session that asks for none".to_owned());
        }
        for sentence in sentences {
            out.extend(prose(Ink::Faint, &sentence, self.page.prose));
        }
    }

    fn contradictions(&self, out: &mut Vec<Line>) {
        let found: Vec<_> = self.sheet.probe.contradictions().collect();
        if found.is_empty() {
            return;
        }
        section("CONTRADICTIONS: claimed as prevented, and observed", out);
        for (level, case) in found {
            let what = format!("{} at {}: {}", case.name, level.name(), case.title);
            self.page.indented(Ink::Bad, &visible(&what), out);
            if let Some(claim) = case.documented.claim {
                let claim = format!("claimed {}: {}", self.sheet.reference(case), claim.says);
                self.detail(&claim, out);
            }
            if let Ok(seen) = &case.outcome {
                self.detail(&format!("observed: {}", seen.because), out);
            }
        }
    }

    fn not_run(&self, out: &mut Vec<Line>) {
        for (i, (level, case, reason)) in self.sheet.not_run().enumerate() {
            if i == 0 {
                section("Not run", out);
            }
            let what = format!("{} at {level}: {reason}", case.name);
            self.page.indented(Ink::Warning, &visible(&what), out);
        }
    }

    fn sources(&self, out: &mut Vec<Line>) {
        if self.sheet.sources.is_empty() {
            return;
        }
        section("What is claimed, and where", out);
        for source in &self.sheet.sources {
            // An address is never broken, so that it can be opened from the terminal.
            out.push(Line::of(Ink::Plain, visible(source.url)).indented(INDENT));
            for (number, says) in &source.claims {
                self.detail(&format!("[{number}] {says}"), out);
            }
        }
    }

    /// A sentence below an indented line.
    fn detail(&self, text: &str, out: &mut Vec<Line>) {
        for piece in wrap(&visible(text), self.page.prose - 2 * INDENT, INDENT) {
            out.push(Line::of(Ink::Plain, piece).indented(2 * INDENT));
        }
    }
}

/// The level's name; the default has a star.
fn label(level: &LevelProbe) -> String {
    format!("{}{}", level.name(), if level.is_default { " *" } else { "" })
}

fn nothing() -> (Ink, String) {
    (Ink::Plain, String::new())
}

/// What was observed; capitals where it should not have been, so that it stands out without colour.
fn told(case: &CaseProbe) -> (Ink, String) {
    let word = observed(case);
    match Tone::of(case) {
        Tone::Prevented => (Ink::Good, word.to_owned()),
        Tone::Possible => (Ink::Warning, word.to_owned()),
        Tone::Contradiction => (Ink::Bad, word.to_uppercase()),
        Tone::NotRun => (Ink::Faint, word.to_owned()),
    }
}

fn claim_ink(case: &CaseProbe) -> Ink {
    if case.contradicts() { Ink::Bad } else { Ink::Faint }
}

const fn promise_mark(promise: Promise, glyphs: Glyphs) -> &'static str {
    match promise {
        Promise::Prevented => glyphs.pick("✓", "+"),
        Promise::Possible => glyphs.pick("✗", "-"),
        Promise::Unspecified => "?",
    }
}
