//! One finding as a part of an HTML page.
//!
//! Idea: the picture first, because it is what people look at; then what it should have been, and why; the claim with
//! its long addresses, where it happened, and how to repeat it come last. Expected and actual rows are side by side,
//! with differences marked (by colour and in words), and the scripts are collapsed. Assumption: all text is untrusted:
//! made visible first, then escaped by the template, which can print it only in this way.

use anchorite_model::{Finding, Value};
use maud::{Markup, html as markup};

use super::compare::{RowPair, TablePair, compare};
use super::lanes::lanes;
use super::markdown::mark;
use super::outcomes::{Group, outcomes, reasons};
use super::versions::{picture, versions_seen};
use super::words::{
    address_in, anomaly, because, blamed, hunt_again, issue_address, origin, others, rate, replay,
    script_title, seen_by, verdict,
};
use crate::cycle::cycle_of;
use crate::escape::{visible, visible_line};
use crate::opinion::disagreement_told;
use crate::result::{blocking_label, level_groups};
use crate::table::cell;

/// Equal rows beyond this many are counted instead of shown.
const EQUAL_ROWS_MAX: usize = 20;

/// Everything below the finding's heading. `beside` says whether its files are in the page's folder.
pub(super) fn section(finding: &Finding, beside: bool) -> Markup {
    let run = &finding.run;
    markup! {
        (in_short(finding))
        @if !run.events.is_empty() { (lanes(run, blamed(finding).as_ref(), cycle_of(finding))) }
        @for note in &run.notes { p.aside { (visible(note)) } }
        @if let Some(seen) = versions_seen(finding) { (picture(seen)) }
        (before(finding))
        @if !run.case.setup.is_empty() {
            h3 { "Schema and data" }
            pre.script { @for statement in &run.case.setup { (statement_text(&statement.sql)) ";\n" } }
        }
        (expected_and_actual(finding))
        (why(finding))
        @if !finding.claim.is_empty() {
            h3 { "What is promised" }
            ul { @for line in &finding.claim { li { (linked(line)) } } }
        }
        @if !finding.contrast.is_empty() {
            h3 { "The nearest variants" }
            div.wide { table {
                thead { tr { th { "variant" } th { "what then happens" } } }
                tbody { @for contrast in &finding.contrast {
                    tr { td { (visible(&contrast.change)) } td { (visible(&contrast.outcome)) } }
                } }
            } }
        }
        h3 { "Where" }
        (facts(finding))
        h3 { "How to repeat" }
        pre.script { (visible(&replay(finding))) }
        @if beside { (files(finding)) }
        @for (form, text) in super::scripts(finding) {
            details {
                summary { (script_title(form).replace('`', "")) }
                pre.script { (statement_text(&text)) }
            }
        }
    }
}

/// The name of the property, whether it is known, and how often it was confirmed.
fn in_short(finding: &Finding) -> Markup {
    markup! {
        p.short {
            (visible(&anomaly(&finding.signature))) ", found by the " (visible(&seen_by(finding)))
            "; " (rate(finding)) "."
            @if let Some(known) = finding.known.as_ref().filter(|_| finding.unreported) {
                " Found before as " (visible(known)) ", and in no tracker."
            }
            @if let Some(known) = finding.known.as_ref().filter(|_| !finding.unreported) {
                " Known issue: " (issue(known)) "."
            }
            @if let Some(cause) = &finding.cause { " Cause: " (visible(&cause.to_string())) "." }
        }
    }
}

/// The cases that have to run before it on the same tables.
fn before(finding: &Finding) -> Markup {
    markup! {
        @if !finding.before.is_empty() {
            h3 { "What ran before on the same tables" }
            p { "On fresh tables the schedule above does not show it." }
        }
        @for (name, case) in finding.cases_before() {
            details {
                summary { (name) }
                pre.script { (statement_text(&case.to_text())) }
            }
        }
    }
}

/// A known issue's name, with a link if there is one.
pub(super) fn issue(name: &str) -> Markup {
    markup! {
        @match issue_address(name) {
            Some(address) => a href=(address) { (visible(name)) },
            None => (linked(name)),
        }
    }
}

/// The files in the same folder.
fn files(finding: &Finding) -> Markup {
    let scripts = super::scripts(finding);
    let scripts = scripts.iter().map(|(form, _)| super::script_file(*form));
    let picture = super::has_picture(finding).then_some(super::PICTURE);
    let files = ["finding.json", "reduced.case", "original.case"].into_iter().chain(picture);
    let before = finding.cases_before().into_iter().map(|(name, _)| name);
    let files = files.map(str::to_owned).chain(before).chain(scripts);
    markup! {
        p.aside { "Beside this page: " @for (i, file) in files.enumerate() {
            @if i > 0 { ", " }
            a href=(file) { (file) }
        } }
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
            @if !run.settings.is_empty() {
                dt { "settings" }
                dd { @for (i, (name, value)) in run.settings.iter().enumerate() {
                    @if i > 0 { ", " }
                    code { (visible(name)) " = " (visible(value)) }
                } }
            }
            dt { "who waits" } dd { (visible(&blocking_label(&run.blocking))) }
            dt { "origin" }
            dd {
                (visible(&origin(finding)))
                @if let Some(command) = hunt_again(finding) { ": " code { (visible(&command)) } }
            }
            dt { "fingerprint" } dd { code { (visible(&finding.fingerprint)) } }
        }
    }
}

fn expected_and_actual(finding: &Finding) -> Markup {
    let (groups, more) = outcomes(finding);
    let actual = &finding.run.final_state;
    markup! {
        @if !groups.is_empty() || !actual.is_empty() { h3 { "Expected and actual" } }
        @if groups.is_empty() {
            @for table in compare(actual, actual) { (pair_table(&table, "at the end", None)) }
        }
        @for group in &groups {
            div.outcome {
                p { "Expected: " (ways(group)) }
                @for table in &group.tables { (pair_table(table, "expected", Some("actual"))) }
                @let common = group.common();
                @if !common.is_empty() { ul { @for line in common { li { (visible(line)) } } } }
                @for (title, differences) in group.further() {
                    p.aside { "Compared with " (visible(title)) ", also:" }
                    ul { @for line in differences { li { (visible(line)) } } }
                }
            }
        }
        @if more > 0 {
            p.aside { (more) " more outcomes would have been correct; the run is none of them." }
        }
    }
}

/// The orders with the same result.
fn ways(group: &Group<'_>) -> Markup {
    markup! {
        @for (i, (title, _)) in group.ways.iter().enumerate() {
            @if i > 0 { ", or " }
            strong { (visible(title)) }
        }
    }
}

/// A table on both sides, or only on one.
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
    let sentences = reasons(finding);
    let others: Vec<_> = others(finding).collect();
    markup! {
        @if !sentences.is_empty() || !others.is_empty() { h3 { "Why" } }
        ul.because { @for sentence in sentences { li { (linked(sentence)) } } }
        @if !others.is_empty() {
            p { "The other oracles:" }
            ul { @for judgement in others {
                li {
                    (visible(&judgement.oracle)) ": " (visible(&verdict(&judgement.verdict)))
                    @for sentence in because(&judgement.verdict) { " — " (visible(sentence)) }
                }
            } }
        }
        @for disagreement in finding.disagreements() {
            p.warning { (visible(&disagreement_told(&disagreement))) "." }
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
