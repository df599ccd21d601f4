//! The findings of a folder as a list for a terminal.

use anchorite_model::{Finding, HuntSummary};

use super::words::{because, deciding, rate, replay, title};
use crate::TextOptions;
use crate::escape::visible;
use crate::hunt;
use crate::result::counted;
use crate::style::{Ink, Line};
use crate::text::{INDENT, Page, paint, prose};

/// The list: each finding with the file that it was read from.
pub fn overview(
    summary: Option<&HuntSummary>,
    findings: &[(&Finding, &str)],
    options: &TextOptions,
) -> String {
    let page = Page::new(options);
    let mut out = vec![Line::of(Ink::Title, counted(findings.len(), "finding", "findings"))];
    if let Some(summary) = summary {
        let told = summary.places.iter().map(hunt::place_told);
        for sentence in told.chain(hunt::told_in_sentences(summary)) {
            page.indented(Ink::Plain, &visible(&sentence), &mut out);
        }
    }
    for (number, (finding, file)) in findings.iter().enumerate() {
        out.push(Line::default());
        let heading = format!("{}. {}", number + 1, title(finding));
        out.extend(prose(Ink::Bad, &visible(&heading), page.prose));
        let mut below = |ink, text: &str| {
            let lines = prose(ink, &visible(text), page.prose - 2 * INDENT);
            out.extend(lines.iter().map(|line| line.indented(2 * INDENT)));
        };
        if let Some(known) = &finding.known {
            below(Ink::Plain, &format!("known issue: {known}"));
        }
        for sentence in deciding(finding).map_or(&[][..], |judgement| because(&judgement.verdict)) {
            below(Ink::Plain, sentence);
        }
        let statements = counted(finding.run.case.steps.len(), "statement", "statements");
        below(Ink::Faint, &format!("{statements}; {}", rate(finding)));
        below(Ink::Faint, &format!("{file} (try: {})", replay(finding)));
    }
    paint(&out, options.style)
}
