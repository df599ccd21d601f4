//! Witnesses as one self-contained HTML page: no scripts, no outside files, light and dark.
//!
//! Idea: the verdict and whose levels it is about, then each anomaly with its picture and a sentence per arrow, then
//! the levels of both families side by side. Assumption: all text is untrusted; the template can print it only escaped.

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::Report;
use crate::levels::LevelVerdict;
use crate::model::History;
use crate::witness::Anomaly;
use crate::witness::picture::picture;

const STYLE: &str = include_str!("style.css");

/// A page for several files.
pub fn page(results: &[(String, &History, &Report)]) -> String {
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "anchorite check" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @for (file, history, report) in results { (section(file, history, report)) }
                footer.aside { "anchorite check" }
            }
        }
    };
    page.into_string() + "\n"
}

/// The word and its class.
fn word(verdict: &LevelVerdict) -> (&'static str, &str) {
    match verdict {
        LevelVerdict::Holds => ("yes", ""),
        LevelVerdict::Fails => ("no", ""),
        LevelVerdict::Unknown(why) => ("unknown", why),
    }
}

fn section(file: &str, history: &History, report: &Report) -> Markup {
    let (class, why) = word(&report.valid);
    let told = match &report.valid {
        LevelVerdict::Holds => "valid",
        LevelVerdict::Fails => "invalid",
        LevelVerdict::Unknown(_) => "unknown",
    };
    markup! {
        section {
            h1 { (file) ": " span.verdict.(class) { (told) } " for " (report.asked_told()) }
            p.aside {
                (report.size_told())
                @if !why.is_empty() { "; " (why) }
            }
            @for sentence in report.differences() { p { (sentence) } }
            @for one in &report.anomalies { (anomaly(history, one, "")) }
            @if !report.not.is_empty() { p { "So it is not: " strong { (report.not.join(", ")) } "." } }
            @for one in &report.others {
                (anomaly(history, one, "also in it, but no proof against what was asked"))
            }
            (families(report))
        }
    }
}

fn anomaly(history: &History, anomaly: &Anomaly, remark: &str) -> Markup {
    let numbered = !anomaly.steps.is_empty();
    markup! {
        h2 {
            (anomaly.name)
            @if !anomaly.also.is_empty() { " " small { (anomaly.also.join(", ")) } }
        }
        @if !remark.is_empty() { p.aside { (remark) } }
        @if !anomaly.transactions.is_empty() { div.figure { (picture(history, anomaly)) } }
        @if numbered {
            ol { @for sentence in &anomaly.because { li { (sentence) } } }
        } @else {
            ul { @for sentence in &anomaly.because { li { (sentence) } } }
        }
    }
}

fn families(report: &Report) -> Markup {
    markup! {
        div.families {
            @for (family, levels) in report.families() {
                div {
                    h3 { "Levels of " (family.authors()) " " small { (family.difference()) } }
                    table {
                        @for (name, verdict) in levels {
                            @let (class, why) = word(verdict);
                            tr {
                                td { (name) }
                                td.(class) { (class) @if !why.is_empty() { " (" (why) ")" } }
                            }
                        }
                    }
                }
            }
        }
    }
}
