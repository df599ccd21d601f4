//! Whole reports as JUnit XML.

mod samples;

use anchorite_model::Verdict;
use anchorite_report::{RunResult, Runs, junit};
use roxmltree::{Document, Node};

fn test_cases<'a>(document: &'a Document<'_>) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| node.has_tag_name("testcase")).collect()
}

fn child<'a>(node: &Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.has_tag_name(name))
}

#[test]
fn suites_are_targets_at_levels_and_tests_are_cases() {
    let undecided = Verdict::Undecided { reason: "no claim".to_owned() };
    let results = [
        samples::judged(),
        RunResult { verdicts: vec![("views".to_owned(), undecided)], ..samples::deadlock().into() },
        samples::server_lost().into(),
        samples::deadlock().into(),
    ];
    insta::assert_snapshot!(junit(&results));
}

#[test]
fn hostile_text_stays_text() {
    let xml = junit(&[samples::hostile::hostile()]);
    insta::assert_snapshot!(xml);
    let document = Document::parse(&xml).expect("well-formed");
    let tests = test_cases(&document);
    assert_eq!(tests.len(), 1);
    let told = child(&tests[0], "system-out").and_then(|node| node.text()).unwrap_or_default();
    assert!(told.contains("</testcase> ]]>"), "{told}");
}

#[test]
fn a_violation_goes_before_a_lost_connection() {
    let mut result = samples::judged();
    result.run.ending = samples::server_lost().ending;
    let xml = junit(&[result]);
    let document = Document::parse(&xml).expect("well-formed");
    let test = test_cases(&document)[0];
    let failure = child(&test, "failure").expect("a failure");
    assert_eq!(failure.attribute("type"), Some("lost update"));
    assert!(child(&test, "error").is_none());
}

#[test]
fn what_the_case_announces_has_not_failed_and_what_differs_has() {
    let results = samples::regression();
    let failures = [samples::not_run()];
    let runs = Runs { results: &results, failures: &failures, ..Runs::default() };
    let document = junit(runs);
    let parsed = Document::parse(&document).expect("well-formed");
    let tests = parsed.descendants().filter(|node| node.has_tag_name("testcase"));
    let ends: Vec<(String, String)> = tests
        .map(|test| {
            let end = test
                .children()
                .find(|node| ["failure", "error"].map(|n| node.has_tag_name(n)).contains(&true));
            let told = end.map(|end| {
                format!("{} {}", end.tag_name().name(), end.attribute("message").unwrap_or(""))
            });
            (test.attribute("name").unwrap_or("").to_owned(), told.unwrap_or_default())
        })
        .collect();
    let expected = [
        ("announced", ""),
        ("elsewhere", ""),
        (
            "differs",
            "failure measured on 15.18: shows; here on 15.18: does not; expected final-state violation, got pass",
        ),
        ("news", "failure final-state: lost update"),
        ("no-table", "error set-up failed"),
    ];
    assert_eq!(ends, expected.map(|(name, told)| (name.to_owned(), told.to_owned())));
}
