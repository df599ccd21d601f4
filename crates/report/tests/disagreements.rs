//! Two oracles of different opinions: every form shows both, with their reasons.

mod samples;

use anchorite_model::{Covers, Finding, Judgement, Verdict};
use anchorite_report::{Glyphs, RunResult, Style, TextOptions, finding, hunt, markdown, text};
use samples::finding::missed_row;

const OPTIONS: TextOptions =
    TextOptions { width: 100, style: Style::Plain, glyphs: Glyphs::Unicode };

/// final-state says violation; the other one passes the run, having looked at this.
fn disputed(covers: Option<Covers>) -> Finding {
    let mut finding = missed_row();
    finding.judgements[1] = Judgement::new("differential", Verdict::Pass);
    finding.covers = vec![("final-state".to_owned(), Covers::Writes)];
    finding.covers.extend(covers.map(|covers| ("differential".to_owned(), covers)));
    finding
}

/// The same run as `run` shows it.
fn result(finding: &Finding) -> RunResult {
    let verdicts =
        finding.judgements.iter().map(|said| (said.oracle.clone(), said.verdict.clone()));
    let (verdicts, covers) = (verdicts.collect(), finding.covers.clone());
    RunResult { verdicts, covers, ..finding.run.clone().into() }
}

/// All forms, with the line breaks of the text gone.
fn forms(finding: &Finding) -> [String; 5] {
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let result = result(finding);
    [
        finding::markdown(finding, "0.1.0"),
        finding::page_of_one(finding, "0.1.0"),
        hunt::overview(None, &[(finding, "f.json")], 0, &OPTIONS),
        text(std::slice::from_ref(&result), &OPTIONS),
        markdown(&[result], &anchorite_model::Case::to_text),
    ]
    .map(one_line)
}

#[test]
fn every_form_shows_both_opinions_with_their_reasons() {
    for form in forms(&disputed(Some(Covers::WritesAndReads))) {
        for part in [
            "final-state and differential disagree: final-state says violation (write-serializability",
            "differential has looked at the same (writes and reads) and found everything as promised",
            // Why final-state says so.
            "affected 0, but must change (3, 5)",
        ] {
            assert!(form.replace('\\', "").contains(part), "{part}\n{form}");
        }
    }
}

#[test]
fn an_oracle_that_looks_at_something_else_does_not_disagree() {
    for form in forms(&disputed(None)) {
        assert!(!form.contains("disagree"), "{form}");
    }
}

#[test]
fn witnesses_are_named() {
    let mut finding = missed_row();
    assert_eq!(finding.seen_by(), ["final-state"], "a file of an earlier release names none");
    let mut other = missed_row();
    other.fingerprint = "another".to_owned();
    other.signature.oracle = "differential".to_owned();
    assert_eq!(finding.add_witnesses(&other), ["differential"]);
    assert!(finding.add_witnesses(&other).is_empty());
    let [report, page, overview, ..] = forms(&finding);
    assert!(report.contains("(final-state and differential oracles)"), "{report}");
    for form in [page, overview] {
        assert!(form.contains("found by the final-state and differential oracles"), "{form}");
    }
}
