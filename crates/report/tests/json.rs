//! Whole reports as JSON: the contract's field names, and every kind of value.

mod samples;

use anchorite_report::{RunResult, json};
use serde_json::Value as Json;

fn parsed(results: &[RunResult]) -> Json {
    let text = json(results, "0.1.0");
    assert!(text.ends_with('\n') && text.trim_end().lines().count() == 1, "one document: {text}");
    serde_json::from_str(&text).expect("the report is JSON")
}

/// One event, check or verdict per line: as short as the text form, and still JSON.
fn shown(results: &[RunResult]) -> String {
    let mut out = String::new();
    for result in parsed(results)["results"].as_array().expect("results is a list") {
        for (key, value) in result.as_object().expect("a result is an object") {
            match value.as_array() {
                Some(items) if !items.is_empty() => {
                    out += &format!("{key}:\n");
                    items.iter().for_each(|item| out += &format!("  {item}\n"));
                }
                _ => out += &format!("{key}: {value}\n"),
            }
        }
    }
    out
}

#[test]
fn the_document_names_the_version_and_lists_the_results() {
    assert_eq!(json(&[], "1.2.3"), "{\"anchorite\":\"1.2.3\",\"results\":[]}\n");
}

#[test]
fn a_blocked_statement_has_two_events() {
    insta::assert_snapshot!(shown(&[samples::judged()]));
}

#[test]
fn errors_notices_tags_and_checks() {
    insta::assert_snapshot!(shown(&[samples::failed_commit().into()]));
}

#[test]
fn every_kind_of_value() {
    let mut run = samples::shapes::values();
    run.events.truncate(2);
    insta::assert_snapshot!(shown(&[run.into()]));
}

#[test]
fn outside_blockers_and_a_lost_server() {
    insta::assert_snapshot!(shown(&[samples::server_lost().into()]));
}

#[test]
fn hostile_text_comes_back_unchanged() {
    let document = parsed(&[samples::hostile::hostile()]);
    let result = &document["results"][0];
    assert_eq!(result["case"], samples::hostile::NASTY);
    assert_eq!(result["events"][0]["sql"], samples::hostile::NASTY);
    assert_eq!(result["final_state"][samples::hostile::NASTY]["rows"][0][1], "");
}

#[test]
fn integers_are_numbers_only_where_every_reader_keeps_them() {
    use anchorite_model::Value;
    let mut run = samples::lost_update();
    let numbers = [1 << 53, (1 << 53) + 1, -(1 << 53), -(1 << 53) - 1, i128::MIN];
    run.final_state[0].1.rows = vec![numbers.map(Value::Int).to_vec()];
    let document = parsed(&[run.into()]);
    let row = document["results"][0]["final_state"]["account"]["rows"][0].to_string();
    let expected = "[9007199254740992,\"9007199254740993\",-9007199254740992,\"-9007199254740993\",\
                    \"-170141183460469231731687303715884105728\"]";
    assert_eq!(row, expected);
}

#[test]
fn expectations_coverage_and_what_was_observed() {
    let results = samples::regression();
    let document = parsed(&results);
    let results = &document["results"];
    assert_eq!(results[0]["expectation"]["agreement"], "as expected");
    assert_eq!(results[0]["expectation"]["announced"], true);
    assert_eq!(results[1]["expectation"]["agreement"], "other version");
    assert_eq!(results[1]["verdicts"][0]["covers"], "writes");
    assert_eq!(results[1]["observed"][0]["anomaly"], "P4");
    assert_eq!(results[1]["observed"][0]["claimed"], "possible");
    let remark = &results[2]["expectation"]["remarks"][1];
    assert_eq!(remark["agreement"], "differs");
    assert_eq!(remark["sentence"], "expected final-state violation, got pass");
    assert!(results[3].get("expectation").is_none());
}
