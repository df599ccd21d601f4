//! Findings and hunts made by hand.

use std::collections::BTreeMap;

use anchorite_model::{
    Case, Cause, Confirmed, Contrast, Deed, Doer, ErrorClass, Expected, Finding, FindingLine,
    HuntPlace, HuntSummary, Judgement, Level, Meanwhile, Origin, Product, Rank, Rows, Run,
    Signature, Statement, Value, Verdict, VerdictCounts,
};

use super::build::{self, affected, error, in_order, lines, ok, returned, rows, run};
use super::hostile::hostile;
use super::{asked_innodb, chain};

/// What breaks out of a careless page.
pub const MARKUP: &str =
    "</script></pre><img src=x onerror=alert(1)> \u{202e}gnp.exe\u{202c} \u{1b}[31m\0";

fn at_level(run: &mut Run, level: Level, words: &str) {
    run.level = Some(level);
    for session in &mut run.sessions {
        session.level = Some(level);
        session.level_read_back = words.to_owned();
    }
}

fn with_setup(run: &mut Run, setup: &[&str]) {
    let statement = |sql: &&str| Statement { sql: (*sql).to_owned(), line: 0 };
    run.case.setup = setup.iter().map(statement).collect();
}

fn table(columns: &[&str], cells: &[&[i128]]) -> Rows {
    let cells = cells.iter().map(|row| row.iter().map(|i| Value::Int(*i)).collect()).collect();
    rows(columns, cells)
}

/// The run in which a DELETE waits and then misses the row whose key moved, on MariaDB at read committed.
fn missed_row_run() -> Run {
    let names = ["t1", "t2"];
    let mut run = run("reduced", Product::named("mariadb"), "10.11.18-MariaDB-0+deb12u1", &names);
    at_level(&mut run, Level::ReadCommitted, "READ-COMMITTED");
    run.blocking = asked_innodb();
    let settings =
        [("innodb_snapshot_isolation", "OFF"), ("global tx_isolation", "REPEATABLE-READ")];
    run.settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    with_setup(
        &mut run,
        &["CREATE TABLE t (c1 INT PRIMARY KEY, c2 INT)", "INSERT INTO t VALUES (8, 5)"],
    );
    let columns = ["c1", "c2"];
    in_order(
        &mut run,
        vec![
            (1, 0, "BEGIN", ok()),
            (2, 1, "BEGIN", ok()),
            (3, 0, "UPDATE t SET c1 = 5", affected(1)),
            (4, 1, "DELETE FROM t", build::blocked(&[0], "row lock")),
            (5, 0, "UPDATE t SET c1 = 3", affected(1)),
            (6, 0, "COMMIT", ok()),
            (4, 1, "", build::resumed(affected(0))),
            (7, 1, "SELECT * FROM t FOR UPDATE", returned(vec![table(&columns, &[&[3, 5]])])),
            (8, 1, "COMMIT", ok()),
        ],
    );
    run.final_state = vec![("t".to_owned(), table(&columns, &[&[3, 5]]))];
    run
}

/// What the serial orders would have given, and how the run differs.
fn missed_row_orders() -> Vec<Expected> {
    let at_the_end = "table t ends with (3, 5) instead of no rows";
    let deleted = "step 4 (DELETE FROM t): affected 0 instead of 1";
    let expected = |title: &str, further: &[&str]| Expected {
        title: title.to_owned(),
        final_state: vec![("t".to_owned(), table(&["c1", "c2"], &[]))],
        differences: lines(&[&[at_the_end, deleted], further].concat()),
    };
    let updated = "step 3 (UPDATE t SET c1 = 5): affected 1 instead of 0";
    vec![
        expected("t1, then t2, one transaction after the other", &[]),
        expected("t2, then t1, one transaction after the other", &[updated]),
    ]
}

/// The DELETE that waits and then misses the row whose key moved, on MariaDB at read committed.
pub fn missed_row() -> Finding {
    let (run, orders) = (missed_row_run(), missed_row_orders());
    let not = |order: &Expected| format!("not {}: {}", order.title, order.differences.join("; "));
    let mut because: Vec<String> = orders.iter().map(not).collect();
    because.push(
        "step 4 (DELETE FROM t) affected 0, but must change (3, 5): it matches in every version from its beginning \
         to its end"
            .to_owned(),
    );
    let anomaly = "write-serializability (tx-WSS)".to_owned();
    Finding {
        options: Vec::new(),
        fingerprint: "delete-update-3f2a91c0".to_owned(),
        title: String::new(),
        on: String::new(),
        signature: Signature {
            oracle: "final-state".to_owned(),
            anomaly: anomaly.clone(),
            exception: None,
            rank: Rank::Broken,
        },
        witnesses: Vec::new(),
        alike: Vec::new(),
        covers: Vec::new(),
        cause: Some(row_missed()),
        known: None,
        unreported: false,
        origin: Origin::Generated { seed: 42, number: 1_234 },
        original: run.case.clone(),
        before: Vec::new(),
        judgements: vec![
            Judgement {
                expected: orders,
                ..Judgement::new("final-state", Verdict::broken(&anomaly, because))
            },
            Judgement::new(
                "views",
                Verdict::Undecided { reason: "the scratch schema has no index".to_owned() },
            ),
        ],
        run,
        confirmed: Confirmed { shown: 5, runs: 5 },
        contrast: vec![
            contrast("at repeatable read", "t1 fails with a deadlock (1213)"),
            contrast("without the primary key", "does not show it"),
        ],
        claim: lines(&[
            "DELETE at read committed re-reads the latest committed version of each row that it waited for: \
             https://mariadb.com/kb/en/set-transaction/.",
            "Considered and ruled out: semi-consistent-read (https://mariadb.com/kb/en/innodb-lock-modes/), because the \
             row matches before and after.",
        ]),
    }
}

fn contrast(change: &str, outcome: &str) -> Contrast {
    Contrast { change: change.to_owned(), outcome: outcome.to_owned() }
}

/// A finding on PostgreSQL with rows that differ, are missing, and are too many, and an error.
pub fn skew() -> Finding {
    let mut run =
        run("reduced", Product::named("postgres"), "17.11 (Debian 17.11-1)", &["a", "b", "c"]);
    at_level(&mut run, Level::Serializable, "serializable");
    run.blocking = anchorite_model::BlockingKnowledge::Asked("pg_blocking_pids".to_owned());
    with_setup(
        &mut run,
        &[
            "CREATE TABLE doctor (id INT PRIMARY KEY, on_call INT, note TEXT)",
            "INSERT INTO doctor VALUES (1, 1, '{\"day\": 1}'), (2, 1, NULL)",
        ],
    );
    let message = "could not serialize access due to concurrent update";
    in_order(
        &mut run,
        vec![
            (1, 0, "BEGIN", ok()),
            (2, 1, "BEGIN", ok()),
            (
                3,
                0,
                "SELECT count(*) FROM doctor WHERE on_call = 1",
                returned(vec![table(&["count"], &[&[2]])]),
            ),
            (4, 0, "UPDATE doctor SET on_call = 0 WHERE id = 1", affected(1)),
            (5, 1, "UPDATE doctor SET on_call = 0 WHERE id = 2", affected(1)),
            (6, 2, "UPDATE doctor SET note = 'x' WHERE id = 1", build::blocked(&[0], "tuple")),
            (7, 0, "COMMIT", build::tagged("COMMIT")),
            (6, 2, "", error(ErrorClass::Serialization, "40001", message, true)),
            (8, 1, "COMMIT", build::tagged("COMMIT")),
        ],
    );
    let columns = ["id", "on_call"];
    run.final_state = vec![("doctor".to_owned(), table(&columns, &[&[1, 0], &[2, 0], &[4, 1]]))];
    let mut finding = missed_row();
    finding.signature.anomaly = "G2-item".to_owned();
    finding.judgements[0].verdict = Verdict::broken(
        "G2-item",
        lines(&[
            "a < b, because a's SELECT (3) did not see what b's UPDATE (5) wrote.",
            "b < a, because b's UPDATE (5) did not see what a's UPDATE (4) wrote: a contradiction.",
        ]),
    );
    finding.judgements[0].expected = vec![Expected {
        title: "a, then b, one after the other".to_owned(),
        final_state: vec![("doctor".to_owned(), table(&columns, &[&[1, 0], &[2, 1], &[3, 1]]))],
        differences: lines(&["doctor(id = 2) has on_call = 0 instead of 1"]),
    }];
    finding.fingerprint = "final-state-G2-item-77aa".to_owned();
    finding.known = Some("PG-1 https://www.postgresql.org/message-id/1 (open)".to_owned());
    finding.cause = Some(Cause::of(Deed::NoOrder));
    finding.original = run.case.clone();
    finding.run = run;
    finding
}

/// A finding whose every text tries to break out.
pub fn hostile_finding() -> Finding {
    let mut finding = missed_row();
    let mut run = hostile().run;
    with_setup(&mut run, &[&format!("INSERT INTO t VALUES ('{MARKUP}')")]);
    run.case.header.title = Some(MARKUP.to_owned());
    run.sessions[0].name = MARKUP.to_owned();
    run.case.sessions[0] = MARKUP.to_owned();
    run.final_state.push((MARKUP.to_owned(), rows(&[MARKUP], vec![vec![build::text(MARKUP)]])));
    finding.run = run;
    let text = || MARKUP.to_owned();
    finding.fingerprint = text();
    finding.signature =
        Signature { oracle: text(), anomaly: text(), exception: None, rank: Rank::Broken };
    finding.known = Some(format!("https://a.example/\"{MARKUP} javascript:alert(1)"));
    finding.cause = Some(Cause::of(Deed::NoOrder));
    finding.claim = vec![text()];
    finding.contrast = vec![Contrast { change: text(), outcome: text() }];
    finding.origin = Origin::File(text());
    let verdict = Verdict::broken(&text(), vec![text()]);
    let state = vec![(text(), rows(&[MARKUP], vec![vec![build::text("other")]]))];
    let expected = vec![Expected { title: text(), final_state: state, differences: vec![text()] }];
    finding.judgements = vec![Judgement { expected, ..Judgement::new(&text(), verdict) }];
    finding
}

/// Five sessions with five statements each, several of them waiting at once.
pub fn crowd() -> Finding {
    let names = ["t1", "t2", "t3", "t4", "t5"];
    let mut run = run("crowd", Product::named("mysql"), "9.7.4", &names);
    at_level(&mut run, Level::RepeatableRead, "REPEATABLE-READ");
    let updates: Vec<String> = (0..5)
        .map(|i| format!("UPDATE account SET balance = balance + {i} WHERE id IN (1, {i}) AND owner <> 'nobody'"))
        .collect();
    let mut events = Vec::new();
    for session in 0..5 {
        events.push((session + 1, session, "BEGIN", ok()));
    }
    for (session, update) in updates.iter().enumerate() {
        let outcome = match session {
            0 => affected(2),
            _ => build::blocked(&[0], "row lock"),
        };
        events.push((session + 6, session, update.as_str(), outcome));
    }
    let select = "SELECT id, owner, balance FROM account ORDER BY id";
    let columns = ["id", "balance"];
    let read = || returned(vec![table(&columns, &[&[1, 100], &[2, 250], &[3, 0]])]);
    events.push((11, 0, select, read()));
    events.push((16, 0, "COMMIT", ok()));
    for session in 1..5 {
        let n = session + 6;
        events.push((n, session, "", build::resumed(affected(2))));
        if session < 4 {
            events.push((n + 1, session + 1, "", build::blocked(&[session], "row lock")));
        }
        events.push((session + 11, session, select, read()));
        events.push((session + 16, session, "COMMIT", ok()));
    }
    for session in 0..5 {
        events.push((session + 21, session, "DELETE FROM account WHERE id = 99", affected(0)));
    }
    in_order(&mut run, events);
    let mut finding = missed_row();
    finding.run = run;
    finding
}

/// Two statements of one session queue behind a third, and one of them is skipped in the end.
pub fn queue() -> Finding {
    let mut run = run("queue", Product::named("mysql"), "9.7.4", &["t1", "t2", "t3"]);
    at_level(&mut run, Level::RepeatableRead, "REPEATABLE-READ");
    let gone = "the deadlock took the transaction away".to_owned();
    in_order(
        &mut run,
        vec![
            (1, 0, "BEGIN", ok()),
            (2, 0, "UPDATE account SET balance = 1 WHERE id = 1", affected(1)),
            (3, 1, "BEGIN", ok()),
            (4, 1, "UPDATE account SET balance = 2 WHERE id = 1", build::blocked(&[0], "row lock")),
            (7, 2, "DELETE FROM account WHERE id = 2", affected(1)),
            (8, 0, "COMMIT", ok()),
            (4, 1, "", build::resumed(affected(0))),
            (5, 1, "UPDATE account SET balance = balance + 1 WHERE id IN (1, 2)", affected(1)),
            (6, 1, "COMMIT", anchorite_model::Outcome::Skipped { reason: gone }),
        ],
    );
    let mut finding = missed_row();
    let said = "step 4 (UPDATE account SET balance = 2 WHERE id = 1) affected 0, but must change (1, 1): it matches";
    let anomaly = finding.signature.anomaly.clone();
    finding.judgements[0].verdict = Verdict::broken(&anomaly, lines(&[said]));
    finding.judgements[0].expected = Vec::new();
    finding.run = run;
    finding
}

/// Cases that have to be rolled back by the script: t1 never ends its transaction.
pub fn left_open() -> Run {
    let mut run = chain();
    run.case.name = "left-open".to_owned();
    let commit = run.events.iter().position(|event| event.n == 7).expect("t1 commits");
    run.events.remove(commit);
    run.notes = lines(&["t1 was still in a transaction: rolled back"]);
    run
}

const fn counts(pass: u64, violation: u64, allowed: u64, undecided: u64) -> VerdictCounts {
    VerdictCounts { pass, violation, undocumented: 0, allowed, undecided }
}

/// Why the row was missed.
fn row_missed() -> Cause {
    let doer = Doer {
        n: 5,
        transaction: "t2".to_owned(),
        kind: "DELETE".to_owned(),
        path: Some("scan".to_owned()),
    };
    Cause {
        meanwhile: Meanwhile::PrimaryKeyMoved,
        statement: Some(doer),
        row: Some("(0) of t".to_owned()),
        waited_for: vec!["t1".to_owned()],
        ..Cause::of(Deed::RowMissed)
    }
}

/// A hunt that found something.
pub fn hunt() -> HuntSummary {
    let finding = missed_row();
    let line = |known: Option<&str>| FindingLine {
        fingerprint: finding.fingerprint.clone(),
        title: "DELETE waits, then deletes nothing".to_owned(),
        signature: finding.signature.clone(),
        target: finding.run.target.clone(),
        level: finding.run.level,
        statements: 8,
        hits: 17,
        witnesses: match known {
            None => lines(&["final-state", "differential"]),
            Some(_) => Vec::new(),
        },
        known: known.map(str::to_owned),
        unreported: false,
        cause: Some(row_missed()),
        places: vec![0, 1],
        levels: lines(&["read committed", "repeatable read"]),
        seen_at: Vec::new(),
        file: "hunt-out/findings/3f2a91c0/report.md".to_owned(),
    };
    let verdicts = counts(42_000, 20, 3_000, 100);
    let differential = counts(45_100, 18, 0, 2);
    HuntSummary {
        seed: 42,
        elapsed_ms: 60_250,
        places: vec![HuntPlace {
            target: finding.run.target.clone(),
            levels: vec![Some(Level::ReadCommitted), Some(Level::RepeatableRead), None],
            on: "mariadb@10.11".to_owned(),
        }],
        cases: 45_120,
        statements: 361_004,
        blocked: 12_007,
        deadlocks: 310,
        commits: 88_123,
        aborts: BTreeMap::from([(ErrorClass::Deadlock, 310), (ErrorClass::Constraint, 5_120)]),
        conflict_shapes: 118,
        verdicts,
        by_oracle: BTreeMap::from([
            ("differential".to_owned(), differential),
            ("final-state".to_owned(), verdicts),
        ]),
        disagreements: 2,
        confirmed: 35,
        allowed_by: BTreeMap::from([("semi-consistent-read".to_owned(), 3_000)]),
        undecided_because: BTreeMap::from([("DDL ran in the middle".to_owned(), 100)]),
        flaky: 1,
        waiting: 2,
        findings: vec![line(None), line(Some("MDEV-26642"))],
        known_gone: lines(&["MDEV-99999", "PG-EXAMPLE"]),
        known_gone_because: BTreeMap::from([(
            "PG-EXAMPLE".to_owned(),
            "measured on 15.18: shows; here on 15.20: does not".to_owned(),
        )]),
        folder: Some("hunt-out".to_owned()),
        ..HuntSummary::default()
    }
}

/// The README's first command: a minute on SQLite, nothing found.
pub fn quiet_hunt() -> HuntSummary {
    let target = run("x", Product::named("sqlite"), "3.51.1", &[]).target;
    HuntSummary {
        seed: 7,
        elapsed_ms: 60_010,
        places: vec![HuntPlace {
            target,
            levels: vec![Some(Level::Serializable)],
            on: "sqlite".to_owned(),
        }],
        cases: 91_000,
        statements: 640_000,
        blocked: 80_400,
        deadlocks: 0,
        commits: 120_000,
        conflict_shapes: 64,
        verdicts: VerdictCounts { pass: 91_000, ..VerdictCounts::default() },
        ..HuntSummary::default()
    }
}

/// A case alone.
pub fn case() -> Case {
    missed_row().run.case
}
