//! Values and statements of every shape.

use anchorite_model::{BlockingKnowledge, Level, Product, Run, Value};

use super::build::{self, affected, in_order, returned, rows, run, text};

/// Every kind of value, a long text, many rows, and two result sets of one statement.
pub fn values() -> Run {
    let mut run = run("values", Product::named("sqlite"), "3.51.1", &["t1"]);
    run.target.variant = "wal".to_owned();
    run.sessions[0].level_read_back = "serializable".to_owned();
    run.blocking = BlockingKnowledge::Asked("SQLITE_BUSY".to_owned());
    let kinds = rows(
        &["kind", "value"],
        vec![
            vec![text("null"), Value::Null],
            vec![text("text NULL"), text("NULL")],
            vec![text("empty"), text("")],
            vec![text("bool"), Value::Bool(true)],
            vec![text("big"), Value::Int(18_446_744_073_709_551_615)],
            vec![text("float"), Value::Float(0.1 + 0.2)],
            vec![text("huge"), Value::Float(1e300)],
            vec![text("nan"), Value::Float(f64::NAN)],
            vec![text("decimal"), Value::Decimal("12.500".to_owned())],
            vec![text("bytes"), Value::Bytes(vec![0xde, 0xad, 0xbe, 0xef])],
            vec![text("wide"), text("数据库事务")],
            vec![text("accents"), text("Grüße, e\u{301}te\u{301}")],
            vec![text("lines"), text("a\nb\tc")],
            vec![text("long"), text(&"abcdefghij".repeat(10))],
        ],
    );
    let numbers =
        rows(&["n", "square"], (0..32).map(|n| vec![Value::Int(n), Value::Int(n * n)]).collect());
    in_order(
        &mut run,
        vec![
            (1, 0, "SELECT kind, value FROM kinds", returned(vec![kinds])),
            (
                2,
                0,
                "CALL two_results()",
                build::with_rows(
                    affected(3),
                    vec![
                        rows(&["a"], vec![vec![Value::Int(1)]]),
                        rows(&["b", "c"], vec![vec![Value::Null, Value::Float(2.0)]]),
                    ],
                ),
            ),
            (3, 0, "SELECT n, n * n AS square FROM numbers", returned(vec![numbers])),
            (4, 0, "SELECT n FROM numbers WHERE n < 0", returned(vec![rows(&["n"], vec![])])),
        ],
    );
    run
}

/// Statements of several lines, comments and long expressions.
pub fn multi_line() -> Run {
    let mut run = run("multi-line", Product::named("postgres"), "15.18", &["t1", "t2"]);
    run.level = Some(Level::ReadCommitted);
    run.sessions.iter_mut().for_each(|s| {
        s.level = Some(Level::ReadCommitted);
        s.level_read_back = "read committed".to_owned();
    });
    run.blocking = BlockingKnowledge::Asked("pg_blocking_pids".to_owned());
    let update = "UPDATE account AS a
       SET balance = a.balance + d.amount,
           changed_at = now()
      FROM deposit AS d
     WHERE d.account_id = a.id
       AND d.state IN ('new', 'waiting for the second signature', 'signed')";
    let insert = "INSERT INTO words(w) VALUES ('Donaudampfschifffahrtselektrizitätenhauptbetriebs\
                  werkbauunterbeamtengesellschaft')";
    in_order(
        &mut run,
        vec![
            (1, 0, update, affected(2)),
            (
                2,
                1,
                "SELECT id -- only the key\n  FROM account",
                returned(vec![rows(&["id"], vec![vec![Value::Int(1)]])]),
            ),
            (3, 1, "DELETE FROM account -- everything", affected(0)),
            (4, 0, insert, affected(1)),
        ],
    );
    run
}
