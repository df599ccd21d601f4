//! A whole campaign as one HTML page that needs no other file, no network and no script.
//!
//! Idea: what was done and found at the top, each finding below. It can be attached to an issue, opened from disk and
//! printed. Light or dark, following the reader's system.

use anchorite_model::{Finding, HuntSummary};
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::brief::title;
use super::headline::title_of;
use super::section::{issue, section};
use super::words::{anomaly, product_and_version, rate};
use crate::escape::visible;
use crate::hunt_summary::{Found, capital, place_told, told_in_sentences};
use crate::result::level_label;

const STYLE: &str = include_str!("style.css");

/// The page of one finding.
pub fn page_of_one(finding: &Finding, version: &str) -> String {
    page(None, std::slice::from_ref(finding), 0, version)
}

/// The page. `version` is Anchorite's own; `summary` is present if the campaign's numbers are known, `waiting` is the
/// number of suspects that have not been examined yet.
pub fn page(
    summary: Option<&HuntSummary>,
    findings: &[Finding],
    waiting: u64,
    version: &str,
) -> String {
    let alone = match findings {
        [only] if summary.is_none() => Some(only),
        _ => None,
    };
    let heading = match alone {
        Some(finding) => title(finding),
        None => {
            let all: Vec<&Finding> = findings.iter().collect();
            capital(&Found::among(&all, waiting).told())
        }
    };
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible(&heading)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (visible(&heading)) }
                @if let Some(summary) = summary { (campaign(summary)) }
                @if alone.is_none() { (list(findings)) }
                @for (i, finding) in findings.iter().enumerate() {
                    section id=(anchor(i)) {
                        @if alone.is_none() { h2 { (i + 1) ". " (visible(&title(finding))) } }
                        (section(finding, alone.is_some()))
                    }
                }
                footer { "anchorite " (version) }
            }
        }
    };
    page.into_string() + "\n"
}

fn anchor(index: usize) -> String {
    format!("finding-{}", index + 1)
}

fn campaign(summary: &HuntSummary) -> Markup {
    markup! {
        ul.campaign {
            @for place in &summary.places { li { (visible(&place_told(place))) } }
            @for sentence in told_in_sentences(summary) { li { (visible(&sentence)) } }
            li { "Seed " (summary.seed) }
        }
    }
}

fn list(findings: &[Finding]) -> Markup {
    markup! {
        @if !findings.is_empty() {
            div.wide { table.list {
                thead { tr {
                    th { "" } th { "finding" } th { "where" } th { "level" } th { "property" }
                    th { "seen by" } th { "statements" } th { "confirmed" }
                } }
                tbody { @for (i, finding) in findings.iter().enumerate() { tr {
                    td { (i + 1) }
                    td {
                        a href={ "#" (anchor(i)) } { (visible(&title_of(finding))) }
                        @if let Some(known) = &finding.known { br; small { "known: " (issue(known)) } }
                    }
                    td { (visible(&product_and_version(&finding.run.target))) }
                    td { (level_label(&finding.run)) }
                    td { (visible(&anomaly(&finding.signature))) }
                    td { (visible(&finding.seen_by().join(", "))) }
                    td { (finding.run.case.steps.len()) }
                    td { (rate(finding).replace("shown in ", "").replace(" runs of the reduced case", "")) }
                } } }
            } }
        }
    }
}
