//! The findings of a folder as a list for a terminal.

use anchorite_model::{Finding, HuntSummary};

use crate::TextOptions;
use crate::escape::visible;
use crate::finding::{anomaly_told as anomaly, in_brief, rate, replay, seen_by, title};
use crate::hunt_summary::{Found, capital, place_told, told_in_sentences};
use crate::opinion::disagreement_told;
use crate::page::{INDENT, Page, paint, prose};
use crate::result::counted;
use crate::style::{Ink, Line};

/// The list: each finding with the file that it was read from. `waiting` is the number of suspects in the folder.
pub fn overview(
    summary: Option<&HuntSummary>,
    findings: &[(&Finding, &str)],
    waiting: u64,
    options: &TextOptions,
) -> String {
    let page = Page::new(options);
    let all: Vec<&Finding> = findings.iter().map(|(finding, _)| *finding).collect();
    let heading = capital(&Found::among(&all, waiting).told());
    let mut out = vec![Line::of(Ink::Title, heading)];
    if let Some(summary) = summary {
        let told = summary.places.iter().map(place_told);
        for sentence in told.chain(told_in_sentences(summary)) {
            page.indented(Ink::Plain, &visible(&sentence), &mut out);
        }
    }
    for (number, (finding, file)) in findings.iter().enumerate() {
        out.push(Line::default());
        let heading = format!("{}. {}", number + 1, title(finding));
        let ink =
            if finding.known.is_some() && !finding.unreported { Ink::Warning } else { Ink::Bad };
        out.extend(prose(ink, &visible(&heading), page.prose));
        let mut below = |ink, text: &str| {
            let lines = prose(ink, &visible(text), page.prose - 2 * INDENT);
            out.extend(lines.iter().map(|line| line.indented(2 * INDENT)));
        };
        let property = anomaly(&finding.signature);
        below(Ink::Plain, &format!("{property}, found by the {}", seen_by(finding)));
        for disagreement in finding.disagreements() {
            below(Ink::Warning, &format!("{}.", disagreement_told(&disagreement)));
        }
        match &finding.known {
            Some(known) if finding.unreported => {
                below(Ink::Plain, &format!("found before as {known}, and in no tracker"));
            }
            Some(known) => below(Ink::Plain, &format!("known issue: {known}")),
            None => {}
        }
        if let Some(cause) = &finding.cause {
            below(Ink::Plain, &format!("cause: {cause}"));
        }
        for sentence in in_brief(finding) {
            below(Ink::Plain, sentence);
        }
        let statements = counted(finding.run.case.steps.len(), "statement", "statements");
        below(Ink::Faint, &format!("{statements}; {}", rate(finding)));
        below(Ink::Faint, &format!("{file} (try: {})", replay(finding)));
    }
    paint(&out, options.style)
}
