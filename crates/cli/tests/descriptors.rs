//! A product that is given by `--descriptor` is like a built-in one, and a broken descriptor is told with its place.
//!
//! The comparison needs a MariaDB server among `ANCHORITE_TEST_URLS`: the built-in descriptor under another name must
//! probe and hunt there as the original does.

#![allow(clippy::print_stdout, reason = "tests tell what they did")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn anchorite(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_anchorite");
    Command::new(program).args(arguments).output().expect("the command starts")
}

fn json(arguments: &[&str]) -> Value {
    let output = anchorite(&[arguments, &["--format", "json", "--quiet"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })
}

fn built_in(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    fs::read_to_string(path).expect("a built-in file can be read")
}

/// MariaDB's descriptor and claims, under the name `acme`.
fn write_copy(folder: &Path) -> PathBuf {
    let text = built_in("targets/mariadb.toml")
        .replace("name = \"mariadb\"\ntitle = \"MariaDB\"", "name = \"acme\"\ntitle = \"Acme DB\"")
        .replace("schemes = [\"mariadb\"]", "schemes = [\"acme\"]\nclaims = \"promises.toml\"");
    let claims = built_in("claims/mariadb.toml");
    let claims = claims.replace("product = \"mariadb\"", "product = \"acme\"");
    fs::write(folder.join("promises.toml"), claims).expect("it can be written");
    let file = folder.join("acme.toml");
    fs::write(&file, text).expect("it can be written");
    file
}

fn mariadb() -> Option<String> {
    let urls = std::env::var("ANCHORITE_TEST_URLS").unwrap_or_default();
    let url = urls
        .split_whitespace()
        .find(|url| url.starts_with("mariadb://") && !url.contains("engine="));
    if url.is_none() {
        println!("skipped: ANCHORITE_TEST_URLS names no MariaDB server");
    }
    url.map(str::to_owned)
}

#[test]
fn a_copy_under_another_name_probes_and_hunts_as_the_original() {
    let Some(url) = mariadb() else { return };
    let folder = TempDir::new().expect("a folder");
    let file = write_copy(folder.path());
    let file = file.to_str().expect("a plain path");
    let acme = url.replacen("mariadb://", "acme://", 1);
    let probed = json(&["probe", "--on", &acme, "--descriptor", file]);
    let original = json(&["probe", "--on", &url]);
    assert!(probed.to_string().contains("\"product\":\"acme\""), "{probed}");
    let table = |document: &Value| {
        let cells = document["results"].as_array().expect("results").iter();
        let cells = cells.map(|cell| {
            ["case", "level", "observed", "claimed"].map(|key| cell[key].to_string()).join(" ")
        });
        cells.collect::<Vec<_>>()
    };
    assert!(table(&probed).len() > 40, "{probed}");
    assert_eq!(table(&probed), table(&original));
    let hunt = |arguments: &[&str]| {
        let out = TempDir::new().expect("a folder");
        let place = out.path().join("hunt");
        let fixed =
            ["hunt", "--cases", "150", "--seed", "9", "--level", "rc", "--known", "none", "--out"];
        let place = place.to_str().expect("a plain path");
        json(&[&fixed[..], &[place], arguments].concat())
    };
    let (one, other) = (hunt(&["--on", &acme, "--descriptor", file]), hunt(&["--on", &url]));
    assert_eq!(one["verdicts"], other["verdicts"]);
    assert_eq!(one["cases"], 150);
    println!("acme and mariadb: {} cells and {} alike", table(&probed).len(), one["verdicts"]);
}

#[test]
fn case_files_can_name_it() {
    let folder = TempDir::new().expect("a folder");
    let file = write_copy(folder.path());
    let case = folder.path().join("x.case");
    let text = "-- targets: acme\n/* setup */ CREATE TABLE t (a INT);\n/* t1 */ SELECT * FROM t;\n";
    fs::write(&case, text).expect("it can be written");
    let case = case.to_str().expect("a plain path");
    let unknown = anchorite(&["export", case, "--to", "sql"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("`acme`"), "{unknown:?}");
    let file = file.to_str().expect("a plain path");
    let known = anchorite(&["export", case, "--to", "sql", "--descriptor", file]);
    assert!(known.status.success(), "{known:?}");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let folder = TempDir::new().expect("a folder");
    let good = fs::read_to_string(write_copy(folder.path())).expect("it can be read");
    let file = folder.path().join("bad.toml");
    let path = file.to_str().expect("a plain path");
    for (text, expected) in [
        ("name = ".to_owned(), "bad.toml:1:"),
        (good.replace("driver = \"mysql\"", "driver = \"odbc\""), "unknown driver 'odbc'"),
        (good.replace("driver = \"mysql\"", "driver = \"sqlite\""), "in this process"),
        (
            good.replace("\"tinyint\"", "\"tinyimt\""),
            "unknown feature 'tinyimt'; did you mean tinyint?",
        ),
        (good.replace("claims = \"promises.toml\"\n", ""), "names no claims"),
        (good.replace("promises.toml", "none.toml"), "none.toml"),
        (
            good.replace("name = \"acme\"", "name = \"other\""),
            "promises.toml:3: unknown product 'acme'",
        ),
        (good.replace("class = \"deadlock\"", "class = \"dead\""), "unknown class 'dead'"),
    ] {
        fs::write(&file, text).expect("it can be written");
        let output = anchorite(&["server", "list", "--descriptor", path]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(expected), "expected {expected} in: {told}");
    }
    let missing = anchorite(&["server", "list", "--descriptor", "no-such.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no-such.toml"));
}

#[test]
fn the_claims_of_another_product_can_hold() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("fork.toml");
    let text = "name = \"fork\"\ntitle = \"Fork\"\nlike = \"postgres\"\nschemes = [\"fork\"]\nclaims = \"postgres\"\n";
    fs::write(&file, text).expect("it can be written");
    let path = file.to_str().expect("a plain path");
    let output = anchorite(&["run", "no.case", "--on", "fork://127.0.0.1:1", "--descriptor", path]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("no.case") && !told.contains("fork.toml"), "{told}");
}
