//! Sessions that take one statement at a time, on SQLite: what is typed gives the run that the whole case gives.

use std::time::Duration;

use anchorite_drivers::{Schema, Target, open};
use anchorite_model::{Blocker, Case, Outcome, Run};
use anchorite_stage::{OneByOne, RunOptions, SessionState, run_case};

const PATIENCE: Duration = Duration::from_millis(300);

fn fresh() -> (Box<dyn Target>, Box<dyn Schema>) {
    let target = open("sqlite").expect("SQLite is built in");
    let schema = target.create_schema().expect("a schema");
    (target, schema)
}

fn outcomes(run: &Run) -> Vec<(usize, String)> {
    run.events.iter().map(|event| (event.n, format!("{:?}", event.outcome))).collect()
}

#[test]
fn typed_one_by_one_a_case_gives_the_same_run() {
    let text = "/* setup */ CREATE TABLE t (a INT);\n/* setup */ INSERT INTO t VALUES (1);\n\
        /* t1 */ BEGIN IMMEDIATE;\n/* t2 */ BEGIN IMMEDIATE;\n/* t2 */ SELECT a FROM t;\n\
        /* t1 */ UPDATE t SET a = 2;\n/* t1 */ COMMIT;\n/* t2 */ COMMIT;\n";
    let case = Case::parse("x", text).expect("a valid case");
    let (target, schema) = fresh();
    let options = RunOptions::default();
    let whole = run_case(target.as_ref(), &case, &options).expect("a run");
    let names = case.sessions.clone();
    let mut live = OneByOne::open(target.info(), schema.as_ref(), &names, &options, Some(PATIENCE))
        .expect("two sessions");
    for statement in &case.setup {
        live.set_up(&statement.sql).expect("it can be asked").expect("it is accepted");
    }
    for step in &case.steps {
        let is_free = live.outstanding(step.session).is_none();
        let was_sent = live.submit(step.session, &step.statement.sql).expect("it can be asked");
        assert_eq!(was_sent, is_free, "{}", step.statement.sql);
    }
    assert_eq!(outcomes(live.run()), outcomes(&whole));
    assert_eq!(live.run().case.to_text(), case.to_text());
}

#[test]
fn who_waits_is_asked_and_a_wait_can_be_cancelled() {
    let (target, schema) = fresh();
    let options = RunOptions::default();
    let names = ["t1".to_owned()];
    let mut live = OneByOne::open(target.info(), schema.as_ref(), &names, &options, Some(PATIENCE))
        .expect("a session");
    assert_eq!(live.add("t2").expect("another one"), 1);
    live.submit(0, "BEGIN IMMEDIATE").expect("it can be asked");
    live.submit(1, "BEGIN IMMEDIATE").expect("it can be asked");
    assert_eq!(live.state(0), SessionState::InTransaction);
    assert_eq!(live.state(1), SessionState::Blocked);
    let waits = live.waits().expect("SQLite can be asked");
    assert_eq!(waits.len(), 1);
    assert_eq!((waits[0].session, waits[0].by.as_slice()), (1, &[Blocker::Session(0)][..]));
    assert!(live.cancel(1).expect("it can be asked"));
    assert!(!live.cancel(1).expect("it can be asked"), "nothing is left to cancel");
    assert_eq!(live.state(1), SessionState::Idle);
    let last = live.run().events.last().expect("an event");
    assert!(matches!(last.outcome, Outcome::Error(_)), "{last:?}");
    assert!(!live.is_waiting() && !live.is_lost());
}

#[test]
fn what_runs_for_long_is_left_running() {
    let (target, schema) = fresh();
    let options = RunOptions::default();
    let names = ["t1".to_owned(), "t2".to_owned()];
    let mut live = OneByOne::open(target.info(), schema.as_ref(), &names, &options, Some(PATIENCE))
        .expect("two sessions");
    let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    live.submit(0, endless).expect("it can be asked");
    assert_eq!(live.state(0), SessionState::Running);
    live.submit(1, "SELECT 2").expect("it can be asked");
    let answered = |live: &OneByOne<'_>| live.run().events.iter().map(|e| e.n).collect::<Vec<_>>();
    assert_eq!((answered(&live), live.state(1)), (vec![2], SessionState::Idle));
    assert!(live.cancel(0).expect("it can be asked"));
    assert_eq!(answered(&live), [2, 1]);
}
