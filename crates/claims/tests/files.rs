//! The built-in claims are complete, and broken files are refused with file, line and reason.

use anchorite_claims::{Anomaly, Claims, Promise, ReadKind, ReadView, SnapshotTaken};
use anchorite_model::{Level, Product, Rank, TargetInfo};

fn target(product: Product, version: &str, variant: &str) -> TargetInfo {
    TargetInfo { product, version: version.to_owned(), variant: variant.to_owned() }
}

fn promise(target: &TargetInfo, level: Level, case: &str) -> Promise {
    let anomaly = Anomaly::ALL
        .into_iter()
        .rev()
        .find(|anomaly| {
            case.starts_with(anomaly.name()) && !case[anomaly.name().len()..].starts_with("-item")
        })
        .expect("every case name begins with its anomaly's name");
    Claims::for_product(target.product).about(target, level, anomaly, case).promise
}

#[test]
fn every_product_has_a_file() {
    for product in Product::all() {
        let claims = Claims::for_product(product);
        assert_eq!(claims.product, product);
        assert!(claims.levels.iter().any(|level| level.offered), "{product}");
        assert!(claims.levels.is_sorted_by_key(|level| level.level), "{product}: weakest first");
    }
}

#[test]
fn the_serializable_levels_prevent_everything() {
    for (product, version) in [
        (Product::named("sqlite"), "3.50.0"),
        (Product::named("mariadb"), "10.11.19-MariaDB"),
        (Product::named("mysql"), "9.7.4"),
        (Product::named("postgres"), "15.19"),
        (Product::named("cockroach"), "CockroachDB CCL v20.1.17"),
    ] {
        for anomaly in Anomaly::ALL {
            let target = target(product, version, "");
            let promise = promise(&target, Level::Serializable, anomaly.name());
            assert_eq!(promise, Promise::Prevented, "{product} {anomaly}");
        }
    }
}

#[test]
fn a_version_changes_what_is_claimed() {
    let old = target(Product::named("mariadb"), "10.11.19-MariaDB-deb12", "");
    let new = target(Product::named("mariadb"), "11.8.6-MariaDB", "");
    for case in ["P4", "PMP-write", "G-single-write-delete"] {
        assert_eq!(promise(&old, Level::RepeatableRead, case), Promise::Unspecified, "{case}");
        assert_eq!(promise(&new, Level::RepeatableRead, case), Promise::Prevented, "{case}");
    }
    let before_read_committed = target(Product::named("cockroach"), "v22.2.6", "");
    let with_read_committed = target(Product::named("cockroach"), "v24.1.0", "");
    assert_eq!(promise(&before_read_committed, Level::ReadCommitted, "P4"), Promise::Unspecified);
    assert_eq!(promise(&with_read_committed, Level::ReadCommitted, "P4"), Promise::Possible);
}

#[test]
fn a_session_is_held_to_its_settings_and_not_to_the_version() {
    let claims = Claims::for_product(Product::named("mariadb"));
    let said = |version, words| {
        let target = target(Product::named("mariadb"), version, "");
        claims.about_session(&target, Level::RepeatableRead, words, Anomaly::P4, "P4").promise
    };
    for version in ["10.11.19-MariaDB", "11.8.6-MariaDB"] {
        assert_eq!(said(version, "REPEATABLE-READ"), Promise::Unspecified);
        let on = "REPEATABLE-READ (innodb_snapshot_isolation=ON)";
        assert_eq!(said(version, on), Promise::Prevented);
    }
}

#[test]
fn reads_see_what_the_level_and_the_variant_promise() {
    use ReadKind::{Locking, Optimistic, Plain, Single};
    use ReadView::{Latest, StatementSnapshot, TransactionSnapshot, Uncommitted};
    let (rc, rr, ser) = (Level::ReadCommitted, Level::RepeatableRead, Level::Serializable);
    let first_read = Some(SnapshotTaken::FirstRead);
    let first_statement = Some(SnapshotTaken::FirstStatement);
    let begin = Some(SnapshotTaken::Begin);
    let table = [
        ("mysql", "", Level::ReadUncommitted, Plain, Uncommitted, None),
        ("mysql", "", rr, Single, TransactionSnapshot, first_read),
        ("mariadb", "", ser, Plain, Latest, None),
        ("mariadb", "", ser, Single, StatementSnapshot, None),
        ("postgres", "", Level::ReadUncommitted, Plain, StatementSnapshot, None),
        ("postgres", "", rr, Locking, TransactionSnapshot, first_statement),
        ("sqlite", "wal", ser, Plain, TransactionSnapshot, first_statement),
        ("sqlite", "shared-cache", ser, Plain, StatementSnapshot, None),
        ("tidb", "", rc, Plain, StatementSnapshot, None),
        ("tidb", "", rc, Optimistic, TransactionSnapshot, begin),
    ];
    for (product, variant, level, kind, sees, taken) in table {
        let target = target(Product::named(product), "99.9.9", variant);
        let claims = Claims::for_product(target.product);
        let read = claims.read_of_session(&target, level, None, kind).expect("there is a claim");
        assert_eq!((read.sees, read.taken), (sees, taken), "{product} {variant} {level} {kind:?}");
    }
}

#[test]
fn a_case_differs_from_its_anomaly_where_the_vendor_says_so() {
    let mysql = target(Product::named("mysql"), "9.7.4", "");
    assert_eq!(promise(&mysql, Level::RepeatableRead, "PMP"), Promise::Prevented);
    assert_eq!(promise(&mysql, Level::RepeatableRead, "PMP-delete"), Promise::Prevented);
    assert_eq!(promise(&mysql, Level::RepeatableRead, "PMP-write"), Promise::Possible);
    assert_eq!(promise(&mysql, Level::Serializable, "PMP-write"), Promise::Prevented);
}

#[test]
fn one_level_can_be_another_ones_name() {
    let postgres = target(Product::named("postgres"), "15.19", "");
    for anomaly in Anomaly::ALL {
        let uncommitted = promise(&postgres, Level::ReadUncommitted, anomaly.name());
        assert_eq!(uncommitted, promise(&postgres, Level::ReadCommitted, anomaly.name()));
    }
}

#[test]
fn a_level_that_only_a_variant_has_is_silent_elsewhere() {
    let shared = target(Product::named("sqlite"), "3.50.0", "shared-cache");
    let plain = target(Product::named("sqlite"), "3.50.0", "wal");
    assert_eq!(promise(&shared, Level::ReadUncommitted, "G1a"), Promise::Possible);
    assert_eq!(promise(&plain, Level::ReadUncommitted, "G1a"), Promise::Unspecified);
}

const LEVEL: &str = r#"product = "mysql"

[[level]]
level = "serializable"
spelling = "SERIALIZABLE"
offered = true
url = "https://example.org/levels"
says = "Everything is serial."
"#;

const CLAIM: &str = r#"
[[level.anomaly]]
names = ["G0", "G1a", "G1b", "G1c", "OTV", "PMP", "P4", "G-single", "G2-item", "G2"]
claim = "prevented"
url = "https://example.org/levels"
says = "Nothing can happen."
"#;

#[test]
fn a_complete_file_is_accepted() {
    let claims = Claims::parse("x.toml", &[LEVEL, CLAIM].concat()).expect("a valid file");
    assert_eq!(claims.levels[0].claims[0].subjects.len(), 10);
}

const EXCEPTION: &str = r#"
[[level.exception]]
name = "late-look"
rows = ["locked"]
quote = "A write may look late."
copied = "2026-09-12"
url = "https://example.org/levels"
says = "Some writes look late."
"#;

#[test]
fn an_exception_has_the_words_of_a_page_or_a_rank() {
    let read = |exception: &str| Claims::parse("x.toml", &[LEVEL, CLAIM, exception].concat());
    let claims = read(EXCEPTION).expect("a valid file");
    let quote = claims.levels[0].exceptions[0].quote.clone().expect("a quote");
    assert_eq!(
        (quote.words.as_str(), quote.copied.as_str()),
        ("A write may look late.", "2026-09-12")
    );
    let forty_one = ["a"; 41].join(" ");
    for (old, new, expected) in [
        ("2026-09-12", "2026-09", None),
        ("2026-09-12", "2026-13", Some("x.toml:20: '2026-13' is not a date")),
        ("2026-09-12", "2026-09-31", Some("x.toml:20: '2026-09-31' is not a date")),
        ("2026-09-12", "12:30:00", Some("x.toml:20: '12:30:00' is not a date")),
        ("A write may look late.", &forty_one, Some("x.toml:19: a quote of 41 words")),
        ("A write may look late.", "", Some("x.toml:19: a quote of 0 words")),
        ("copied = \"2026-09-12\"\n", "", Some("x.toml:17: 'late-look' needs the page's words")),
        ("rows", "rank = \"undocumented\"\nrows", Some("x.toml:18: what a manual says is not")),
        ("rows", "rank = \"low\"\nrows", Some("x.toml:18: unknown value 'low'")),
        ("rows", "with = \"a\"\nwithout = \"b\"\nrows", Some("x.toml:17: expected either with")),
    ] {
        assert!(EXCEPTION.contains(old), "{old}");
        match (read(&EXCEPTION.replacen(old, new, 1)), expected) {
            (Ok(_), None) => {}
            (Err(error), Some(expected)) => {
                assert!(error.to_string().starts_with(expected), "{new}: {error}");
            }
            (found, _) => panic!("{new}: {found:?}"),
        }
    }
    let quote = "quote = \"A write may look late.\"\ncopied = \"2026-09-12\"\n";
    let undocumented = EXCEPTION.replace(quote, "rank = \"undocumented\"\n");
    let claims = read(&undocumented).expect("a valid file");
    assert_eq!(claims.levels[0].exceptions[0].rank(), Some(Rank::Undocumented));
}

#[test]
fn an_exception_belongs_to_a_setting_of_the_sessions() {
    let claims = Claims::for_product(Product::named("mariadb"));
    let has = |version: &str, level, read_back: &[&str], name: &str| {
        let target = target(Product::named("mariadb"), version, "");
        let writes = match read_back {
            [] => claims.writes(&target, level),
            words => claims.writes_of_sessions(&target, level, words),
        };
        writes.expect("claims").exceptions.iter().any(|exception| exception.name == name)
    };
    let (on, off) = ("READ-COMMITTED (innodb_snapshot_isolation=ON)", "READ-COMMITTED");
    for (version, read_back, semi, dirty) in [
        ("10.11.19", &[][..], true, false),
        ("10.11.19", &[off, off], true, false),
        ("10.11.19", &[on, on], false, true),
        ("11.8.6", &[], false, true),
        ("11.8.6", &[on, on], false, true),
        ("11.8.6", &[off, off], true, false),
        ("11.8.6", &[on, off], true, true),
    ] {
        let found = (
            has(version, Level::ReadCommitted, read_back, "semi-consistent-read"),
            has(version, Level::ReadUncommitted, read_back, "dirty-look"),
        );
        assert_eq!(found, (semi, dirty), "{version} {read_back:?}");
        assert!(has(version, Level::ReadUncommitted, read_back, "semi-consistent-read"));
    }
}

/// What is replaced in the valid file, by what, and where and how that is refused.
const BROKEN: [(&str, &str, &str); 18] = [
    ("product = \"mysql\"", "product = \"mysq\"", "x.toml:1: unknown product 'mysq'"),
    ("offered = true\n", "", "x.toml:3: missing field `offered`"),
    ("spelling", "speling", "x.toml:5: unknown field `speling`"),
    ("offered = true", "offered = 1", "x.toml:6: invalid type: integer `1`, expected a boolean"),
    (
        "level = \"serializable\"",
        "level = \"serial\"",
        "x.toml:4: unknown isolation level 'serial'",
    ),
    ("url = \"https://example.org/levels\"\n", "", "x.toml:3: missing field `url`"),
    (
        "url = \"https://example.org/levels\"",
        "url = \"page 7\"",
        "x.toml:7: 'page 7' is not a page",
    ),
    ("says = \"Everything is serial.\"", "says = \" \"", "x.toml:8: expected what the page says"),
    ("\"G1a\", ", "", "x.toml:3: 'serializable' has no claim, at some version, about G1a"),
    ("\"G0\"", "\"G9\"", "x.toml:11: unknown anomaly 'G9'"),
    ("claim = \"prevented\"", "claim = \"never\"", "x.toml:12: unknown claim 'never'"),
    (
        "claim = \"prevented\"",
        "claim = \"prevented\"\nsince = \"new\"",
        "x.toml:13: 'new' is not a version",
    ),
    (
        "claim = \"prevented\"",
        "claim = \"prevented\"\nsince = \"8.0\"",
        "x.toml:3: 'serializable' has no claim",
    ),
    (
        "claim = \"prevented\"",
        "claim = \"prevented\"\nbefore = \"8.0\"",
        "x.toml:3: 'serializable' has no claim",
    ),
    ("names = ", "cases = [\"G0\"]\nnames = ", "x.toml:10: expected either names"),
    ("names = ", "with = \"a\"\nwithout = \"b\"\nnames = ", "x.toml:10: expected either with"),
    (
        "offered = true",
        "offered = false",
        "x.toml:3: 'serializable' is not offered, but has claims",
    ),
    ("[[level.anomaly]]", "[level.anomaly", "x.toml:10: "),
];

#[test]
fn a_broken_file_is_refused_with_its_line() {
    let valid = [LEVEL, CLAIM].concat();
    for (old, new, expected) in BROKEN {
        assert!(valid.contains(old), "{old}");
        let text = valid.replacen(old, new, 1);
        let error = Claims::parse("x.toml", &text).expect_err(new).to_string();
        assert!(error.starts_with(expected), "{new}: {error}");
    }
}

#[test]
fn two_answers_to_one_question_are_refused() {
    let twice = [LEVEL, CLAIM, CLAIM].concat();
    let error = Claims::parse("x.toml", &twice).expect_err("two claims").to_string();
    assert_eq!(error, "x.toml:3: 'serializable' has two claims about G0");

    let level = LEVEL.split_once("\n\n").expect("a blank line").1;
    let twice = [LEVEL, CLAIM, "\n", level, CLAIM].concat();
    let error = Claims::parse("x.toml", &twice).expect_err("two levels").to_string();
    assert_eq!(error, "x.toml:3: 'serializable' is defined twice");
}

#[test]
fn a_missing_file_is_named() {
    let error = Claims::load("no/such/claims.toml".as_ref()).expect_err("no file").to_string();
    assert!(error.starts_with("cannot read no/such/claims.toml: "), "{error}");
}

#[test]
fn the_pages_are_those_of_the_servers_own_manual() {
    for (product, version, page) in [
        (Product::named("postgres"), "15.20 (Debian 15.20-0+deb12u1)", "postgresql.org/docs/15/"),
        (Product::named("postgres"), "18.1", "postgresql.org/docs/18/"),
        (Product::named("postgres"), "99.1", "postgresql.org/docs/18/"),
        (Product::named("mysql"), "9.7.4", "refman/9.7/en/"),
        (Product::named("mysql"), "9.3.0", "refman/9.7/en/"),
        (Product::named("mysql"), "8.4.11", "refman/8.4/en/"),
        (Product::named("mysql"), "8.1.0", "refman/8.4/en/"),
        (Product::named("mysql"), "5.6.51", "refman/5.7/en/"),
        (Product::named("mariadb"), "10.11.19-MariaDB", "mariadb.com/docs/"),
    ] {
        let claims = Claims::for_target(&target(product, version, ""));
        for level in &claims.levels {
            let documented = level.exceptions.iter().filter(|exception| exception.is_documented());
            let exceptions = documented.map(|exception| &exception.url);
            let writes = level.writes.iter().map(|writes| &writes.url);
            let all = level.claims.iter().map(|claim| &claim.url).chain(exceptions).chain(writes);
            for url in all.chain([&level.url]) {
                assert!(url.contains(page), "{product} {version}: {url}");
            }
        }
    }
}

#[test]
fn a_placeholder_without_manuals_is_refused() {
    let text = std::fs::read_to_string("../../claims/mysql.toml").expect("a claims file");
    let without = text.lines().filter(|line| !line.starts_with("manual")).collect::<Vec<_>>();
    let told = Claims::parse("x.toml", &without.join("\n")).unwrap_err().to_string();
    assert!(told.contains("{version} needs manual"), "{told}");
    let mixed = text.replace("\"8.0\", \"8.4\"", "\"8.4\", \"8.0\"");
    let told = Claims::parse("x.toml", &mixed).unwrap_err().to_string();
    assert!(told.contains("oldest first"), "{told}");
}
