//! What the probe says about a run: possible, or prevented, and how.

mod common;

use anchorite_claims::Anomaly;
use anchorite_judge::{How, ObserveError, observe};
use anchorite_model::{Case, Ending, ErrorClass, Outcome, Rows, Run};
use common::{block, change_answer, error, ints, quiet_run, set_outcome};

const TEXT: &str = "\
-- anomaly: P4
-- shows: step 3 returns (1, 10) and step 4 returns (1, 10)
-- shows: final t is (1, 12)
-- shows: committed t1, t2
/* setup */ CREATE TABLE t (id INT, v INT);
/* t1 */ BEGIN;
/* t2 */ BEGIN;
/* t1 */ SELECT * FROM t;
/* t2 */ SELECT * FROM t;
/* t1 */ UPDATE t SET v = 11;
/* t2 */ UPDATE t SET v = 12;
/* t1 */ COMMIT;
/* t2 */ COMMIT;
";

fn case() -> Case {
    Case::parse("P4", TEXT).expect("a valid case")
}

/// A run in which the update of t1 is lost.
fn lost_update() -> Run {
    let mut run = quiet_run(&case());
    for step in [3, 4] {
        change_answer(&mut run, step, |answer| answer.results[0].rows = ints(&[&[1, 10]]));
    }
    let rows = Rows { columns: Vec::new(), rows: ints(&[&[1, 12]]) };
    run.final_state = vec![("t".to_owned(), rows)];
    run
}

fn how(run: &Run) -> How {
    let observation = observe(&case(), run).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(observation.anomaly, Anomaly::P4);
    assert_eq!(observation.possible, observation.how == How::Shown, "{observation:?}");
    observation.how
}

#[test]
fn what_happened_is_possible_even_if_somebody_waited() {
    let mut run = lost_update();
    assert_eq!(how(&run), How::Shown);
    block(&mut run, 6, &[0]);
    assert_eq!(how(&run), How::Shown);
}

#[test]
fn a_deadlock_an_error_a_wait_and_a_snapshot_are_told_apart() {
    let mut snapshot = lost_update();
    change_answer(&mut snapshot, 4, |answer| answer.results[0].rows = ints(&[&[1, 11]]));
    assert_eq!(how(&snapshot), How::Snapshot);

    let mut wait = snapshot.clone();
    block(&mut wait, 4, &[0]);
    assert_eq!(how(&wait), How::Wait);

    let mut refused = wait.clone();
    set_outcome(&mut refused, 6, error(ErrorClass::Serialization, true));
    assert_eq!(how(&refused), How::Error);

    let mut deadlock = refused.clone();
    set_outcome(&mut deadlock, 5, error(ErrorClass::Deadlock, true));
    assert_eq!(how(&deadlock), How::Deadlock);
}

#[test]
fn a_wait_that_belongs_to_the_scene_prevents_nothing() {
    let text = TEXT.replacen("-- shows", "-- incidental-wait: step 6\n-- shows", 1);
    let case = Case::parse("P4", &text).expect("a valid case");
    let mut run = quiet_run(&case);
    block(&mut run, 6, &[0]);
    assert_eq!(observe(&case, &run).map(|seen| seen.how), Ok(How::Snapshot));
    block(&mut run, 5, &[1]);
    assert_eq!(observe(&case, &run).map(|seen| seen.how), Ok(How::Wait));

    let wrong = text.replace("step 6\n", "step 9\n");
    let error = observe(&Case::parse("P4", &wrong).expect("a case"), &run).expect_err("no step 9");
    assert!(error.to_string().contains("expected 'step N' with N up to 8"), "{error}");
}

#[test]
fn what_a_failed_transaction_is_told_afterwards_is_no_error_of_its_own() {
    let mut run = lost_update();
    set_outcome(&mut run, 4, error(ErrorClass::Serialization, true));
    set_outcome(&mut run, 6, error(ErrorClass::Other, true));
    assert_eq!(how(&run), How::Error);
}

#[test]
fn a_run_that_tested_nothing_is_not_called_prevented() {
    let mut unrelated = lost_update();
    set_outcome(&mut unrelated, 5, error(ErrorClass::Other, false));
    assert_eq!(how(&unrelated), How::Shown, "what happened is seen, whatever else failed");
    set_outcome(&mut unrelated, 3, error(ErrorClass::Other, false));
    let seen = observe(&case(), &unrelated);
    assert!(matches!(seen, Err(ObserveError::Unrelated { step: 3, .. })), "{seen:?}");

    let mut lost = lost_update();
    lost.ending = Ending::TargetLost("after step 3".to_owned());
    assert!(matches!(observe(&case(), &lost), Err(ObserveError::Lost { .. })));
}

#[test]
fn a_victim_that_is_told_that_it_committed_did_not() {
    let mut run = lost_update();
    set_outcome(&mut run, 5, error(ErrorClass::Deadlock, true));
    set_outcome(&mut run, 6, Outcome::Skipped { reason: "gone".to_owned() });
    assert_eq!(how(&run), How::Deadlock);
}

#[test]
fn a_case_must_say_what_it_is_about() {
    for key in ["anomaly", "shows"] {
        let text: String = TEXT
            .lines()
            .filter(|line| !line.starts_with(&format!("-- {key}:")))
            .map(|line| format!("{line}\n"))
            .collect();
        let error = observe(&Case::parse("x", &text).expect("a case"), &lost_update());
        let error = error.expect_err(key).to_string();
        assert_eq!(error, format!("case x: it has no '-- {key}:' line"));
    }
    let case = Case::parse("x", &TEXT.replace("P4", "P9")).expect("a case");
    let error = observe(&case, &lost_update()).expect_err("P9").to_string();
    assert!(error.starts_with("case x: -- anomaly: P9: unknown anomaly 'P9'"), "{error}");
}
