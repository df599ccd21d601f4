//! What `anchorite claims` shows: one product whole, and of every product each page that its claims name.

use anchorite_claims::Claims;
use anchorite_model::{Level, Product, TargetInfo};
use anchorite_report::claims::{Sheet, json, markdown, text};
use anchorite_report::{Glyphs, Style, TextOptions};

const OPTIONS: TextOptions =
    TextOptions { width: 100, style: Style::Plain, glyphs: Glyphs::Unicode };

fn sheet(name: &str, version: &str, levels: Vec<Level>) -> Sheet<'static> {
    let (version, variant) = (version.to_owned(), String::new());
    let target = TargetInfo { product: Product::named(name), version, variant };
    let claims = Claims::for_target(&target);
    Sheet { target, claims, levels }
}

#[test]
fn a_level_is_shown_in_every_form() {
    let sheets = [sheet("postgres", "15", vec![Level::RepeatableRead])];
    insta::assert_snapshot!("claims_text", text(&sheets, &OPTIONS));
    insta::assert_snapshot!("claims_markdown", markdown(&sheets));
    insta::assert_snapshot!("claims_json", json(&sheets, "0.1.0"));
}

#[test]
fn every_page_is_named() {
    for product in Product::all() {
        let sheets = [sheet(product.name(), "", Vec::new())];
        let forms = [text(&sheets, &OPTIONS), markdown(&sheets), json(&sheets, "0.1.0")];
        for level in &sheets[0].claims.levels {
            let exceptions = level.exceptions.iter().map(|exception| &exception.url);
            let claims = level.claims.iter().map(|claim| &claim.url);
            for url in [&level.url].into_iter().chain(claims).chain(exceptions) {
                // A long address is broken at the edge of a terminal.
                let is_named = |form: &String| form.replace("\n    ", "").contains(url.as_str());
                assert!(forms.iter().all(is_named), "{product} {}: {url}", level.level);
            }
        }
    }
}

#[test]
fn words_dates_bounds_and_ranks_are_shown() {
    let sheets = [sheet("mariadb", "", vec![Level::ReadUncommitted, Level::ReadCommitted])];
    let (told, pasted) = (text(&sheets, &OPTIONS).replace("\n    ", " "), markdown(&sheets));
    for part in [
        "exception semi-consistent-read (update by a scan), before 11.6.2, without innodb_snapshot_isolation=ON.",
        "undocumented: dirty-look (update), since 11.6.2, with innodb_snapshot_isolation=ON.",
        "“an UPDATE statement skips a row that another transaction has locked",
        "search condition.” (copied 2026-09)",
    ] {
        for form in [&told, &pasted] {
            assert!(form.replace('\\', "").contains(part), "{part} in {form}");
        }
    }
    let document: serde_json::Value = serde_json::from_str(&json(&sheets, "")).expect("JSON");
    let exceptions = document["products"][0]["levels"][0]["exceptions"].as_array().expect("a list");
    let named = |name: &str| exceptions.iter().find(|one| one["name"] == name).expect("an entry");
    assert_eq!(named("dirty-look")["rank"], "undocumented");
    assert_eq!(named("dirty-look")["quote"], serde_json::Value::Null);
    assert_eq!(named("semi-consistent-read")["copied"], "2026-09");
}

#[test]
fn a_version_shows_only_what_applies_to_it() {
    let snapshot = |version| {
        let sheets = [sheet("mariadb", version, vec![Level::RepeatableRead])];
        let document: serde_json::Value = serde_json::from_str(&json(&sheets, "")).expect("JSON");
        document["products"][0]["levels"][0]["anomalies"].as_array().map(Vec::len)
    };
    let (any, old, new) = (snapshot(""), snapshot("10.11"), snapshot("11.8"));
    assert!(old < any && new < any, "{old:?} {new:?} {any:?}");
}
