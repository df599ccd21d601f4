//! Typed values, several results, affected rows, transaction state, large packets.

use anchorite_model::{Product, Value};

use crate::bed::{on_each_server, run, run_all};

#[test]
fn values_are_typed_by_their_columns() {
    on_each_server(|bed| {
        let mut session = bed.session();
        run(
            &mut *session,
            "CREATE TABLE v (i INT, u BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(10,2), \
             b VARBINARY(9), l BLOB, bits BIT(10), s VARCHAR(9), x TEXT, t DATETIME, y YEAR, \
             e ENUM('p','q'), nothing INT) DEFAULT CHARSET utf8mb4",
        );
        run(
            &mut *session,
            "INSERT INTO v VALUES (-7, 18446744073709551615, 0.5, 1e300, 1.5, x'00ff', 'lob', \
             b'1000000001', 'häß', '', '2024-02-29 01:02:03', 2024, 'q', NULL)",
        );
        let answer = run(&mut *session, "SELECT * FROM v");
        assert_eq!(answer.affected, None);
        assert_eq!(answer.results[0].columns[..3], ["i", "u", "f"]);
        assert_eq!(
            answer.results[0].rows,
            [vec![
                Value::Int(-7),
                Value::Int(u64::MAX.into()),
                Value::Float(0.5),
                Value::Float(1e300),
                Value::Decimal("1.50".into()),
                Value::Bytes(vec![0, 255]),
                Value::Bytes(b"lob".to_vec()),
                Value::Int(513),
                Value::Text("häß".into()),
                Value::Text(String::new()),
                Value::Text("2024-02-29 01:02:03".into()),
                Value::Int(2024),
                Value::Text("q".into()),
                Value::Null,
            ]]
        );
    });
}

#[test]
fn a_call_answers_with_all_its_results() {
    on_each_server(|bed| {
        if bed.is(Product::named("tidb")) {
            return; // has no stored procedures
        }
        let mut session = bed.session();
        run(&mut *session, "CREATE TABLE t (a INT)");
        run(
            &mut *session,
            "CREATE PROCEDURE p() BEGIN SELECT 1 AS one; SELECT 'two' AS two, 2; \
             INSERT INTO t VALUES (1), (2); END",
        );
        let answer = run(&mut *session, "CALL p()");
        assert_eq!(answer.results.len(), 2);
        assert_eq!(answer.results[0].columns, ["one"]);
        assert_eq!(answer.results[1].rows, [vec![Value::Text("two".into()), Value::Int(2)]]);
        assert_eq!(answer.affected, Some(2));
        // What a procedure answered before it failed is not lost.
        run(&mut *session, "CREATE PROCEDURE q() BEGIN SELECT 1 AS one; SELECT * FROM none; END");
        let error = crate::bed::fail(&mut *session, "CALL q()");
        assert_eq!((error.code.as_str(), error.results.len()), ("1146", 1));
        // One statement per command: a second one is a syntax error, not silently executed.
        assert_eq!(crate::bed::fail(&mut *session, "SELECT 1; SELECT 2").code, "1064");
    });
}

#[test]
fn affected_rows_are_changed_rows_and_the_transaction_state_is_known() {
    on_each_server(|bed| {
        let mut session = bed.session();
        run_all(&mut *session, &["CREATE TABLE t (a INT PRIMARY KEY, b INT)"]);
        assert_eq!(run(&mut *session, "INSERT INTO t VALUES (1,1), (2,2)").affected, Some(2));
        assert_eq!(run(&mut *session, "UPDATE t SET b = 2").affected, Some(1));
        assert_eq!(run(&mut *session, "SELECT 1").in_transaction, Some(false));
        assert_eq!(run(&mut *session, "BEGIN").in_transaction, Some(true));
        assert_eq!(run(&mut *session, "SELECT * FROM t").in_transaction, Some(true));
        assert_eq!(run(&mut *session, "COMMIT").in_transaction, Some(false));
    });
}

#[test]
fn packets_beyond_16_mb_travel_both_ways() {
    const LENGTH: usize = (1 << 24) + 100;
    on_each_server(|bed| {
        let mut control = bed.session();
        let allowed = run(&mut *control, "SELECT @@global.max_allowed_packet");
        let raised = format!("SET GLOBAL max_allowed_packet = {}", 1 << 26);
        run(&mut *control, &raised);
        let mut session = bed.session();
        let text = "x".repeat(LENGTH);
        let answer = run(&mut *session, &format!("SELECT '{text}' AS c"));
        assert!(answer.results[0].rows == [vec![Value::Text(text)]], "the text came back changed");
        run(
            &mut *control,
            &format!("SET GLOBAL max_allowed_packet = {}", allowed.results[0].rows[0][0]),
        );
    });
}

#[test]
fn the_schema_knows_its_tables() {
    on_each_server(|bed| {
        let mut session = bed.session();
        run_all(
            &mut *session,
            &[
                "CREATE TABLE b (a INT)",
                "CREATE TABLE `A ``1` (a INT)",
                "CREATE VIEW v AS SELECT 1",
            ],
        );
        let tables = bed.schema.tables(&mut *session, crate::bed::LIMIT).expect("tables");
        // Servers on some systems fold names to lower case.
        let tables: Vec<_> = tables.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(tables, ["a `1", "b"]);
        assert_eq!(bed.schema.quote("A `1"), "`A ``1`");
    });
}
