//! What is counted follows `--strict`: then nothing is allowed.

use anchorite_drivers::open;
use anchorite_hunt::{Examined, Tally};
use anchorite_model::{Case, Judgement, Verdict};
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
    let judgement = Judgement { oracle: "final-state".to_owned(), verdict, expected: Vec::new() };
    let tried = Examined { run, judgements: vec![judgement], signature: None };
    let (mut usual, mut strict) = (Tally::default(), Tally::default());
    usual.count(&tried, false);
    strict.count(&tried, true);
    assert_eq!((usual.verdicts.allowed, usual.verdicts.violation), (1, 0));
    assert_eq!(usual.exceptions["no-gap-locks"], 1);
    assert_eq!((strict.verdicts.allowed, strict.verdicts.violation), (0, 1));
    assert!(strict.exceptions.is_empty(), "{:?}", strict.exceptions);
}
