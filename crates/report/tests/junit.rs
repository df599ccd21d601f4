//! Whole reports as JUnit XML.

mod samples;

use anchorite_model::Verdict;
use anchorite_report::{RunResult, junit};
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
        RunResult { run: samples::deadlock(), verdicts: vec![("views".to_owned(), undecided)] },
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
