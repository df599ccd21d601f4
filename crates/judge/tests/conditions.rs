//! The language of conditions: what it accepts, what it refuses, and when a condition is true.

mod common;

use anchorite_judge::{Condition, ConditionError};
use anchorite_model::{Answer, Blocker, Case, ErrorClass, Event, Outcome, Rows, Run, Value};
use common::{block, change_answer, error, ints, quiet_run, set_outcome};

const TEXT: &str = "\
/* setup */ CREATE TABLE t (id INT, v INT);
/* t1 */ BEGIN;
/* t2 */ BEGIN;
/* t1 */ UPDATE t SET v = 1;
/* t2 */ SELECT * FROM t;
/* t1 */ COMMIT;
/* t2 */ COMMIT;
";

fn case() -> Case {
    Case::parse("example", TEXT).expect("a valid case")
}

fn holds(run: &Run, text: &str) -> bool {
    text.parse::<Condition>().unwrap_or_else(|error| panic!("{error}")).is_true_of(run)
}

#[test]
fn a_condition_is_printed_as_it_is_read() {
    for text in [
        "step 4 returns (1, 10), (2, NULL)",
        "step 4 returns nothing and step 4 contains ('it''s', true) and step 4 lacks (-1)",
        "step 3 affects 0 or step 3 succeeds or step 3 skipped",
        "step 3 fails or step 3 fails lock-timeout or any step fails or any step fails deadlock",
        "step 3 blocked and step 4 blocked by t1, t2 and step 5 not blocked",
        "final t is (1, 12) or final t is empty or final t contains (1) or final t lacks (2, 3)",
        "committed t1, t2 and rolled back t3",
    ] {
        let condition: Condition = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(condition.to_string(), text);
    }
    let loud: Condition = "STEP 4 Returns ( 1,10 )AND Committed t1".parse().expect("keywords");
    assert_eq!(loud.to_string(), "step 4 returns (1, 10) and committed t1");
}

#[test]
fn a_mistake_is_reported_with_its_column() {
    for (text, column, expected, found) in [
        ("", 1, "'step'", "the end of the line"),
        ("stpe 4 fails", 1, "'step'", "'stpe'"),
        ("step four fails", 6, "a step's number", "'four'"),
        ("step -1 fails", 6, "a step's number", "-1"),
        ("step 4 return (1)", 8, "'returns'", "'return'"),
        ("step 4 returns 1", 16, "a row such as (1, 10)", "1"),
        ("step 4 returns (1", 18, "',' or ')'", "the end of the line"),
        ("step 4 returns (1.5)", 18, "a word, a number or a row", "'.'"),
        ("step 4 returns ()", 17, "an integer, a 'text', NULL", "')'"),
        ("step 4 returns ('x)", 17, "a closing '", "none"),
        ("step 4 fails badly", 14, "an error class (deadlock,", "'badly'"),
        ("step 4 fails, 5", 13, "'and', 'or' or the end", "','"),
        ("final t (1)", 9, "'is', 'contains' or 'lacks'", "'('"),
        ("committed", 10, "a session's name", "the end of the line"),
        ("rolled t1", 8, "'back'", "'t1'"),
        ("step 4 not failed", 12, "'blocked'", "'failed'"),
    ] {
        let error = text.parse::<Condition>().expect_err(text);
        let ConditionError::Syntax { column: at, expected: wanted, found: seen, .. } = error else {
            panic!("{text}: {error}")
        };
        assert_eq!((at, seen.as_str()), (column, found), "{text}");
        assert!(wanted.starts_with(expected), "{text}: {wanted}");
    }
}

#[test]
fn a_condition_must_fit_its_case() {
    for (text, reason) in [
        ("step 7 fails", "there is no step 7: the case has 6"),
        ("step 0 fails", "there is no step 0"),
        ("step 3 returns (1)", "step 3 is 'UPDATE t SET v = 1', which does not fit 'returns (1)'"),
        ("step 4 affects 1", "step 4 is 'SELECT * FROM t', which does not fit 'affects 1'"),
        ("step 4 blocked by t9", "there is no session 't9'"),
        ("committed t1, t9", "there is no session 't9'"),
        ("final u is empty", "the set-up does not mention a table 'u'"),
    ] {
        let case = Case::parse("example", &format!("-- shows: {text}\n{TEXT}")).expect("a case");
        let error = anchorite_judge::shows(&case).expect_err(text).to_string();
        let expected = format!("case example: -- shows: {text}: {reason}");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn rows_are_compared_as_multisets() {
    let mut run = quiet_run(&case());
    let rows = ints(&[&[2, 20], &[1, 10], &[1, 10]]);
    change_answer(&mut run, 4, |answer| answer.results[0].rows = rows);
    assert!(holds(&run, "step 4 returns (1, 10), (2, 20), (1, 10)"));
    assert!(!holds(&run, "step 4 returns (1, 10), (2, 20)"));
    assert!(!holds(&run, "step 4 returns (1, 10), (2, 20), (2, 20)"));
    assert!(holds(&run, "step 4 contains (1, 10), (1, 10)"));
    assert!(!holds(&run, "step 4 contains (2, 20), (2, 20)"));
    assert!(holds(&run, "step 4 lacks (1, 11), (2, 10)"));
    assert!(!holds(&run, "step 4 lacks (1, 11), (2, 20)"));
    assert!(!holds(&run, "step 4 returns nothing"));
    assert!(!holds(&run, "step 4 contains ('1', '10')"), "types count");
}

#[test]
fn null_equals_null_and_nothing_else() {
    let mut run = quiet_run(&case());
    let row = vec![Value::Null, Value::Text("a".to_owned()), Value::Bool(true)];
    change_answer(&mut run, 4, |answer| answer.results[0].rows = vec![row]);
    assert!(holds(&run, "step 4 returns (NULL, 'a', true)"));
    assert!(!holds(&run, "step 4 returns (0, 'a', true)"));
}

#[test]
fn a_step_without_an_answer_satisfies_nothing_about_rows() {
    let mut run = quiet_run(&case());
    change_answer(&mut run, 4, |answer| answer.results[0].rows.clear());
    assert!(holds(&run, "step 4 returns nothing and step 4 succeeds"));
    set_outcome(&mut run, 4, error(ErrorClass::Serialization, true));
    assert!(!holds(&run, "step 4 returns nothing or step 4 lacks (1) or step 4 succeeds"));
    assert!(holds(&run, "step 4 fails and step 4 fails serialization and any step fails"));
    assert!(!holds(&run, "step 4 fails deadlock or any step fails deadlock"));
    set_outcome(&mut run, 4, Outcome::Skipped { reason: "gone".to_owned() });
    assert!(!holds(&run, "step 4 returns nothing or step 4 not blocked or step 4 fails"));
    assert!(holds(&run, "step 4 skipped"));
    run.events.retain(|event| event.n != 4);
    assert!(!holds(&run, "step 4 returns nothing or step 4 not blocked or step 4 skipped"));
}

#[test]
fn a_wait_is_known_by_its_blockers() {
    let mut run = quiet_run(&case());
    assert!(holds(&run, "step 4 not blocked"));
    block(&mut run, 4, &[0]);
    assert!(holds(&run, "step 4 blocked and step 4 blocked by t1 and step 4 blocked by t1, t2"));
    assert!(!holds(&run, "step 4 blocked by t2 or step 4 not blocked or step 3 blocked"));
    block(&mut run, 3, &[]);
    assert!(holds(&run, "step 3 blocked by t2"), "the server does not say who blocks");
    let outside = Outcome::Blocked { by: vec![Blocker::Outside("7".into())], wait: String::new() };
    let blocked = Event { outcome: outside, ..run.events[0].clone() };
    run.events.insert(0, blocked);
    assert!(holds(&run, "step 1 blocked") && !holds(&run, "step 1 blocked by t2"));
}

#[test]
fn the_final_state_is_what_a_fresh_session_read() {
    let mut run = quiet_run(&case());
    assert!(!holds(&run, "final t is empty"), "a table that was not read says nothing");
    run.final_state = vec![("t".to_owned(), Rows::default())];
    assert!(holds(&run, "final t is empty"));
    run.final_state[0].1.rows = ints(&[&[1, 10], &[2, 20]]);
    assert!(holds(&run, "final t is (2, 20), (1, 10) and final T contains (1, 10)"));
    assert!(holds(&run, "final t lacks (3, 30)"));
}

fn tagged(tag: &str) -> Outcome {
    Outcome::Ok(Answer { tag: Some(tag.to_owned()), ..Answer::default() })
}

#[test]
fn a_commit_that_was_answered_is_no_proof() {
    let fresh = || quiet_run(&case());
    assert!(holds(&fresh(), "committed t1, t2"));
    assert!(!holds(&fresh(), "rolled back t1 or rolled back t2"));

    let mut postgres = fresh();
    set_outcome(&mut postgres, 5, tagged("ROLLBACK"));
    set_outcome(&mut postgres, 6, tagged("COMMIT"));
    assert!(holds(&postgres, "rolled back t1 and committed t2"));

    let mut victim = fresh();
    set_outcome(&mut victim, 3, error(ErrorClass::Deadlock, true));
    assert!(holds(&victim, "rolled back t1"));

    let mut timeout = fresh();
    set_outcome(&mut timeout, 3, error(ErrorClass::LockTimeout, false));
    assert!(holds(&timeout, "committed t1"), "only the statement was rolled back");

    let mut refused = fresh();
    set_outcome(&mut refused, 5, error(ErrorClass::Conflict, true));
    assert!(holds(&refused, "rolled back t1"));

    let mut never = fresh();
    never.events.retain(|event| event.n != 5);
    block(&mut never, 3, &[1]);
    assert!(holds(&never, "rolled back t1"), "what is open at the end is rolled back");
}

#[test]
fn savepoints_chains_and_single_statements_are_followed() {
    let text = "\
/* setup */ CREATE TABLE t (id INT);
/* a */ INSERT INTO t VALUES (1);
/* b */ BEGIN;
/* b */ SAVEPOINT s;
/* b */ INSERT INTO t VALUES (1);
/* b */ ROLLBACK TO SAVEPOINT s;
/* b */ COMMIT;
/* c */ START TRANSACTION;
/* c */ COMMIT AND CHAIN;
/* c */ INSERT INTO t VALUES (2);
";
    let mut run = quiet_run(&Case::parse("example", text).expect("a case"));
    assert!(holds(&run, "committed a, b"));
    assert!(!holds(&run, "committed c") && !holds(&run, "rolled back c"), "one of each");
    set_outcome(&mut run, 4, error(ErrorClass::Constraint, true));
    assert!(holds(&run, "committed b"), "the savepoint brings a failed transaction back");
    set_outcome(&mut run, 1, error(ErrorClass::Constraint, true));
    assert!(holds(&run, "rolled back a"));
}
