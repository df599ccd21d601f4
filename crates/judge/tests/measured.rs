//! Where a phenomenon was measured: reading it, and holding it against a run.

mod common;

use anchorite_judge::{Measured, contradictions};
use anchorite_model::{Case, ErrorClass, Level, Product, Run, TargetInfo};
use common::{error, quiet_run, set_outcome};

const TEXT: &str = "\
-- targets: mariadb, mysql, postgres
-- shows: step 2 succeeds and committed t1
-- manifests: mariadb 10.11 ru rc; mysql all
-- absent: mariadb 11 rr
-- absent: postgres 15 rc ser
-- seen: postgres 15 rr ser; mariadb 11.8 rr: step 2 fails serialization
/* setup */ CREATE TABLE t (id INT);
/* t1 */ BEGIN;
/* t1 */ UPDATE t SET id = 1;
/* t1 */ COMMIT;
";

fn case(text: &str) -> Case {
    Case::parse("example", text).expect("a valid case")
}

fn target(product: Product, version: &str) -> TargetInfo {
    TargetInfo { product, version: version.to_owned(), variant: String::new() }
}

#[test]
fn a_place_is_a_product_a_version_and_levels() {
    let measured = Measured::of(&case(TEXT)).expect("a readable header");
    let expected = |product, version, level| measured.expected(&target(product, version), level);
    assert_eq!(expected(Product::Mariadb, "10.11.19-MariaDB", Level::ReadCommitted), Some(true));
    assert_eq!(expected(Product::Mariadb, "10.11.19-MariaDB", Level::RepeatableRead), None);
    assert_eq!(expected(Product::Mariadb, "10.1.48-MariaDB", Level::ReadCommitted), None);
    assert_eq!(expected(Product::Mariadb, "11.8.6-MariaDB", Level::RepeatableRead), Some(false));
    assert_eq!(expected(Product::Mysql, "5.6.24", Level::Serializable), Some(true));
    assert_eq!(expected(Product::Postgres, "15.19 (Debian)", Level::Serializable), Some(false));
    let postgres = target(Product::Postgres, "15.19");
    assert_eq!(measured.seen_at(&postgres, Level::RepeatableRead).count(), 1);
}

fn run_on(product: Product, version: &str, fails: Option<ErrorClass>) -> Run {
    let mut run = quiet_run(&case(TEXT));
    run.target = target(product, version);
    if let Some(class) = fails {
        set_outcome(&mut run, 2, error(class, true));
    }
    run
}

#[test]
fn a_run_is_held_against_what_was_measured() {
    let wrong = |run: &Run, level| contradictions(&case(TEXT), run, level).expect("a header");
    let shown = run_on(Product::Mysql, "9.7.4", None);
    assert!(wrong(&shown, Level::ReadCommitted).is_empty());
    let gone = run_on(Product::Mysql, "9.7.4", Some(ErrorClass::Deadlock));
    let expected =
        "must show here, but this does not hold: step 2 succeeds and committed t1".to_owned();
    assert_eq!(wrong(&gone, Level::ReadCommitted), [expected]);

    let new = run_on(Product::Postgres, "15.19", None);
    assert_eq!(wrong(&new, Level::ReadCommitted), ["must not show here, but it does".to_owned()]);
    let refused = run_on(Product::Postgres, "15.19", Some(ErrorClass::Serialization));
    assert!(wrong(&refused, Level::Serializable).is_empty());
    let other = run_on(Product::Postgres, "15.19", Some(ErrorClass::Deadlock));
    let expected = "was seen here before, but does not hold: step 2 fails serialization".to_owned();
    assert_eq!(wrong(&other, Level::Serializable), [expected]);
    assert!(wrong(&new, Level::ReadUncommitted).is_empty(), "nobody has looked there");
}

#[test]
fn a_bad_place_is_refused_with_its_line() {
    for (line, reason) in [
        ("manifests: oracle 23 rc", "unknown product 'oracle'"),
        ("manifests: mysql 9.7", "'mysql 9.7' names no level"),
        ("manifests: mysql 9.7 rc all", "unknown isolation level 'all'"),
        ("absent: mysql 9.x rc", "unknown isolation level '9.x'"),
        ("absent: mysql 9.7 rc;", "expected a product, a version and levels"),
        ("seen: mysql 9.7 rc", "expected PLACES: CONDITION, and found no colon"),
        ("seen: mysql 9.7 rc: step 9 fails", "there is no step 9"),
        ("seen: mysql 9.7 rc: step 2 fails badly", "column 14: expected an error class"),
    ] {
        let case = case(&format!("-- {line}\n{TEXT}"));
        let error = Measured::of(&case).expect_err(line).to_string();
        assert!(error.starts_with("case example: -- ") && error.contains(reason), "{error}");
    }
}
