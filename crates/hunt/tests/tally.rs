//! What is counted: by oracle, with their disagreements; with `--strict` nothing is allowed.

use anchorite_drivers::open;
use anchorite_hunt::{Examined, Tally};
use anchorite_model::{Case, Covers, HuntSummary, Judgement, Verdict, VerdictCounts};
use anchorite_stage::{RunOptions, run_case};

#[test]
fn a_strict_hunt_counts_documented_exceptions_as_violations() {
    let target = open("sqlite").expect("SQLite is built in");
    let case = Case::parse("x", "/* t1 */ SELECT 1;").expect("a case");
    let run = run_case(target.as_ref(), &case, &RunOptions::default()).expect("it runs");
    let verdict = Verdict::Allowed {
        exception: "no-gap-locks".to_owned(),
        because: vec!["the manual says so".to_owned()],
    };
    let judgement = Judgement::new("final-state", verdict);
    let judgements = vec![judgement];
    let tried = Examined { run, judgements, covers: Vec::new(), signatures: Vec::new() };
    let (mut usual, mut strict) = (Tally::default(), Tally::default());
    usual.count(&tried, false);
    strict.count(&tried, true);
    assert_eq!((usual.verdicts.allowed, usual.verdicts.violation), (1, 0));
    assert_eq!(usual.exceptions["no-gap-locks"], 1);
    assert_eq!((strict.verdicts.allowed, strict.verdicts.violation), (0, 1));
    assert!(strict.exceptions.is_empty(), "{:?}", strict.exceptions);
}

fn said(oracle: &str, verdict: Verdict) -> Judgement {
    Judgement::new(oracle, verdict)
}

#[test]
fn each_oracle_is_counted_and_so_are_disagreements() {
    let target = open("sqlite").expect("SQLite is built in");
    let case = Case::parse("x", "/* t1 */ SELECT 1;").expect("a case");
    let run = run_case(target.as_ref(), &case, &RunOptions::default()).expect("it runs");
    let violation = Verdict::broken("P4", Vec::new());
    let mut tried = Examined {
        run,
        judgements: vec![
            said("final-state", Verdict::Pass),
            said("damage", Verdict::Pass),
            said("differential", violation),
        ],
        covers: vec![
            ("final-state".to_owned(), Covers::WritesAndReads),
            ("differential".to_owned(), Covers::Writes),
        ],
        signatures: Vec::new(),
    };
    let mut tally = Tally::default();
    tally.count(&tried, false);
    tried.covers[1].0 = "damage".to_owned();
    tally.count(&tried, false);
    let counts = |pass, violation| VerdictCounts { pass, violation, ..VerdictCounts::default() };
    assert_eq!(tally.verdicts, counts(0, 2), "a case counts once, by its worst verdict");
    assert_eq!(tally.by_oracle["final-state"], counts(2, 0));
    assert_eq!(tally.by_oracle["differential"], counts(0, 2));
    assert_eq!(tally.disagreements, 1, "the second time they look at different things");
    let mut summary = HuntSummary::default();
    tally.fill(&mut summary);
    assert_eq!((&summary.by_oracle, summary.disagreements), (&tally.by_oracle, 1));
}

#[test]
fn what_is_documented_nowhere_is_counted_apart() {
    let mut counts = VerdictCounts::default();
    counts.count(&Verdict::broken("P4", Vec::new()));
    counts.count(&Verdict::undocumented("dirty-look", Vec::new()));
    let mut twice = counts;
    twice.add(&counts);
    assert_eq!((counts.violation, counts.undocumented, counts.total()), (2, 1, 2));
    assert_eq!((twice.violation, twice.undocumented), (4, 2));
}

#[test]
fn lines_of_the_last_release_count_for_the_oracle_that_it_had() {
    let old = r#"{"cases":41,"verdicts":{"pass":39,"violation":0,"allowed":1,"undecided":1}}"#;
    let old: Tally = serde_json::from_str(old).expect("a line");
    let said = VerdictCounts { pass: 1, violation: 1, ..VerdictCounts::default() };
    let by_oracle = [("damage".to_owned(), said), ("final-state".to_owned(), said)];
    let new = Tally { verdicts: said, by_oracle: by_oracle.into(), ..Tally::default() };
    let mut sum = Tally::default();
    [&old, &new, &old].into_iter().for_each(|line| sum.add(line));
    assert_eq!(sum.verdicts.total(), 84);
    assert_eq!(sum.by_oracle["final-state"].total(), 84);
    assert_eq!(sum.by_oracle["damage"], said);
    let again: Tally =
        serde_json::from_value(serde_json::to_value(&sum).expect("data")).expect("it");
    assert_eq!(again, sum);
}
