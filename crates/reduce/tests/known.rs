//! The files under `known/`: all of the repository are built in, and mistakes are told with their line.

use std::collections::BTreeSet;
use std::path::Path;

use anchorite_model::{Level, Product, TargetInfo};
use anchorite_reduce::known::{KnownIssue, Presence, built_in};

fn target(product: Product, version: &str) -> TargetInfo {
    TargetInfo { product, version: version.to_owned(), variant: String::new() }
}

#[test]
fn every_file_is_built_in_and_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../known");
    let loaded = KnownIssue::load_folder(&folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(loaded, built_in());
    let names: BTreeSet<&str> = loaded.iter().map(|issue| issue.name.as_str()).collect();
    assert_eq!(names.len(), loaded.len());
}

#[test]
fn an_entry_that_no_longer_shows_is_gone() {
    let issue = built_in().iter().find(|issue| issue.name == "MDEV-26643").expect("an entry");
    let rc = Some(Level::ReadCommitted);
    let old = target(Product::named("mariadb"), "10.11.19-MariaDB");
    assert_eq!(issue.presence(&old, rc, true), Presence::StillThere);
    assert_eq!(issue.presence(&old, rc, false), Presence::Gone);
    assert_eq!(issue.presence(&old, Some(Level::Serializable), false), Presence::SaysNothing);
    let new = target(Product::named("mariadb"), "11.8.6-MariaDB");
    assert_eq!(issue.presence(&new, rc, false), Presence::SaysNothing);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let good = "name = \"X\"\ntitle = \"x\"\nurl = \"https://example.org/x\"\nstatus = \"open\"\n\
                tracker = \"X-1\"\ncase = \"x.case\"\ncauses = [\"no-order\"]\n\
                vanishes = [\"key-not-moved\"]\n[[affected]]\nproduct = \"mysql\"\nsince = \"8.0\"\n";
    let parse =
        |text: &str| KnownIssue::parse("x.toml", text, &mut |_| Ok("/* a */ SELECT 1;".to_owned()));
    assert!(parse(good).is_ok());
    let table = [
        ("\"open\"", "\"perhaps\"", "x.toml:4: unknown status 'perhaps'"),
        ("tracker = \"X-1\"\n", "", "x.toml:4: expected tracker"),
        ("\"key-not-moved\"", "\"luck\"", "x.toml:8: unknown edit 'luck'"),
        ("since = \"8.0\"\n", "", "x.toml:9: missing field `since`"),
        ("\"mysql\"", "\"oracle\"", "x.toml:10: unknown product 'oracle'"),
        ("https://example.org/x", "somewhere", "x.toml:3: expected https://"),
        ("[\"no-order\"]", "[]", "x.toml:1: expected causes"),
        ("title", "headline", "x.toml:2: unknown field `headline`"),
    ];
    for (from, to, message) in table {
        let error = parse(&good.replace(from, to)).expect_err(message).to_string();
        assert!(error.starts_with(message), "{error}");
    }
}
