//! The table as one HTML page that needs no other file, no network and no script.
//!
//! Idea: colours give an overview, and without them every word is still there; a number leads to its claim, and the
//! claim to the vendor's page. Light or dark, following the reader's system. Assumption: all text is untrusted. It is
//! made visible first, and then escaped by the template, which can print it only in this way; addresses are links only
//! if they are https.

use anchorite_claims::Anomaly;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::sheet::{Sheet, Source};
use super::words::{Tone, anomalies, blocking, claimed, level_told, observed, summary};
use super::{CaseProbe, LevelProbe, Probe};
use crate::escape::visible;
use crate::result::blocking_label;

const STYLE: &str = include_str!("style.css");

/// The probes as an HTML page. `version` is Anchorite's own.
pub fn html(probes: &[Probe], version: &str) -> String {
    let targets: Vec<String> =
        probes.iter().map(|probe| visible(&probe.target.to_string())).collect();
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Anomalies on " (targets.join(", ")) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @for (i, probe) in probes.iter().enumerate() {
                    (Section { sheet: &Sheet::of(probe), target: i + 1 }.section())
                }
                footer { "anchorite " (version) }
            }
        }
    };
    page.into_string() + "\n"
}

/// One target's part of the page; its number makes the anchors of several targets distinct.
struct Section<'a> {
    sheet: &'a Sheet<'a>,
    target: usize,
}

impl Section<'_> {
    fn section(&self) -> Markup {
        let probe = self.sheet.probe;
        let wrong = probe.incomplete.is_some() || probe.contradictions().next().is_some();
        markup! {
            section {
                h1 { "Anomalies on " (visible(&probe.target.to_string())) }
                p.summary.wrong[wrong] { (summary(probe)) "." }
                (self.contradictions())
                (self.main_table())
                (legend())
                (self.facts())
                @if !self.sheet.variants.is_empty() {
                    h2 { "Variants of the same anomalies" }
                    (self.variants())
                }
                (self.not_run())
                @if !self.sheet.sources.is_empty() {
                    h2 { "What is claimed, and where" }
                    @for source in &self.sheet.sources { (self.source(source)) }
                }
            }
        }
    }

    fn main_table(&self) -> Markup {
        markup! {
            div.wide { table {
                thead { tr {
                    th scope="col" { "level" }
                    @for anomaly in Anomaly::ALL {
                        th scope="col" { (anomaly.name()) small { (anomaly.explained()) } }
                    }
                } }
                tbody { @for level in &self.sheet.probe.levels { tr {
                    th scope="row" { (head(level)) }
                    @for anomaly in Anomaly::ALL { (self.cell(level, anomaly.name())) }
                } } }
            } }
        }
    }

    fn variants(&self) -> Markup {
        markup! {
            div.wide { table.variants {
                thead { tr {
                    th scope="col" { "case" }
                    @for level in &self.sheet.probe.levels { th scope="col" { (head(level)) } }
                } }
                tbody { @for name in &self.sheet.variants { tr {
                    th scope="row" { (visible(name)) }
                    @for level in &self.sheet.probe.levels { (self.cell(level, name)) }
                } } }
            } }
        }
    }

    fn cell(&self, level: &LevelProbe, name: &str) -> Markup {
        let Some(case) = level.case(name) else { return markup! { td {} } };
        let (class, word) = match Tone::of(case) {
            Tone::Prevented => ("prevented", "prevented: "),
            Tone::Possible => ("possible", ""),
            Tone::Contradiction => ("contradiction", ""),
            Tone::NotRun => ("not-run", ""),
        };
        markup! {
            td class=(class) title=(hint(case)) {
                span.how { (word) (observed(case)) }
                small { "claimed: " (claimed(case.documented.promise)) " " (self.reference(case)) }
            }
        }
    }

    fn reference(&self, case: &CaseProbe) -> Markup {
        markup! {
            @if let Some(number) = self.sheet.number(case) {
                a href={ "#" (self.anchor(number)) } { "[" (number) "]" }
            }
        }
    }

    fn anchor(&self, number: usize) -> String {
        format!("target-{}-claim-{number}", self.target)
    }

    fn facts(&self) -> Markup {
        markup! {
            dl {
                @for level in &self.sheet.probe.levels {
                    dt { (level.name()) }
                    dd { (visible(&level_told(level))) }
                }
                @for blocking in blocking(self.sheet.probe) {
                    dt { "blocking" }
                    dd { (visible(&blocking_label(blocking))) }
                }
            }
        }
    }

    fn contradictions(&self) -> Markup {
        let found: Vec<_> = self.sheet.probe.contradictions().collect();
        markup! {
            @if !found.is_empty() {
                div.alarm {
                    h2 { "Contradictions: claimed as prevented, and observed" }
                    @for (level, case) in found {
                        h3 { (visible(&case.name)) " at " (level.name()) ": " (visible(&case.title)) }
                        @if let Some(claim) = case.documented.claim {
                            p { "claimed " (self.reference(case)) ": " (visible(&claim.says)) }
                        }
                        @if let Ok(seen) = &case.outcome {
                            p { "observed: " code { (visible(&seen.because)) } }
                        }
                    }
                }
            }
        }
    }

    fn not_run(&self) -> Markup {
        let all: Vec<_> = self.sheet.not_run().collect();
        markup! {
            @if !all.is_empty() {
                h2 { "Not run" }
                ul { @for (level, case, reason) in all {
                    li { (visible(&case.name)) " at " (level) ": " (visible(reason)) }
                } }
            }
        }
    }

    fn source(&self, source: &Source<'_>) -> Markup {
        let url = visible(source.url);
        markup! {
            p.source {
                @if url.starts_with("https://") { a href=(url) { (url) } } @else { (url) }
            }
            ul.claims { @for (number, says) in &source.claims {
                li id=(self.anchor(*number)) { "[" (number) "] " (visible(says)) }
            } }
        }
    }
}

fn head(level: &LevelProbe) -> Markup {
    markup! { (level.name()) @if level.is_default { small { "default" } } }
}

/// The tooltip of a cell.
fn hint(case: &CaseProbe) -> String {
    let because = match &case.outcome {
        Ok(seen) => &seen.because,
        Err(reason) => reason,
    };
    visible(&format!("{}: {}", case.title, because))
}

fn legend() -> Markup {
    markup! {
        p.legend {
            "Prevented by a wait, an error, a deadlock's victim or a snapshot; possible: it happened. "
            (anomalies()) "."
        }
    }
}
