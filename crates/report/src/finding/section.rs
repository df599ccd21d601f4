//! One finding as a part of an HTML page.
//!
//! Idea: the same order as in the Markdown form, with the timeline instead of the drawn schedule, expected and
//! actual rows side by side with the differing ones marked (by colour and in words), and the scripts folded
//! away until somebody wants them.
//! Assumption: everything is strangers' text: made visible first, then escaped by the template, which has no
//! other way to print a text.

use anchorite_model::{Expected, Finding, Value};
use maud::{Markup, html as markup};

use super::compare::{RowPair, TablePair, compare};
use super::lanes::lanes;
use super::markdown::mark;
use super::words::{
    address_in, because, deciding, expected, hunt_again, origin, others, rate, replay,
    script_title, verdict,
};
use crate::escape::{visible, visible_line};
use crate::result::{blocking_label, level_groups};
use crate::table::cell;

/// Equal rows beyond this many are counted instead of shown.
const EQUAL_ROWS_MAX: usize = 20;

/// Everything below the finding's heading.
pub(super) fn section(finding: &Finding) -> Markup {
    markup! {
        (facts(finding))
        @if !finding.claim.is_empty() {
            h3 { "What is promised" }
            ul { @for line in &finding.claim { li { (linked(line)) } } }
        }
        @if !finding.run.case.setup.is_empty() {
            h3 { "Schema and data" }
            pre.script { @for statement in &finding.run.case.setup {
                (statement_text(&statement.sql)) ";\n"
            } }
        }
        h3 { "What happened" }
        (lanes(&finding.run))
        @for note in &finding.run.notes { p.aside { (visible(note)) } }
        h3 { "Expected and actual" }
        (expected_and_actual(finding))
        h3 { "Why" }
        (why(finding))
        @if !finding.contrast.is_empty() {
            h3 { "Contrast" }
            div.wide { table {
                thead { tr { th { "variant" } th { "what then happens" } } }
                tbody { @for contrast in &finding.contrast {
                    tr { td { (visible(&contrast.change)) } td { (visible(&contrast.outcome)) } }
                } }
            } }
        }
        h3 { "How to repeat" }
        pre.script { (visible(&replay(finding))) }
        @for (form, text) in super::scripts(finding) {
            details {
                summary { (script_title(form).replace('`', "")) }
                pre.script { (statement_text(&text)) }
            }
        }
    }
}

fn facts(finding: &Finding) -> Markup {
    let run = &finding.run;
    markup! {
        dl {
            dt { "server" } dd { (visible(&run.target.to_string())) }
            @for group in level_groups(run) {
                dt { "level in " (visible(&group.names.join(", "))) }
                dd.warning[group.differs] {
                    (visible(&group.read_back)) " (read back"
                    @if let Some(remark) = &group.remark { ", " (visible(remark)) }
                    ")"
                }
            }
            dt { "waiting" } dd { (visible(&blocking_label(&run.blocking))) }
            dt { "oracle" } dd { (visible(&finding.signature.oracle)) }
            dt { "confirmed" } dd { (rate(finding)) }
            dt { "origin" }
            dd {
                (visible(&origin(finding)))
                @if let Some(command) = hunt_again(finding) { ": " code { (visible(&command)) } }
            }
            dt { "fingerprint" } dd { code { (visible(&finding.fingerprint)) } }
            @if let Some(known) = &finding.known { dt { "known issue" } dd { (linked(known)) } }
        }
    }
}

fn expected_and_actual(finding: &Finding) -> Markup {
    let (shown, more) = expected(finding);
    let actual = &finding.run.final_state;
    markup! {
        @if shown.is_empty() {
            @for table in compare(actual, actual) { (pair_table(&table, "at the end", None)) }
        }
        @for outcome in shown {
            (one_outcome(outcome, finding))
        }
        @if more > 0 {
            p.aside { (more) " more outcomes would have been right; the run is none of them." }
        }
    }
}

fn one_outcome(outcome: &Expected, finding: &Finding) -> Markup {
    let tables = match outcome.final_state.is_empty() {
        true => Vec::new(),
        false => compare(&outcome.final_state, &finding.run.final_state),
    };
    markup! {
        div.outcome {
            p { "Expected: " strong { (visible(&outcome.title)) } }
            @for table in &tables { (pair_table(table, "expected", Some("actual"))) }
            @if !outcome.differences.is_empty() {
                ul { @for line in &outcome.differences { li { (visible(line)) } } }
            }
        }
    }
}

/// A table on both sides; on one, where `right` is not asked for.
fn pair_table(table: &TablePair<'_>, left: &str, right: Option<&str>) -> Markup {
    let width = table.columns.len().max(1);
    let equal: Vec<usize> = (0..table.rows.len()).filter(|i| !table.rows[*i].differs()).collect();
    let hidden = equal.get(EQUAL_ROWS_MAX..).unwrap_or_default();
    markup! {
        div.wide { table.sides {
            caption { code { (visible(table.name)) } @if !table.differs() && right.is_some() { ": equal" } }
            thead {
                tr {
                    th colspan=(width) { (left) }
                    @if let Some(right) = right { th.gap {} th colspan=(width) { (right) } th.gap {} }
                }
                tr {
                    @for name in table.columns { th { (visible(name)) } }
                    @if right.is_some() {
                        th.gap {}
                        @for name in table.columns { th { (visible(name)) } }
                        th.gap {}
                    }
                }
            }
            tbody {
                @for (i, pair) in table.rows.iter().enumerate() {
                    @if !hidden.contains(&i) { (pair_row(pair, width, right.is_some())) }
                }
                @if table.rows.is_empty() {
                    tr { td colspan=(2 * width + 2) { "no rows on either side" } }
                }
                @if !hidden.is_empty() {
                    tr { td colspan=(2 * width + 2) { "… " (hidden.len()) " more rows that are equal" } }
                }
            }
        } }
    }
}

fn pair_row(pair: &RowPair<'_>, width: usize, both: bool) -> Markup {
    let side = |row: Option<&[Value]>, other: Option<&[Value]>| {
        markup! {
            @match row {
                None => { td.none colspan=(width) { "(none)" } }
                Some(values) => {
                    @for (i, value) in values.iter().enumerate() {
                        @let differs = other.is_some_and(|other| other.get(i) != Some(value));
                        td.value.changed[differs] { (cell(value)) }
                    }
                }
            }
        }
    };
    markup! {
        tr.differs[pair.differs()] {
            (side(pair.expected, pair.actual))
            @if both {
                td.gap {}
                (side(pair.actual, pair.expected))
                td.mark { (mark(pair)) }
            }
        }
    }
}

fn why(finding: &Finding) -> Markup {
    let sentences = deciding(finding).map_or(&[][..], |judgement| because(&judgement.verdict));
    markup! {
        ul.because { @for sentence in sentences { li { (visible(sentence)) } } }
        @if others(finding).next().is_some() {
            p { "The other oracles:" }
            ul { @for judgement in others(finding) {
                li {
                    (visible(&judgement.oracle)) ": " (visible(&verdict(&judgement.verdict)))
                    @for sentence in because(&judgement.verdict) { " — " (visible(sentence)) }
                }
            } }
        }
    }
}

/// Prose in which web addresses are links.
pub(super) fn linked(text: &str) -> Markup {
    let text = visible(text);
    markup! {
        @for (i, word) in text.split(' ').enumerate() {
            @if i > 0 { " " }
            @let (before, address, after) = address_in(word);
            (before) @if !address.is_empty() { a href=(address) { (address) } } (after)
        }
    }
}

/// Lines of a script, each safe.
fn statement_text(text: &str) -> String {
    text.trim_end().lines().map(visible_line).collect::<Vec<_>>().join("\n")
}
