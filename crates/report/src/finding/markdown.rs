//! One finding as Markdown to paste into GitHub, Jira and mail.
//!
//! Idea: title, schedule, set-up, expected against actual, why, claim, contrast, server, scripts: the order in which a
//! developer asks. The schedule is drawn in a code block, one column per session, because that is readable where
//! Markdown is rendered and where it is not. Nothing but headings, lists, pipe tables and fences. Source: GitHub
//! Flavored Markdown; the parts that Jira's and mail's readers also show well. Blind spot: control characters in
//! scripts are shown as escapes; the files next to the report are exact.

use anchorite_model::{Finding, Run};

use super::brief::title;
use super::compare::{RowPair, TablePair, compare};
use super::outcomes::{outcomes, reasons};
use super::versions::{table, versions_seen};
use super::words::{
    address_in, anomaly, because, blamed, hunt_again, issue_address, origin, others, rate, replay,
    script_title, seen_by, verdict,
};
use crate::blame::Blame;
use crate::cycle;
use crate::escape::visible;
use crate::export::Form;
use crate::markup::{code, fenced, link, plain, row};
use crate::opinion::disagreement_told;
use crate::page::{Page, paint};
use crate::result::{blocking_label, level_groups};
use crate::text::schedule_lines;
use crate::tuples::tuple;
use crate::{Glyphs, Style, TextOptions};

/// The width of the drawn schedule: what a tracker shows without scrolling.
const SCHEDULE_WIDTH: usize = 110;
/// Equal rows beyond this many are counted instead of shown.
const EQUAL_ROWS_MAX: usize = 20;

/// The finding as Markdown. `version` is Anchorite's own.
pub fn markdown(finding: &Finding, version: &str) -> String {
    let run = &finding.run;
    let mut out = format!("# {}\n\n", plain(&title(finding)));
    let (property, seen_by) = (plain(&anomaly(&finding.signature)), plain(&seen_by(finding)));
    let (version, rate) = (plain(version), rate(finding));
    out += &format!("{property}, found by Anchorite {version} ({seen_by}); {rate}.\n");
    if let Some(cause) = &finding.cause {
        out += &format!("\nCause: {}.\n", linked(&cause.to_string()));
    }
    if let Some(known) = &finding.known
        && finding.unreported
    {
        out += &format!("\nFound before as {}, and in no tracker.\n", linked(known));
    } else if let Some(known) = &finding.known {
        let address = issue_address(known).map(|address| format!(" {}", link(&address)));
        out += &format!("\nKnown issue: {}{}\n", linked(known), address.unwrap_or_default());
    }
    if !run.events.is_empty() {
        out += "\n## What happened\n\n";
        out += &fenced("text", &drawn(run, blamed(finding).as_ref()));
    }
    out += &cycle::markdown(cycle::cycle_of(finding));
    run.notes.iter().for_each(|note| out += &format!("\n{}\n", plain(note)));
    if let Some(seen) = versions_seen(finding) {
        out += &table(seen);
    }
    before(finding, &mut out);
    let setup: String = run.case.setup.iter().map(|s| format!("{};\n", s.sql)).collect();
    if !setup.is_empty() {
        out += &format!("\n## Schema and data\n\n{}", fenced("sql", &setup));
    }
    expected_and_actual(finding, &mut out);
    why(finding, &mut out);
    claim(finding, &mut out);
    contrast(finding, &mut out);
    server(run, &mut out);
    reproduce(finding, &mut out);
    for (form, text) in super::scripts(finding) {
        let language = if form == Form::Mtr || form == Form::Spec { "text" } else { "sql" };
        out += &format!("\n### {}\n\n{}", script_title(form), fenced(language, &text));
    }
    out
}

/// The cases that have to run before it on the same tables.
fn before(finding: &Finding, out: &mut String) {
    if finding.before.is_empty() {
        return;
    }
    *out += "\n## What ran before on the same tables\n\nOn fresh tables the schedule above does not show it.\n";
    for (name, case) in finding.cases_before() {
        *out += &format!("\n{}:\n\n{}", code(&name), fenced("sql", &case.to_text()));
    }
}

fn claim(finding: &Finding, out: &mut String) {
    if !finding.claim.is_empty() {
        *out += "\n## What is promised\n\n";
        finding.claim.iter().for_each(|line| *out += &format!("- {}\n", linked(line)));
    }
}

fn server(run: &Run, out: &mut String) {
    *out += "\n## Where\n\n";
    *out += &format!("- Server: {}\n", code(&run.target.to_string()));
    for group in level_groups(run) {
        let names: Vec<String> = group.names.iter().map(|name| code(name)).collect();
        let remark = group.remark.map(|remark| format!(" ({remark})")).unwrap_or_default();
        let read_back = code(&group.read_back);
        *out += &format!("- Level read back in {}: {read_back}{remark}\n", names.join(", "));
    }
    if !run.settings.is_empty() {
        let told = run.settings.iter().map(|(name, value)| code(&format!("{name} = {value}")));
        *out += &format!("- Settings: {}\n", told.collect::<Vec<_>>().join(", "));
    }
    *out += &format!("- Who waits for whom: {}\n", plain(&blocking_label(&run.blocking)));
}

fn drawn(run: &Run, blame: Option<&Blame>) -> String {
    let options =
        TextOptions { width: SCHEDULE_WIDTH, style: Style::Plain, glyphs: Glyphs::Unicode };
    let page = Page::new(&options);
    paint(&schedule_lines(&page, run, blame), Style::Plain)
}

fn expected_and_actual(finding: &Finding, out: &mut String) {
    let (groups, more) = outcomes(finding);
    if groups.is_empty() && finding.run.final_state.is_empty() {
        return;
    }
    *out += "\n## Expected and actual\n";
    if groups.is_empty() {
        *out += "\nActual final state:\n";
        compare(&[], &finding.run.final_state).iter().for_each(|table| actual_table(table, out));
        return;
    }
    for group in groups {
        let titles: Vec<String> = group.ways.iter().map(|(title, _)| plain(title)).collect();
        *out += &format!("\nExpected: {}\n", titles.join(", or "));
        group.tables.iter().for_each(|table| pair_table(table, out));
        let listed = |lines: Vec<&str>| -> String {
            lines.iter().map(|line| format!("- {}\n", plain(line))).collect()
        };
        let common = listed(group.common());
        if !common.is_empty() {
            *out += &format!("\nThe run differs:\n\n{common}");
        }
        for (title, differences) in group.further() {
            *out += &format!("\nCompared with {}, also:\n\n", plain(title));
            *out += &listed(differences);
        }
    }
    if more > 0 {
        *out +=
            &format!("\n{more} more outcomes would have been correct; the run is none of them.\n");
    }
}

fn pair_table(table: &TablePair<'_>, out: &mut String) {
    let columns = table.columns.join(", ");
    let name = format!("{}({columns})", table.name);
    *out += &format!("\n{}\n\n", code(&name));
    *out += &row(["expected", "actual", ""].into_iter());
    *out += &row(["---", "---", "---"].into_iter());
    if table.rows.is_empty() {
        *out += &row(["no rows", "no rows", ""].into_iter());
    }
    let mut equal = 0;
    for pair in &table.rows {
        equal += usize::from(!pair.differs());
        if pair.differs() || equal <= EQUAL_ROWS_MAX {
            let (expected, actual) = (cell(pair.expected), cell(pair.actual));
            *out += &row([expected.as_str(), &actual, mark(pair)].into_iter());
        }
    }
    if equal > EQUAL_ROWS_MAX {
        *out += &format!("\n… and {} more rows that are equal\n", equal - EQUAL_ROWS_MAX);
    }
}

fn actual_table(table: &TablePair<'_>, out: &mut String) {
    let columns = table.columns.join(", ");
    *out += &format!("\n- {}:", code(&format!("{}({columns})", table.name)));
    let rows: Vec<String> = table.rows.iter().map(|pair| cell(pair.actual)).collect();
    let rows = if rows.is_empty() { "no rows".to_owned() } else { rows.join(", ") };
    *out += &format!(" {rows}\n");
}

fn cell(row: Option<&[anchorite_model::Value]>) -> String {
    row.map_or_else(|| "(none)".to_owned(), |row| code(&tuple(row)))
}

/// What is wrong with a row, in words that do not depend on bold type and colours.
pub(super) fn mark(pair: &RowPair<'_>) -> &'static str {
    match (pair.expected, pair.actual) {
        _ if !pair.differs() => "",
        (Some(_), Some(_)) => "differs",
        (Some(_), None) => "missing",
        (None, _) => "too much",
    }
}

fn why(finding: &Finding, out: &mut String) {
    let (sentences, others) = (reasons(finding), others(finding).collect::<Vec<_>>());
    if sentences.is_empty() && others.is_empty() {
        return;
    }
    *out += "\n## Why\n\n";
    sentences.iter().for_each(|sentence| *out += &format!("- {}\n", linked(sentence)));
    if !others.is_empty() {
        *out += "\nThe other oracles:\n\n";
        for judgement in others {
            let sentences: Vec<String> =
                because(&judgement.verdict).iter().map(|line| plain(line)).collect();
            let sentences = match sentences.is_empty() {
                true => String::new(),
                false => format!(": {}", sentences.join(" ")),
            };
            let told = plain(&verdict(&judgement.verdict));
            *out += &format!("- {}: {told}{sentences}\n", plain(&judgement.oracle));
        }
    }
    for disagreement in finding.disagreements() {
        *out += &format!("\n{}.\n", plain(&disagreement_told(&disagreement)));
    }
}

fn contrast(finding: &Finding, out: &mut String) {
    if finding.contrast.is_empty() {
        return;
    }
    *out += "\n## The nearest variants\n\n";
    *out += &row(["variant", "what then happens"].into_iter());
    *out += &row(["---", "---"].into_iter());
    for contrast in &finding.contrast {
        let (change, outcome) = (plain(&contrast.change), plain(&contrast.outcome));
        *out += &row([change.as_str(), &outcome].into_iter());
    }
}

fn reproduce(finding: &Finding, out: &mut String) {
    *out += "\n## How to repeat\n\n";
    *out += &format!("- Replay: {}\n", code(&replay(finding)));
    let again = hunt_again(finding).map(|command| format!(" ({})", code(&command)));
    *out += &format!("- Origin: {}{}\n", plain(&origin(finding)), again.unwrap_or_default());
    *out += &format!("- Fingerprint: {}\n", code(&finding.fingerprint));
}

/// Prose in which web addresses are links.
fn linked(text: &str) -> String {
    let word = |word: &str| {
        let (before, address, after) = address_in(word);
        if address.is_empty() {
            plain(word)
        } else {
            plain(before) + &link(address) + &plain(after)
        }
    };
    visible(text).split(' ').map(word).collect::<Vec<_>>().join(" ")
}
