//! Runs made by hand that together cover every outcome and every kind of value.
//!
//! They follow what the servers were measured to do, so that the snapshots read like real reports.
#![allow(dead_code, reason = "each test program uses some of the samples")]

pub mod build;
pub mod finding;
pub mod hostile;
pub mod shapes;

use anchorite_claims::{Anomaly, Promise};
use anchorite_judge::{Agreement, Comparison, Observed, Remark};
use anchorite_model::{
    Blocker, BlockingKnowledge, Covers, Ending, ErrorClass, Level, Product, Run, Value, Verdict,
};
use anchorite_report::{RunFailure, RunResult};

use build::{affected, error, in_order, lines, notice, ok, returned, rows, run, tagged, text};

pub fn asked_innodb() -> BlockingKnowledge {
    BlockingKnowledge::Asked("SHOW ENGINE INNODB STATUS".to_owned())
}

/// MariaDB at repeatable read: a lost update, with a wait.
pub fn lost_update() -> Run {
    let mut run = run("lost-update", Product::named("mariadb"), "10.11.19-MariaDB", &["t1", "t2"]);
    run.case.header.title = Some("both sessions add to the balance that they read".to_owned());
    run.level = Some(Level::RepeatableRead);
    run.sessions.iter_mut().for_each(|s| {
        s.level = Some(Level::RepeatableRead);
        s.level_read_back = "REPEATABLE-READ".to_owned();
    });
    run.blocking = asked_innodb();
    let balance = || rows(&["id", "balance"], vec![vec![Value::Int(1), Value::Int(100)]]);
    in_order(
        &mut run,
        vec![
            (1, 0, "BEGIN", ok()),
            (2, 0, "SELECT id, balance FROM account WHERE id = 1", returned(vec![balance()])),
            (3, 1, "BEGIN", ok()),
            (4, 1, "SELECT id, balance FROM account WHERE id = 1", returned(vec![balance()])),
            (5, 0, "UPDATE account SET balance = 110 WHERE id = 1", affected(1)),
            (
                6,
                1,
                "UPDATE account SET balance = 120 WHERE id = 1",
                build::blocked(&[0], "row lock"),
            ),
            (7, 0, "COMMIT", ok()),
            (6, 1, "UPDATE account SET balance = 120 WHERE id = 1", build::resumed(affected(1))),
            (8, 1, "COMMIT", ok()),
        ],
    );
    run.final_state = vec![(
        "account".to_owned(),
        rows(&["id", "balance"], vec![vec![Value::Int(1), Value::Int(120)]]),
    )];
    run
}

/// A case that could not be run.
pub fn not_run() -> RunFailure {
    let Run { target, level, .. } = lost_update();
    RunFailure { case: "no-table".to_owned(), target, level, message: "set-up failed".to_owned() }
}

/// Runs of a regression: as announced, on another release, not as measured, and new.
pub fn regression() -> [RunResult; 4] {
    let named = |name: &str, verdict: Verdict, remarks: &[(Agreement, &str)]| {
        let mut result = RunResult::from(lost_update());
        name.clone_into(&mut result.run.case.name);
        let is_violation = matches!(verdict, Verdict::Violation { .. });
        result.verdicts = vec![("final-state".to_owned(), verdict)];
        result.covers = vec![("final-state".to_owned(), Covers::Writes)];
        let remark = |(agreement, sentence): &(Agreement, &str)| Remark {
            agreement: *agreement,
            sentence: (*sentence).to_owned(),
        };
        let announced = is_violation && !remarks.is_empty();
        result.compared = Comparison { remarks: remarks.iter().map(remark).collect(), announced };
        result
    };
    let violation = || Verdict::broken("lost update", Vec::new());
    let shows = [(Agreement::AsExpected, "shows, as measured on 15.18")];
    let other = "measured on 15.18: shows; here on 15.20: does not";
    let gone = [
        (Agreement::Differs, "measured on 15.18: shows; here on 15.18: does not"),
        (Agreement::Differs, "expected final-state violation, got pass"),
    ];
    let mut elsewhere = named("elsewhere", Verdict::Pass, &[(Agreement::OtherVersion, other)]);
    elsewhere.observed = vec![Observed {
        anomaly: Anomaly::P4,
        promise: Promise::Possible,
        url: Some("https://example.org/levels".to_owned()),
        because: lines(&["t1 and t2 both read row 1 as (1, 100), and both then wrote it"]),
    }];
    let announced = named("announced", violation(), &shows);
    [announced, elsewhere, named("differs", Verdict::Pass, &gone), named("news", violation(), &[])]
}

/// The same with what oracles would say.
pub fn judged() -> RunResult {
    let mut result = RunResult::from(lost_update());
    let because = lines(&[
        "t1 and t2 both read balance = 100 of account(id = 1) and both wrote it.",
        "t1 < t2, because t2's UPDATE (6) replaced the version that t1's UPDATE (5) had written.",
        "t2 < t1, because t2's SELECT (4) did not see the version that t1's UPDATE (5) wrote: \
         a contradiction.",
    ]);
    let exception = "snapshot-versus-current-read".to_owned();
    result.verdicts = vec![
        ("final-state".to_owned(), Verdict::broken("lost update", because.clone())),
        ("views".to_owned(), Verdict::Allowed { exception, because: because[..1].to_vec() }),
        ("graph".to_owned(), Verdict::Pass),
        (
            "reorder".to_owned(),
            Verdict::Undecided { reason: "the instrumentation changed the blocking".to_owned() },
        ),
    ];
    result
}

/// MySQL: a deadlock whose victim is not the submitter, and an error that costs only the statement.
pub fn deadlock() -> Run {
    let mut run = run("deadlock", Product::named("mysql"), "9.7.4", &["t1", "t2"]);
    run.level = Some(Level::Serializable);
    run.sessions.iter_mut().for_each(|s| {
        s.level = Some(Level::Serializable);
        s.level_read_back = "SERIALIZABLE".to_owned();
    });
    run.blocking = BlockingKnowledge::Asked("performance_schema.data_lock_waits".to_owned());
    let message = "Deadlock found when trying to get lock; try restarting transaction";
    in_order(
        &mut run,
        vec![
            (1, 0, "BEGIN", ok()),
            (2, 1, "BEGIN", ok()),
            (3, 0, "UPDATE t SET v = v + 1 WHERE k = 1", affected(1)),
            (4, 1, "UPDATE t SET v = v + 1 WHERE k = 2", affected(1)),
            (5, 0, "UPDATE t SET v = v + 1 WHERE k = 2", build::blocked(&[1], "row lock")),
            (6, 1, "UPDATE t SET v = v + 1 WHERE k = 1", affected(1)),
            (5, 0, "", error(ErrorClass::Deadlock, "1213", message, true)),
            (7, 0, "INSERT INTO t VALUES (2, 0)", build::blocked(&[1], "unique key")),
            (8, 1, "COMMIT", ok()),
            (
                7,
                0,
                "",
                build::still_open(error(
                    ErrorClass::Constraint,
                    "1062",
                    "Duplicate entry '2' for key 'PRIMARY'",
                    false,
                )),
            ),
            (9, 0, "COMMIT", ok()),
        ],
    );
    let kv = |k, v| vec![Value::Int(k), Value::Int(v)];
    run.final_state = vec![
        ("t".to_owned(), rows(&["k", "v"], vec![kv(1, 11), kv(2, 21)])),
        ("log".to_owned(), rows(&["at", "what"], vec![])),
    ];
    run
}

/// One check that is answered, and one that is refused.
fn checks() -> Vec<(String, Result<anchorite_model::Answer, anchorite_model::DbError>)> {
    vec![
        (
            "SELECT sum(v) AS total FROM t".to_owned(),
            Ok(build::answer(vec![rows(&["total"], vec![vec![Value::Int(0)]])])),
        ),
        (
            "SELECT * FROM missing".to_owned(),
            Err(build::db_error(
                ErrorClass::Other,
                "42P01",
                "relation \"missing\" does not exist",
                false,
            )),
        ),
    ]
}

/// PostgreSQL: a serialization failure, statements refused after it, NOTICEs, and a COMMIT that
/// rolls back.
pub fn failed_commit() -> Run {
    let mut run = run("failed-commit", Product::named("postgres"), "15.18", &["reader", "writer"]);
    run.level = Some(Level::RepeatableRead);
    run.sessions.iter_mut().for_each(|s| {
        s.level = Some(Level::RepeatableRead);
        s.level_read_back = "repeatable read".to_owned();
    });
    run.blocking = BlockingKnowledge::Asked("pg_blocking_pids".to_owned());
    run.case.header.source = lines(&["https://www.postgresql.org/docs/15/transaction-iso.html"]);
    let failed = "could not serialize access due to concurrent update";
    let refused = "current transaction is aborted, commands ignored until end of transaction block";
    let notices = vec![notice("NOTICE", "table \"x\" does not exist, skipping")];
    in_order(
        &mut run,
        vec![
            (1, 0, "BEGIN", tagged("BEGIN")),
            (
                2,
                0,
                "SELECT count(*) FROM t",
                returned(vec![rows(&["count"], vec![vec![Value::Int(2)]])]),
            ),
            (3, 1, "UPDATE t SET v = 0", affected(2)),
            (
                4,
                0,
                "UPDATE t SET v = 1 WHERE k = 1",
                error(ErrorClass::Serialization, "40001", failed, true),
            ),
            (5, 0, "SELECT 1", error(ErrorClass::Other, "25P02", refused, true)),
            (6, 0, "COMMIT", tagged("ROLLBACK")),
            (7, 1, "DROP TABLE IF EXISTS x", build::with_notices(tagged("DROP TABLE"), notices)),
            (
                8,
                1,
                "DELETE FROM t WHERE v = 7 RETURNING k",
                build::with_rows(affected(0), vec![rows(&["k"], vec![])]),
            ),
            (9, 0, "SELECT 2", build::skipped("the session's script had ended")),
        ],
    );
    run.final_state = vec![(
        "t".to_owned(),
        rows(
            &["k", "v"],
            vec![vec![Value::Int(1), Value::Int(0)], vec![Value::Int(2), Value::Int(0)]],
        ),
    )];
    run.checks = checks();
    run.notes = lines(&["writer was still in a transaction at the end and was rolled back"]);
    run
}

/// The server is killed; before that its blocking had to be guessed, and the level is not what was
/// asked for.
pub fn server_lost() -> Run {
    let mut run = run("killed", Product::named("tidb"), "v8.5.0", &["t1", "t2", "t3"]);
    run.sessions[0].level = Some(Level::Serializable);
    run.sessions.iter_mut().for_each(|s| s.level_read_back = "REPEATABLE-READ".to_owned());
    run.blocking = BlockingKnowledge::Timeout {
        silence_ms: 2000,
        reason: "the user lacks the PROCESS privilege".to_owned(),
    };
    let outside = vec![Blocker::Session(0), Blocker::Outside("connection 4711".to_owned())];
    let gone = "Lost connection to server during query";
    in_order(
        &mut run,
        vec![
            (1, 0, "UPDATE t SET v = 1", affected(0)),
            (2, 1, "UPDATE t SET v = 2", build::blocked_by(outside, "")),
            (3, 2, "UPDATE t SET v = 3", build::blocked_by(vec![], "")),
            (4, 0, "SELECT sleep(9)", error(ErrorClass::ConnectionLost, "2013", gone, true)),
            (2, 1, "", error(ErrorClass::ConnectionLost, "2013", gone, true)),
            (5, 0, "COMMIT", build::skipped("the connection of t1 is gone")),
        ],
    );
    run.ending = Ending::TargetLost("the server went away while statement 4 ran".to_owned());
    run
}

/// Three sessions in a chain of waits, with a statement that queues and one that is blocked anew.
pub fn chain() -> Run {
    let mut run = run("chain", Product::named("mysql"), "9.7.4", &["t1", "t2", "t3"]);
    run.level = Some(Level::ReadCommitted);
    for (session, level) in run.sessions.iter_mut().zip(["READ-COMMITTED"; 3]) {
        session.level = Some(Level::ReadCommitted);
        session.level_read_back = level.to_owned();
    }
    run.blocking = BlockingKnowledge::Asked("performance_schema.data_lock_waits".to_owned());
    in_order(
        &mut run,
        vec![
            (1, 0, "BEGIN", ok()),
            (2, 1, "BEGIN", ok()),
            (3, 0, "UPDATE t SET v = 'one' WHERE k = 1", affected(1)),
            (4, 1, "UPDATE t SET v = 'two' WHERE k IN (1, 2)", build::blocked(&[0], "row lock")),
            (5, 2, "DELETE FROM t WHERE k = 1", build::blocked(&[0, 1], "row lock")),
            (7, 0, "COMMIT", ok()),
            (4, 1, "", build::resumed(affected(2))),
            (
                6,
                1,
                "SELECT * FROM t",
                returned(vec![rows(
                    &["k", "v"],
                    vec![vec![Value::Int(1), text("two")], vec![Value::Int(2), text("two")]],
                )]),
            ),
            (5, 2, "", build::blocked(&[1], "row lock")),
            (8, 1, "COMMIT", ok()),
            (5, 2, "", build::resumed(affected(1))),
        ],
    );
    run.final_state =
        vec![("t".to_owned(), rows(&["k", "v"], vec![vec![Value::Int(2), text("two")]]))];
    run
}

/// Five sessions: too many for columns of a common terminal.
pub fn five() -> Run {
    let names = ["t1", "t2", "t3", "t4", "t5"];
    let mut run = run("five", Product::named("postgres"), "15.18", &names);
    run.sessions.iter_mut().for_each(|s| s.level_read_back = "read committed".to_owned());
    run.blocking = BlockingKnowledge::Asked("pg_blocking_pids".to_owned());
    let mut events = vec![(1, 0, "UPDATE counter SET value = value + 1 WHERE id = 1", affected(1))];
    for n in 2..=5 {
        events.push((
            n,
            n - 1,
            "INSERT INTO queue(owner, payload) VALUES (current_user, 'x')",
            affected(1),
        ));
    }
    in_order(&mut run, events);
    run
}
