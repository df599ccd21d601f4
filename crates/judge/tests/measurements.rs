//! Where a phenomenon was measured: reading it, and holding it against a run on releases that were measured, and on
//! releases that nobody measured. All versions here are pretended.

mod common;

use anchorite_judge::{Agreement, Measurements, Remark, compare, remarks};
use anchorite_model::{Case, ErrorClass, Judgement, Level, Product, Run, TargetInfo, Verdict};
use common::{error, quiet_run, set_outcome};

const TEXT: &str = "\
-- level: serializable
-- targets: mariadb, mysql, postgres, tidb
-- shows: step 2 succeeds and committed t1
-- manifests: postgres 15.18 17.11 ser; mariadb 10.11.18 ru rc; mysql all; tidb since 6.6.0 all
-- absent: postgres 15.20 ser
-- absent: mariadb 10.11.18 rr; tidb before 6.6.0 all
-- seen: postgres 15.18 rr; mariadb 11.8.6 rr: step 2 fails serialization
-- expect: final-state violation on postgres 15.18
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

/// What is said where the phenomenon shows, and where it does not.
fn about(product: Product, version: &str, level: Level) -> [Option<(Agreement, String)>; 2] {
    let measured = Measurements::of(&case(TEXT)).expect("a readable header");
    [true, false].map(|shows| {
        let remark = measured.about(&target(product, version), level, shows);
        remark.map(|remark| (remark.agreement, remark.sentence))
    })
}

fn said(agreement: Agreement, sentence: &str) -> Option<(Agreement, String)> {
    Some((agreement, sentence.to_owned()))
}

#[test]
fn the_very_release_that_was_measured_must_do_it_again() {
    use Agreement::{AsExpected, Differs};
    for version in ["15.18", "15.18 (Debian 15.18-0+deb12u1)"] {
        assert_eq!(
            about(Product::named("postgres"), version, Level::Serializable),
            [
                said(AsExpected, "shows, as measured on 15.18"),
                said(Differs, "measured on 15.18: shows; here on 15.18: does not"),
            ]
        );
    }
    assert_eq!(
        about(Product::named("postgres"), "15.20", Level::Serializable),
        [
            said(Differs, "measured on 15.20: does not show; here on 15.20: shows"),
            said(AsExpected, "does not show, as measured on 15.20"),
        ]
    );
}

#[test]
fn a_release_that_nobody_measured_is_told_and_fails_nothing() {
    let known = "measured on 15.18, 17.11: shows; on 15.20: does not show";
    for version in ["15.1", "15.19", "15.21", "16.14", "18.6", "19beta1"] {
        let number = version.trim_end_matches("beta1");
        assert_eq!(
            about(Product::named("postgres"), version, Level::Serializable),
            ["shows", "does not"].map(|now| {
                said(Agreement::OtherVersion, &format!("{known}; here on {number}: {now}"))
            })
        );
    }
    let only = "measured on 10.11.18: shows; here on 10.11.20: does not";
    let [_, gone] = about(Product::named("mariadb"), "10.11.20-MariaDB", Level::ReadCommitted);
    assert_eq!(gone, said(Agreement::OtherVersion, only));
    // A series is no release: nobody knows which one was measured.
    let series = Measurements::of(&case(&format!("-- manifests: postgres 14 rc\n{TEXT}")));
    let series = series.expect("a readable header");
    let here =
        series.about(&target(Product::named("postgres"), "14.9"), Level::ReadCommitted, false);
    let told = here.map(|remark| (remark.agreement, remark.sentence));
    let expected = "measured on 14: shows; here on 14.9: does not";
    assert_eq!(told, said(Agreement::OtherVersion, expected));
    assert_eq!(about(Product::named("postgres"), "15.18", Level::ReadCommitted), [None, None]);
    assert_eq!(about(Product::named("cockroach"), "22.2.6", Level::Serializable), [None, None]);
}

#[test]
fn what_is_documented_holds_on_every_release_of_its_range() {
    use Agreement::{AsExpected, Differs};
    for version in ["5.6.24", "9.7.4", "9.9.99"] {
        let differs = format!("documented: shows; here on {version}: does not");
        assert_eq!(
            about(Product::named("mysql"), version, Level::RepeatableRead),
            [said(AsExpected, "shows, as documented"), said(Differs, &differs)]
        );
    }
    let [_, old] = about(Product::named("tidb"), "5.7.25-TiDB-v4.0.0", Level::ReadCommitted);
    assert_eq!(old, said(AsExpected, "does not show, as documented"));
    let [new, _] = about(Product::named("tidb"), "8.0.11-TiDB-v8.5.0", Level::ReadCommitted);
    assert_eq!(new, said(AsExpected, "shows, as documented"));
}

fn run_on(product: Product, version: &str, level: Level, fails: Option<ErrorClass>) -> Run {
    let mut run = quiet_run(&case(TEXT));
    run.target = target(product, version);
    run.level = Some(level);
    run.sessions[0].level = Some(level);
    if let Some(class) = fails {
        set_outcome(&mut run, 2, error(class, true));
    }
    run
}

#[test]
fn further_conditions_belong_to_their_releases_too() {
    let told = |version: &str, fails| {
        let run = run_on(Product::named("postgres"), version, Level::RepeatableRead, Some(fails));
        let found = remarks(&run.case, &run, Level::RepeatableRead).expect("a header");
        found.into_iter().map(|Remark { agreement, sentence }| (agreement, sentence)).next()
    };
    assert_eq!(
        told("15.18", ErrorClass::Serialization),
        said(Agreement::AsExpected, "step 2 fails serialization, as measured on 15.18")
    );
    assert_eq!(
        told("15.18", ErrorClass::Deadlock),
        said(
            Agreement::Differs,
            "measured on 15.18: step 2 fails serialization; here on 15.18: not"
        )
    );
    assert_eq!(
        told("15.20", ErrorClass::Deadlock),
        said(
            Agreement::OtherVersion,
            "measured on 15.18: step 2 fails serialization; here on 15.20: not"
        )
    );
}

fn judged(verdict: Verdict) -> [Judgement; 1] {
    [Judgement::new("final-state", verdict)]
}

#[test]
fn a_run_is_compared_with_all_that_is_known_of_its_place() {
    let compared = |version: &str, level, fails, verdict: &Verdict| {
        let run = run_on(Product::named("postgres"), version, level, fails);
        compare(&run, &judged(verdict.clone())).expect("a readable header")
    };
    let violation = Verdict::broken("G2", Vec::new());
    let deadlock = Some(ErrorClass::Deadlock);

    let as_measured = compared("15.18", Level::Serializable, None, &violation);
    assert_eq!(as_measured.agreement(), Some(Agreement::AsExpected));
    assert!(as_measured.announced && as_measured.remarks.len() == 2, "{as_measured:?}");

    let gone = compared("15.18", Level::Serializable, deadlock, &Verdict::Pass);
    assert_eq!(gone.agreement(), Some(Agreement::Differs));
    assert_eq!(gone.remarks[1].sentence, "expected final-state violation, got pass");

    // The same on a release that nobody measured: told, and no more than that.
    let gone = compared("15.21", Level::Serializable, deadlock, &Verdict::Pass);
    assert_eq!(gone.agreement(), Some(Agreement::OtherVersion));
    let there = compared("15.21", Level::Serializable, None, &violation);
    assert_eq!(there.agreement(), Some(Agreement::OtherVersion));
    assert!(there.announced, "the file says that releases of this product have it");

    // Nothing is expected at another level, and a violation there is news.
    let elsewhere = compared("15.18", Level::ReadCommitted, None, &violation);
    assert_eq!((elsewhere.agreement(), elsewhere.announced), (None, false));
}

#[test]
fn a_bad_place_is_refused_with_its_line() {
    for (line, reason) in [
        ("manifests: oracle 23 rc", "unknown product 'oracle'"),
        ("manifests: mysql 9.7.4", "'mysql 9.7.4' names no level"),
        ("manifests: mysql since rc", "'rc' is not a version"),
        ("manifests: mysql 9.7.4 rc all", "unknown isolation level 'all'"),
        ("absent: mysql 9.x rc", "unknown isolation level '9.x'"),
        ("absent: mysql 9.7.4 rc;", "expected a product, versions and levels"),
        ("seen: mysql 9.7.4 rc", "expected PLACES: CONDITION, and found no colon"),
        ("seen: mysql 9.7.4 rc: step 9 fails", "there is no step 9"),
        ("seen: mysql 9.7.4 rc: step 2 fails badly", "column 14: expected an error class"),
    ] {
        let case = case(&format!("-- {line}\n{TEXT}"));
        let error = Measurements::of(&case).expect_err(line).to_string();
        assert!(error.starts_with("case example: -- ") && error.contains(reason), "{error}");
    }
}
