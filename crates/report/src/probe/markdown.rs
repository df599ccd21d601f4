//! The table as Markdown for pasting.
//!
//! Idea: words instead of marks, because there is room: each cell says what was observed and, below, what is claimed.
//! The variants follow with a line each. Assumption: names, reasons and the server's words are untrusted and are
//! escaped.

use anchorite_claims::Anomaly;

use super::sheet::Sheet;
use super::words::{Tone, anomalies, blocking, claimed, level_told, observed, summary};
use super::{CaseProbe, LevelProbe, Probe};
use crate::markup::{code, link, plain, row};
use crate::result::blocking_label;

/// The probes as Markdown.
pub fn markdown(probes: &[Probe]) -> String {
    let reports: Vec<String> = probes.iter().map(|probe| report(&Sheet::of(probe))).collect();
    reports.join("\n---\n\n")
}

fn report(sheet: &Sheet<'_>) -> String {
    let mut out = format!("# Anomalies on {}\n\n", plain(&sheet.probe.target.to_string()));
    out += &format!("{}.\n\n", plain(&summary(sheet.probe)));
    facts(sheet, &mut out);
    out.push('\n');
    main_table(sheet, &mut out);
    out += &format!("\n{}.\n", plain(&anomalies()));
    contradictions(sheet, &mut out);
    variants(sheet, &mut out);
    not_run(sheet, &mut out);
    sources(sheet, &mut out);
    out
}

fn facts(sheet: &Sheet<'_>, out: &mut String) {
    for level in &sheet.probe.levels {
        *out += &format!("- {}: {}\n", level.name(), plain(&level_told(level)));
    }
    for blocking in blocking(sheet.probe) {
        *out += &format!("- Blocking: {}\n", plain(&blocking_label(blocking)));
    }
}

fn main_table(sheet: &Sheet<'_>, out: &mut String) {
    let names = Anomaly::ALL.map(Anomaly::name);
    *out += &row(["level"].into_iter().chain(names));
    *out += &row(std::iter::repeat_n("---", names.len() + 1));
    for level in &sheet.probe.levels {
        let cell = |name: &&str| cell(sheet, level, name);
        let cells: Vec<String> = [head(level)].into_iter().chain(names.iter().map(cell)).collect();
        *out += &row(cells.iter().map(String::as_str));
    }
}

fn variants(sheet: &Sheet<'_>, out: &mut String) {
    if sheet.variants.is_empty() {
        return;
    }
    *out += "\n## Variants of the same anomalies\n\n";
    let heads: Vec<String> = sheet.probe.levels.iter().map(head).collect();
    *out += &row(["case"].into_iter().chain(heads.iter().map(String::as_str)));
    *out += &row(std::iter::repeat_n("---", heads.len() + 1));
    for name in &sheet.variants {
        let levels = sheet.probe.levels.iter();
        let cells: Vec<String> =
            [plain(name)].into_iter().chain(levels.map(|level| cell(sheet, level, name))).collect();
        *out += &row(cells.iter().map(String::as_str));
    }
}

fn head(level: &LevelProbe) -> String {
    format!("{}{}", level.name(), if level.is_default { " (default)" } else { "" })
}

fn cell(sheet: &Sheet<'_>, level: &LevelProbe, name: &str) -> String {
    let Some(case) = level.case(name) else { return String::new() };
    let seen = match Tone::of(case) {
        Tone::Prevented => format!("prevented ({})", observed(case)),
        Tone::Possible | Tone::NotRun => observed(case).to_owned(),
        Tone::Contradiction => "**POSSIBLE**".to_owned(),
    };
    format!("{seen}<br>{}", claim(sheet, case))
}

fn claim(sheet: &Sheet<'_>, case: &CaseProbe) -> String {
    let claimed = claimed(case.documented.promise);
    let reference = plain(&sheet.reference(case));
    let sentence = format!("claimed: {claimed} {reference}");
    if case.contradicts() { format!("**{}**", sentence.trim_end()) } else { sentence }
}

fn contradictions(sheet: &Sheet<'_>, out: &mut String) {
    for (i, (level, case)) in sheet.probe.contradictions().enumerate() {
        if i == 0 {
            *out += "\n## Contradictions: claimed as prevented, and observed\n\n";
        }
        *out +=
            &format!("- **{} at {}**: {}\n", plain(&case.name), level.name(), plain(&case.title));
        if let Some(claim) = case.documented.claim {
            let reference = plain(&sheet.reference(case));
            *out += &format!("  - claimed {reference}: {}\n", plain(&claim.says));
        }
        if let Ok(seen) = &case.outcome {
            *out += &format!("  - observed: {}\n", code(&seen.because));
        }
    }
}

fn not_run(sheet: &Sheet<'_>, out: &mut String) {
    for (i, (level, case, reason)) in sheet.not_run().enumerate() {
        if i == 0 {
            *out += "\n## Not run\n\n";
        }
        *out += &format!("- {} at {level}: {}\n", plain(&case.name), plain(reason));
    }
}

fn sources(sheet: &Sheet<'_>, out: &mut String) {
    if sheet.sources.is_empty() {
        return;
    }
    *out += "\n## What is claimed, and where\n\n";
    for source in &sheet.sources {
        *out += &format!("- {}\n", link(source.url));
        for (number, says) in &source.claims {
            *out += &format!("  - {} {}\n", plain(&format!("[{number}]")), plain(says));
        }
    }
}
