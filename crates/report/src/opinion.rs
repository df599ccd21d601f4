//! What is said about a run, in the words that all forms for people share: verdicts with what they cover, the classic
//! anomalies that the rows prove, and the comparison with the header of the case.

use anchorite_claims::Promise;
use anchorite_judge::{Agreement, Observed, Remark};
use anchorite_model::{Disagreement, Rank, Verdict};

use crate::RunResult;
use crate::escape::visible;
use crate::page::{INDENT, Page, section};
use crate::style::{Ink, Line};
use crate::wrap::{width, wrap};

/// How a verdict reads, and its sentences: `pass (writes; reads are not judged at this level)`.
pub(crate) struct Opinion<'a> {
    /// The word that readers look for: `pass`, `VIOLATION`, `allowed`, `undecided`.
    pub word: &'static str,
    /// What follows it: an anomaly, an exception or a reason; empty for a pass.
    pub what: &'a str,
    /// What the verdict covers, in parentheses; empty if it need not be said.
    pub covers: String,
    /// The sentences below.
    pub because: &'a [String],
}

impl<'a> Opinion<'a> {
    /// What an oracle says about a run.
    pub fn of(result: &RunResult, oracle: &str, verdict: &'a Verdict) -> Self {
        let covers = result.covered_by(oracle).map(|covers| format!("({})", covers.told()));
        let covers = covers.unwrap_or_default();
        match verdict {
            Verdict::Pass => Self { word: "pass", what: "", covers, because: &[] },
            // A violation covers what it shows.
            Verdict::Violation { anomaly, rank, because } => {
                let word = match rank {
                    Rank::Broken => "VIOLATION",
                    Rank::Undocumented => "VIOLATION (undocumented)",
                };
                Self { word, what: anomaly, covers: String::new(), because }
            }
            Verdict::Allowed { exception, because } => {
                Self { word: "allowed", what: exception, covers, because }
            }
            Verdict::Undecided { reason } => {
                Self { word: "undecided", what: reason, covers: String::new(), because: &[] }
            }
        }
    }
}

/// Two oracles that cannot both be right: what each says, and about what.
pub(crate) fn disagreement_told(disagreement: &Disagreement<'_>) -> String {
    let Disagreement { violation, pass } = disagreement;
    let what = match violation.verdict {
        Verdict::Violation { anomaly, .. } => anomaly.as_str(),
        Verdict::Allowed { exception, .. } => exception.as_str(),
        Verdict::Pass | Verdict::Undecided { .. } => "",
    };
    let covers = pass.covers.map_or("the same", |covers| covers.name());
    format!(
        "{} and {} disagree: {} says violation ({what}), and {} has looked at the same ({covers}) and found everything \
         as promised. One of them is wrong, or has a blind spot",
        violation.oracle, pass.oracle, violation.oracle, pass.oracle
    )
}

/// `P4 (lost update): possible at this level, as documented: https://…`
pub(crate) fn observed_told(observed: &Observed) -> String {
    let name = format!("{} ({})", observed.anomaly, observed.anomaly.explained());
    let url = observed.url.as_ref().map(|url| format!(": {url}")).unwrap_or_default();
    match observed.promise {
        Promise::Prevented => format!("{name}: CLAIMED AS PREVENTED at this level{url}"),
        Promise::Possible => format!("{name}: possible at this level, as documented{url}"),
        Promise::Unspecified => {
            format!("{name}: whether this level prevents it is not documented{url}")
        }
    }
}

/// `differs: expected final-state violation, got pass`; what is as expected says so itself.
pub(crate) fn remark_told(remark: &Remark) -> String {
    match remark.agreement {
        Agreement::AsExpected => remark.sentence.clone(),
        Agreement::Differs => format!("DIFFERS: {}", remark.sentence),
        Agreement::OtherVersion => format!("another release: {}", remark.sentence),
    }
}

impl Page {
    /// What the oracles say.
    pub fn verdicts(&self, result: &RunResult, out: &mut Vec<Line>) {
        if result.verdicts.is_empty() {
            return;
        }
        section("Verdicts", out);
        let widths = result.verdicts.iter().map(|(oracle, _)| width(&visible(oracle)));
        let widest = widths.max().unwrap_or(0);
        for (oracle, verdict) in &result.verdicts {
            let Opinion { word, what, covers, because } = Opinion::of(result, oracle, verdict);
            let ink = match verdict {
                Verdict::Pass => Ink::Good,
                Verdict::Violation { .. } => Ink::Bad,
                Verdict::Allowed { .. } => Ink::Plain,
                Verdict::Undecided { .. } => Ink::Warning,
            };
            let colon = if what.is_empty() { "" } else { ": " };
            let space = if covers.is_empty() { "" } else { " " };
            let told = format!("{word}{colon}{}{space}{covers}", visible(what));
            let oracle = visible(oracle);
            let gap = " ".repeat(widest - width(&oracle) + INDENT);
            self.indented(ink, &format!("{oracle}{gap}{told}"), out);
            self.sentences(because, out);
            let cause = result.cause_of(&oracle).map(|cause| format!("cause: {cause}"));
            self.sentences(cause.as_slice(), out);
        }
        for disagreement in result.disagreements() {
            let told = format!("{}.", disagreement_told(&disagreement));
            self.indented(Ink::Warning, &visible(&told), out);
        }
    }

    fn sentences(&self, because: &[String], out: &mut Vec<Line>) {
        for sentence in because {
            for piece in wrap(&visible(sentence), self.prose - 2 * INDENT, INDENT) {
                out.push(Line::of(Ink::Plain, piece).indented(2 * INDENT));
            }
        }
    }

    /// What the rows prove, and what the case says about it.
    pub fn opinions(&self, result: &RunResult, out: &mut Vec<Line>) {
        if !result.observed.is_empty() {
            section("Observed", out);
        }
        for observed in &result.observed {
            let is_prevented = observed.promise == Promise::Prevented;
            let ink = if is_prevented { Ink::Bad } else { Ink::Plain };
            self.indented(ink, &visible(&observed_told(observed)), out);
            self.sentences(&observed.because, out);
        }
        if !result.compared.remarks.is_empty() {
            section("Compared with the case", out);
        }
        for remark in &result.compared.remarks {
            let ink = match remark.agreement {
                Agreement::AsExpected => Ink::Good,
                Agreement::Differs => Ink::Bad,
                Agreement::OtherVersion => Ink::Warning,
            };
            self.indented(ink, &visible(&remark_told(remark)), out);
        }
    }
}
