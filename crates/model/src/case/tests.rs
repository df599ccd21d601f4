//! The text form: what is accepted, what is refused and where.

use crate::{Case, Level, Product};

const CANONICAL: &str = "\
-- title: an UPDATE to the same value is not visible to its own transaction
-- source: https://example.org/a
-- source: a paper; page 7
-- level: repeatable read
-- level t2: read committed
-- targets: mariadb, mysql
-- expect: views allowed same-value-update
-- note: kept
-- empty:

/* setup */ CREATE TABLE t(c1 INT, c2 INT);
/* setup */ INSERT INTO t VALUES (0, 0), (1, 1);

/* t1 */ BEGIN;
/* t1 */ SELECT *
  FROM t -- all; of it
  WHERE a = ';' /* ; */;
/* t2 */ SELECT 1 -- a comment at the end
;
/* 3.x-y_Z */ COMMIT;

/* check */ SELECT 1;

/* teardown */ DROP TABLE t;
";

fn sqls(case: &Case) -> Vec<(&str, &str)> {
    let steps = case.steps.iter();
    steps.map(|step| (case.sessions[step.session].as_str(), step.statement.sql.as_str())).collect()
}

#[test]
fn a_canonical_file_is_printed_as_it_stands() {
    let case = Case::parse("same", CANONICAL).expect("the text is a case");
    assert_eq!(case.to_text(), CANONICAL);
    assert_eq!(case.name, "same");
    assert_eq!(case.sessions, ["t1", "t2", "3.x-y_Z"]);
    assert_eq!(case.level_of(0), Some(Level::RepeatableRead));
    assert_eq!(case.level_of(1), Some(Level::ReadCommitted));
    assert_eq!(case.header.targets, [Product::named("mariadb"), Product::named("mysql")]);
    assert_eq!(case.header.source.len(), 2);
    assert_eq!(case.header.other[0], ("note".to_owned(), "kept".to_owned()));
    let lines: Vec<usize> = case.steps.iter().map(|step| step.statement.line).collect();
    assert_eq!(lines, [14, 15, 18, 20]);
    assert_eq!(case.steps[2].statement.sql, "SELECT 1 -- a comment at the end");
}

#[test]
fn windows_files_and_byte_order_marks_are_read() {
    let windows = format!("\u{feff}{}", CANONICAL.replace('\n', "\r\n"));
    assert_eq!(Case::parse("same", &windows), Case::parse("same", CANONICAL));
    let mixed = Case::parse("mixed", "/* t */ SELECT 'a\r\nb';\n").expect("the text is a case");
    assert_eq!(mixed.steps[0].statement.sql, "SELECT 'a\r\nb'");
}

#[test]
fn what_may_stand_in_a_file() {
    let table: &[(&str, &[(&str, &str)])] = &[
        ("/*t1*/BEGIN;/*  t2\n*/\nCOMMIT ;", &[("t1", "BEGIN"), ("t2", "COMMIT")]),
        (
            "-- just words\n# so\n/* a longer remark */ /* t */ SELECT 1;-- end",
            &[("t", "SELECT 1")],
        ),
        ("/* t */ /* u */ SELECT 1; -- title: a remark\n", &[("t", "/* u */ SELECT 1")]),
        ("/* t */ /*! SET x = 1 */;", &[("t", "/*! SET x = 1 */")]),
        ("/* t */ -- why\nSELECT 1;", &[("t", "-- why\nSELECT 1")]),
        (
            "/* t */ CREATE PROCEDURE p() BEGIN\n/* note */\nSELECT 1; /* u */ SELECT 2; END; /* t */ CALL p();",
            &[
                ("t", "CREATE PROCEDURE p() BEGIN\n/* note */\nSELECT 1; /* u */ SELECT 2; END"),
                ("t", "CALL p()"),
            ],
        ),
        (
            "/* t */ DO $x$ BEGIN; /* u */ END; $x$; /* u */ BEGIN;",
            &[("t", "DO $x$ BEGIN; /* u */ END; $x$"), ("u", "BEGIN")],
        ),
    ];
    for (text, expected) in table {
        let case = Case::parse("x", text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(&sqls(&case), expected, "{text}");
        let again = Case::parse("x", &case.to_text()).expect("what was printed can be read");
        assert_eq!(sqls(&again), sqls(&case));
    }
}

/// The second column of each statement is how the product that it was written for reads it.
#[test]
fn dialects_are_told_apart_by_what_makes_sense() {
    let table = [
        (r"SELECT 'a\'b;'", "MySQL's backslash"),
        (r"SELECT '\'", "the standard's backslash"),
        (r"SELECT '\', 'x'", "the standard's backslash, twice"),
        (r"SELECT 'C:\', E'it\'s;'", "PostgreSQL's two kinds of strings"),
        (r#"SELECT "a\";b""#, "MySQL's double quotes"),
        ("SELECT 5 # 3", "PostgreSQL's operator"),
        ("SELECT 1 # it's; a comment\n", "MySQL's comment"),
        ("SELECT 5--it's;\n", "everybody else's comment"),
        ("SELECT /* a /* b */ ; */ 1", "PostgreSQL's nested comment"),
        ("SELECT [a;'b] FROM t", "SQLite's brackets"),
    ];
    for (sql, what) in table {
        let text =
            format!("/* t1 */ {sql};\n/* t2 */ SELECT 'it''s';\n/* t1 */ SELECT 'x', \"y\";\n");
        let case = Case::parse("x", &text).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(sqls(&case)[0].1, sql.trim_end(), "{what}");
        assert_eq!(case.steps.len(), 3, "{what}");
    }
    let tricky = r"/* t1 */ SELECT '\'; /* t2 */ SELECT 'x', '\';";
    for (targets, statements) in [("postgres", 2), ("sqlite, cockroach", 2)] {
        let text = format!("-- targets: {targets}\n{tricky}");
        assert_eq!(Case::parse("x", &text).map(|case| case.steps.len()), Ok(statements));
    }
    let mysql = Case::parse("x", &format!("-- targets: mysql\n{tricky}"));
    assert!(mysql.is_err_and(|error| error.expected.contains("string")));
}

/// Texts that are no cases, and where and what is said about them.
const ERRORS: &[(&str, &str)] = &[
    ("", "1:1: expected at least one statement of a session"),
    ("/* setup */ SELECT 1;\n", "2:1: expected at least one statement of a session"),
    (
        "-- level: chaos\n/* t */ SELECT 1;",
        "1:11: expected a level (ru, rc, rr, si, ser or its full name), found `chaos`",
    ),
    ("-- level:\n/* t */ SELECT 1;", "1:10: expected a value after `level:`, found nothing"),
    ("-- targets: mysql, oracle\n/* t */ SELECT 1;", "1:20: expected product names"),
    (
        "-- title: a\n-- Title: b\n/* t */ SELECT 1;",
        "2:4: expected only one `title` line, found another one, `b`",
    ),
    (
        "\n-- level t9: rc\n/* t1 */ SELECT 1;",
        "2:10: expected a session of this file (t1), found `t9`",
    ),
    (
        "/* t1 */ BEGIN;\n-- level: rc\n",
        "2:1: expected header lines only above the first statement, found `-- level: rc`",
    ),
    (
        "-- x\n  SELECT 1;",
        "2:3: expected a comment that names the session, such as /* t1 */, found `SELECT 1;`",
    ),
    ("/* t1 */ BEGIN; COMMIT;", "1:17: expected a comment that names the session"),
    (
        "/* t1 */ BEGIN;;",
        "1:16: expected a comment that names the session, such as /* t1 */, found `;`",
    ),
    (
        "/* t 1 */ BEGIN;",
        "1:11: expected a comment that names the session, such as /* t1 */, found `BEGIN;` (`/* t 1 */` is no name",
    ),
    ("/*+ t1 */ SELECT 1;", "1:1: expected a comment that names the session"),
    ("/* t1 */ ;", "1:10: expected a statement after /* t1 */, found `;`"),
    ("/* t1 */ -- x\n;", "1:10: expected a statement after /* t1 */, found `-- x`"),
    (
        "/* t1 */",
        "1:9: expected a `;` at the end of the statement that begins here, found the end of the file",
    ),
    (
        "/* t1 */ BEGIN;\n/* é */ 'é', SELECT 'x;\n",
        "2:21: expected a closing ' for a string that begins here, found the end of the file",
    ),
    (
        "/* t1 */ BEGIN;\n/* t2 */ SELECT 1",
        "2:10: expected a `;` at the end of the statement that begins here",
    ),
    (
        "/* t1 */ BEGIN\n/* t2 */ SELECT 1;",
        "2:1: expected a `;` at the end of the statement of line 1, found the next one, `/* t2 */`",
    ),
    (
        "/* t1 */\n/* t2 */ SELECT 1;",
        "2:1: expected a statement after /* t1 */, found the next one, `/* t2 */`",
    ),
    ("/* t1 */ SELECT $a$;$$;", "1:17: expected a closing $a$ for a dollar quote"),
    ("/* t1 */ SELECT 1 /* ;", "1:19: expected a closing */ for a comment"),
    ("/* t1 */ SELECT 1; /* ", "1:20: expected a closing */ for a comment"),
    (
        "/* t1 */ CREATE PROCEDURE p() BEGIN SELECT 1;",
        "1:31: expected an END for the block that begins here, and a `;`, found the end of the file",
    ),
];

#[test]
fn errors_say_where_and_what_was_expected() {
    for (text, expected) in ERRORS {
        let error = Case::parse("file.case", text).expect_err(text).to_string();
        let expected = format!("file.case:{expected}");
        assert!(error.starts_with(&expected), "{text}\n got {error}\nwant {expected}");
    }
    let error = Case::parse("x", "").expect_err("nothing is no case").in_file("dir/x.case");
    assert!(error.to_string().starts_with("dir/x.case:1:1: "));
}
