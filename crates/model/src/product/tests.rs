//! Descriptors: what the built-in ones say, and what is refused.

use super::*;
use crate::error_class::ErrorClass;

#[test]
fn products_are_found_by_every_name() {
    for (name, product) in [
        ("mariadb", "mariadb"),
        (" PostgreSQL ", "postgres"),
        ("cockroachdb", "cockroach"),
        ("SQLite", "sqlite"),
    ] {
        assert_eq!(name.parse::<Product>().unwrap().name(), product);
    }
    let told = "postgers".parse::<Product>().unwrap_err().to_string();
    assert!(
        told.contains("expected sqlite, mariadb") && told.ends_with("did you mean postgres?"),
        "{told}"
    );
    assert_eq!(Product::of_scheme("postgresql"), Product::find("postgres"));
}

#[test]
fn files_hold_names_as_they_always_did() {
    let text = serde_json::to_string(&Product::named("mariadb")).unwrap();
    assert_eq!(text, "\"Mariadb\"");
    for text in ["\"Mariadb\"", "\"mariadb\""] {
        assert_eq!(serde_json::from_str::<Product>(text).unwrap(), Product::named("mariadb"));
    }
    let told = serde_json::from_str::<Product>("\"Acme\"").unwrap_err().to_string();
    assert!(told.contains("unknown product 'Acme'") && told.contains("--descriptor"), "{told}");
}

#[test]
fn every_descriptor_names_products_that_exist() {
    for product in Product::all() {
        for name in &product.descriptor().speakers {
            assert!(Product::find(name).is_some(), "{product}: {name}");
        }
        assert!(product.speakers().contains(&product));
    }
}

fn meaning(product: &str, code: &str, message: &str, sql: &str, on: &[&str]) -> Meaning {
    let signs = ErrorSigns { code, state: "", message, sql };
    let errors = Product::named(product).descriptor().errors();
    errors.meaning(&signs, |setting| on.contains(&setting))
}

#[test]
fn the_first_rule_that_fits_counts() {
    use ErrorClass as C;
    use Leaves::{Failed, Gone, Statement};
    for (product, code, sql, class, leaves) in [
        ("mysql", "1213", "UPDATE t SET a=1", C::Deadlock, Gone),
        ("mysql", "3058", "SELECT 1", C::Deadlock, Statement),
        ("mariadb", "1020", "UPDATE t SET a=1", C::Conflict, Gone),
        ("mysql", "1020", "UPDATE t SET a=1", C::Other, Statement),
        ("tidb", "9007", "COMMIT", C::Conflict, Gone),
        ("tidb", "9007", "(select 1) for update", C::Conflict, Statement),
        ("tidb", "1062", "COMMIT", C::Constraint, Gone),
        ("tidb", "1062", "INSERT INTO t VALUES (1)", C::Constraint, Statement),
        ("tidb", "8141", "COMMIT", C::Other, Gone),
        ("mysql", "1064", "SELEC 1", C::Other, Statement),
        ("postgres", "40P01", "UPDATE t SET a=1", C::Deadlock, Failed),
        ("postgres", "08006", "SELECT 1", C::ConnectionLost, Failed),
        ("cockroach", "23505", "SELECT 1", C::Constraint, Failed),
        ("postgres", "25P02", "SELECT 1", C::Other, Failed),
    ] {
        let found = meaning(product, code, "", sql, &[]);
        assert_eq!((found.class, found.leaves), (class, leaves), "{product} {code} {sql}");
    }
    let plain = meaning("mysql", "1205", "", "SELECT 1", &[]);
    assert_eq!((plain.leaves, plain.is_outside), (Statement, false));
    let configured = meaning("mysql", "1205", "", "SELECT 1", &["innodb_rollback_on_timeout"]);
    assert_eq!((configured.leaves, configured.is_outside), (Gone, false));
}

#[test]
fn one_number_of_myrocks_has_two_meanings() {
    use ErrorClass as C;
    let found = |code, message| {
        let found = meaning("mariadb:rocksdb", code, message, "UPDATE t SET a=1", &[]);
        (found.class, found.leaves, found.roll_back)
    };
    let snapshot = "Deadlock found when trying to get lock (snapshot conflict)";
    assert_eq!(found("1213", snapshot), (C::Conflict, Leaves::Statement, true));
    assert_eq!(found("1213", "Deadlock found"), (C::Deadlock, Leaves::Gone, false));
    let gone = "Got error 1 'NotFound: ' from ROCKSDB";
    assert_eq!(found("1296", gone), (C::Conflict, Leaves::Statement, true));
    assert_eq!(found("1296", "Got error 2").0, C::Other);
    assert_eq!(found("4061", "").1, Leaves::Failed);
    assert_eq!(found("1062", ""), (C::Constraint, Leaves::Statement, false));
}

#[test]
fn a_descriptor_is_like_another_except_for_what_it_says() {
    let text = r#"
name = "likeness"
title = "Likeness"
like = "mariadb"
schemes = ["likeness"]
engine = "other"

[connection]
port = 3333

[[error]]
codes = ["1213"]
message = "(snapshot conflict)"
class = "serialization"
"#;
    let product = Product::add("likeness.toml", text).unwrap();
    let (own, other) = (product.descriptor(), Product::named("mariadb").descriptor());
    assert_eq!((own.connection.port, own.connection.user.as_str()), (3333, "root"));
    assert_eq!((own.engine.as_str(), &own.features), ("other", &other.features));
    assert!(own.claims.is_none() && own.aliases.is_empty());
    let found = |message| meaning("likeness", "1213", message, "UPDATE t SET a=1", &[]).class;
    assert_eq!(found("Deadlock found (snapshot conflict)"), ErrorClass::Serialization);
    assert_eq!(found("Deadlock found"), ErrorClass::Deadlock);
    assert!(product > Product::named("cockroach") && product.speakers()[0] == product);
    let again = Product::add("likeness.toml", text).unwrap_err().to_string();
    assert_eq!(again, "likeness.toml:2: there is a product 'likeness' already");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let whole = "name = \"acme\"\ntitle = \"Acme\"\ndriver = \"mysql\"\ndialect = \"mysql\"\n\
                 engine = \"acme\"\nschemes = [\"acme\"]\n";
    let without = |line: &str| whole.replace(line, "");
    for (text, expected) in [
        ("name = ", "x.toml:1: "),
        (&*without("name = \"acme\"\n"), "x.toml:1: expected name"),
        (&*whole.replace("\"acme\"\ntitle", "\"Acme\"\ntitle"), "x.toml:1: expected name"),
        (
            &*whole.replace("\"acme\"\ntitle", "\"mysql\"\ntitle"),
            "x.toml:1: there is a product 'mysql'",
        ),
        (&*without("title = \"Acme\"\n"), "expected title"),
        (
            &*whole.replace("driver = \"mysql\"", "driver = \"odbc\""),
            "x.toml:3: unknown driver 'odbc': expected sqlite,",
        ),
        (&*whole.replace("dialect = \"mysql\"", "dialect = \"odd\""), "x.toml:4: "),
        (&*whole.replace("[\"acme\"]", "[\"tidb\"]"), "x.toml:6: 'tidb://' belongs"),
        (&*format!("{whole}like = \"none\"\n"), "x.toml:7: unknown product 'none'"),
        (&*format!("{whole}colour = 1\n"), "x.toml:7: unknown field `colour`"),
        (
            &*format!("{whole}[[error]]\nclass = \"bad\"\n"),
            "x.toml:8: unknown class 'bad': expected deadlock",
        ),
        (
            &*format!("{whole}[[error]]\nclass = \"other\"\nleaves = \"none\"\n"),
            "x.toml:9: unknown variant `none`",
        ),
        (
            &*format!("{whole}[[levels.level]]\nname = \"odd\"\nset = []\n"),
            "x.toml:8: unknown isolation level",
        ),
    ] {
        let told = Product::add("x.toml", text).unwrap_err().to_string();
        assert!(told.contains(expected), "{text}\n{told}");
    }
    assert!(Product::find("acme").is_none());
}
