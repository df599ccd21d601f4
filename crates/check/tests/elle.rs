//! Elle's own cases: same validity, same anomaly names, same `not`.
//!
//! The cases are not part of this repository. They are looked for in the folder that the environment
//! variable `ANCHORITE_SHARED_DATA` names, or in `../shared/data` next to the checkout.

use anchorite_check::input;
use anchorite_check::levels::LevelVerdict;
use anchorite_check::report::{ElleOptions, Options, judge};
use serde_json::Value;
use std::path::PathBuf;

fn data(name: &str) -> Option<Value> {
    let given = std::env::var_os("ANCHORITE_SHARED_DATA").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = given.unwrap_or(beside).join(name);
    let text = std::fs::read_to_string(&path).ok()?;
    Some(serde_json::from_str(&text).expect("the data file is JSON"))
}

fn skipped(what: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped: no {what} (set ANCHORITE_SHARED_DATA)");
}

fn strings(value: &Value) -> Vec<String> {
    let list = value.as_array().cloned().unwrap_or_default();
    let mut found: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    found.sort();
    found
}

#[test]
fn every_case_gets_elles_result() {
    let Some(cases) = data("elle-sample.json") else { return skipped("elle-sample.json") };
    let mut wrong = Vec::new();
    for case in cases.as_array().expect("a list of cases") {
        let name = case["name"].as_str().unwrap_or("");
        let text = case["events"].to_string();
        let (_, history) = input::read(text.as_bytes(), Some("elle")).expect("a history");
        let elle = ElleOptions::parse(&case["options"].to_string(), &history).expect("options");
        let options = Options { elle: Some(elle), threads: 1, ..Options::default() };
        let report = judge(&history, &options);
        let valid = match report.valid {
            LevelVerdict::Holds => Value::Bool(true),
            LevelVerdict::Fails => Value::Bool(false),
            LevelVerdict::Unknown(_) => Value::String("unknown".to_owned()),
        };
        let mut anomalies: Vec<String> =
            report.anomalies.iter().map(|anomaly| anomaly.name.to_owned()).collect();
        anomalies.sort();
        let not: Vec<String> = report.not.iter().map(|name| (*name).to_owned()).collect();
        let same = valid == case["expected_valid"]
            && (case["expected_anomalies"].is_null()
                || anomalies == strings(&case["expected_anomalies"]))
            && (case["expected_not"].is_null() || not == strings(&case["expected_not"]));
        if !same {
            wrong.push(format!(
                "{name}: got {valid} {anomalies:?} not {not:?}; expected {} {} not {}",
                case["expected_valid"], case["expected_anomalies"], case["expected_not"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_lattice_is_elles() {
    let Some(lattice) = data("elle-lattice.json") else { return skipped("elle-lattice.json") };
    let ours = ["thin-air-read"];
    for (model, anomalies) in lattice["prohibited_by_model"].as_object().expect("models") {
        let model = anchorite_check::lattice::canonical(model).expect("a model that we know");
        let found: Vec<String> = anchorite_check::lattice::prohibited_by(model)
            .into_iter()
            .filter(|name| !ours.contains(name))
            .map(str::to_owned)
            .collect();
        assert_eq!(found, strings(anomalies), "{model}");
    }
    for (anomaly, expected) in lattice["boundary_by_anomaly"].as_object().expect("anomalies") {
        let name = anchorite_check::lattice::anomaly(anomaly).expect("an anomaly that we know");
        let not = anchorite_check::lattice::boundary(&[name].into_iter().collect());
        assert_eq!(not, strings(&expected["not"]), "{anomaly}");
    }
}
