//! Runs as Markdown to paste into a tracker.
//!
//! Idea: what the developers of a DBMS ask for, in their order: product, version and level in the title, the level as
//! read back, a script that repeats it, what happened statement by statement with one column per session, the final
//! state. Repeats with the same outcome are shown once. Source: the GitHub Flavored Markdown specification (tables,
//! code spans, fences); Jira's editor accepts the same. Assumption: statements, values and messages are untrusted. They
//! are in code spans, where nothing is markup and nobody is mentioned; other text is escaped. Blind spot: the script is
//! shown with control characters escaped, so a script that needs a raw one must be taken from the file.

use anchorite_model::{Case, Ending, Rank, Rows, Run, Verdict};

use crate::blame::blame_of_verdicts;
use crate::entries::{Item, Tone, answer_items, describe, error_items, never_answered};
use crate::fold::{Outcomes, Repeats, fold, repeats_told};
use crate::markup::{code, fenced, link, plain, row};
use crate::opinion::{Opinion, disagreement_told, observed_told, remark_told};
use crate::result::{blocking_label, level_groups, level_label, session_names};
use crate::summary::summary;
use crate::table::cell;
use crate::tuples::tuples;
use crate::{RunFailure, RunResult, Runs, matrix};

/// The results as Markdown. `script` gives the text of a case that reproduces it.
pub fn markdown<'a>(runs: impl Into<Runs<'a>>, script: &dyn Fn(&Case) -> String) -> String {
    let runs = runs.into();
    let mut reports = Vec::new();
    for repeats in fold(runs.results) {
        for (i, outcomes) in repeats.outcomes.iter().enumerate() {
            if !runs.brief || outcomes.result.is_bad() {
                reports.push(report(&repeats, i, outcomes, script));
            }
        }
    }
    for RunFailure { case, target, message, .. } in runs.failures {
        let target = plain(&target.to_string());
        reports.push(format!("{} on {target}: **{}**\n", code(case), plain(message)));
    }
    if runs.results.len() != 1 || !runs.failures.is_empty() {
        reports.push(format!("{}{}\n", matrix::markdown(&runs), plain(&summary(&runs))));
    }
    reports.join("\n---\n\n")
}

fn report(
    all: &Repeats<'_>,
    index: usize,
    one: &Outcomes<'_>,
    script: &dyn Fn(&Case) -> String,
) -> String {
    let run = &one.result.run;
    let title = run.case.header.title.as_deref().filter(|title| !title.is_empty());
    let title = title.unwrap_or(&run.case.name);
    let level = match level_label(run) {
        "default" => "default level",
        "mixed" => "mixed levels",
        name => name,
    };
    let target = plain(&run.target.to_string());
    let mut out = format!("# {target}, {level}: {}\n\n", plain(title));
    facts(run, repeats_told(all, index), &mut out);
    let script = script(&run.case);
    if !script.trim().is_empty() {
        out += &format!("\n## How to repeat\n\n{}", fenced("sql", &script));
    }
    out += "\n## What happened\n\n";
    schedule(one.result, &mut out);
    if !run.final_state.is_empty() {
        out += "\n## Final state\n";
        for (name, rows) in &run.final_state {
            out += &format!("\n{}\n\n{}", code(name), table(rows));
        }
    }
    checks(run, &mut out);
    if !run.notes.is_empty() {
        out += "\n## Notes\n\n";
        run.notes.iter().for_each(|note| out += &format!("- {}\n", plain(note)));
    }
    if let Ending::TargetLost(how) = &run.ending {
        out += &format!("\n**The server was lost**: {}\n", plain(how));
    }
    verdicts(one.result, &mut out);
    opinions(one.result, &mut out);
    out
}

fn facts(run: &Run, repeats: Option<String>, out: &mut String) {
    *out += &format!("- Case: {}\n", code(&run.case.name));
    *out += &format!("- Target: {}\n", plain(&run.target.to_string()));
    *out += &format!("- Level: {}\n", level_label(run));
    for group in level_groups(run) {
        let names: Vec<String> = group.names.iter().map(|name| code(name)).collect();
        let remark = group.remark.map(|remark| format!(", {remark}")).unwrap_or_default();
        let read_back = code(&group.read_back);
        *out += &format!("- Level read back in {}: {read_back}{remark}\n", names.join(", "));
    }
    *out += &format!("- Blocking: {}\n", plain(&blocking_label(&run.blocking)));
    for source in &run.case.header.source {
        *out += &format!("- Source: {}\n", link(source));
    }
    if let Some(repeats) = repeats {
        *out += &format!("- Repeats: {repeats}\n");
    }
}

fn schedule(result: &RunResult, out: &mut String) {
    let run = &result.run;
    let blame = blame_of_verdicts(run, &result.verdicts);
    let names = session_names(run);
    let heads: Vec<String> = names.iter().map(|name| plain(name)).collect();
    *out += &row(std::iter::once("#").chain(heads.iter().map(String::as_str)));
    *out += &row(std::iter::once("--:").chain(heads.iter().map(|_| "---")));
    for entry in describe(run, blame.as_ref()) {
        let mut pieces = entry.sql.map(statement).unwrap_or_default();
        pieces.extend(entry.items.iter().map(item));
        let number = entry.n.to_string();
        let told = pieces.join("<br>");
        let cell = |session: usize| if session == entry.session { told.as_str() } else { "" };
        *out += &row(std::iter::once(number.as_str()).chain((0..names.len()).map(cell)));
    }
    for (n, session) in never_answered(run) {
        *out += &format!("\n{n} ({}) was never answered.\n", code(&session));
    }
}

/// Each line of a statement as a separate code span: in a table a span cannot contain a line end.
fn statement(sql: &str) -> Vec<String> {
    sql.lines().map(str::trim).filter(|line| !line.is_empty()).map(code).collect()
}

fn item(item: &Item<'_>) -> String {
    match item {
        Item::Remark(Tone::Answer, text) => plain(text),
        Item::Remark(Tone::Quote, text) => code(text),
        Item::Remark(Tone::Progress, text) => format!("*{}*", plain(text)),
        Item::Remark(_, text) => format!("**{}**", plain(text)),
        Item::Rows(rows) => tuples(rows, &code),
    }
}

fn table(rows: &Rows) -> String {
    if rows.rows.is_empty() || rows.columns.is_empty() {
        return "no rows\n".to_owned();
    }
    let names: Vec<String> = rows.columns.iter().map(|name| plain(name)).collect();
    let mut out = row(names.iter().map(String::as_str));
    out += &row(names.iter().map(|_| "---"));
    for cells in &rows.rows {
        let cells: Vec<String> = cells.iter().map(|value| plain(&cell(value))).collect();
        out += &row(cells.iter().map(String::as_str));
    }
    out
}

fn checks(run: &Run, out: &mut String) {
    if run.checks.is_empty() {
        return;
    }
    *out += "\n## Checks\n\n| check | answer |\n| --- | --- |\n";
    for (sql, answer) in &run.checks {
        let mut items = Vec::new();
        match answer {
            Ok(answer) => answer_items(sql, answer, false, &mut items),
            Err(error) => error_items(error, false, &mut items),
        }
        let answer: Vec<String> = items.iter().map(item).collect();
        *out += &row([statement(sql).join("<br>").as_str(), &answer.join("<br>")].into_iter());
    }
}

fn verdicts(result: &RunResult, out: &mut String) {
    if result.verdicts.is_empty() {
        return;
    }
    *out += "\n## Verdicts\n\n";
    for (oracle, verdict) in &result.verdicts {
        let Opinion { word, what, covers, because } = Opinion::of(result, oracle, verdict);
        let word = match verdict {
            Verdict::Violation { rank: Rank::Broken, .. } => "**violation**",
            Verdict::Violation { rank: Rank::Undocumented, .. } => "**violation** (undocumented)",
            _ => word,
        };
        let colon = if what.is_empty() { "" } else { ": " };
        let space = if covers.is_empty() { "" } else { " " };
        *out += &format!("- {}: {word}{colon}{}{space}{covers}\n", plain(oracle), plain(what));
        let cause = result.cause_of(oracle).map(|cause| format!("cause: {cause}"));
        let sentences = because.iter().chain(&cause);
        sentences.for_each(|sentence| *out += &format!("  - {}\n", plain(sentence)));
    }
    for disagreement in result.disagreements() {
        *out += &format!("\n{}.\n", plain(&disagreement_told(&disagreement)));
    }
}

fn opinions(result: &RunResult, out: &mut String) {
    if !result.observed.is_empty() {
        *out += "\n## Observed\n\n";
    }
    for observed in &result.observed {
        *out += &format!("- {}\n", plain(&observed_told(observed)));
        observed.because.iter().for_each(|sentence| *out += &format!("  - {}\n", plain(sentence)));
    }
    if !result.compared.remarks.is_empty() {
        *out += "\n## Compared with the case\n\n";
    }
    for remark in &result.compared.remarks {
        *out += &format!("- {}\n", plain(&remark_told(remark)));
    }
}
