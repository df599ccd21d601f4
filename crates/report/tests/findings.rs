//! Findings and hunts in every form, as whole texts.

mod samples;

use anchorite_model::{Case, Finding, HuntSummary, Level, Product, Rank, Value};
use anchorite_report::hunt_summary::Found;
use anchorite_report::{Glyphs, Style, TextOptions, finding, hunt};
use samples::finding::{MARKUP, crowd, hostile_finding, missed_row, quiet_hunt, skew};

const OPTIONS: TextOptions =
    TextOptions { width: 100, style: Style::Plain, glyphs: Glyphs::Unicode };

#[test]
fn a_markdown_report_for_a_tracker() {
    insta::assert_snapshot!(finding::markdown(&missed_row(), "0.1.0"));
}

#[test]
fn a_markdown_report_with_differing_rows_and_a_known_issue() {
    insta::assert_snapshot!(finding::markdown(&skew(), "0.1.0"));
}

#[test]
fn a_sequence_names_the_cases_before_and_has_no_script_of_the_last_one_alone() {
    let single = missed_row();
    let sequence = Finding { before: vec![single.run.case.clone(); 2], ..single.clone() };
    let command = "anchorite run before-1.case before-2.case reduced.case --same-tables --on ";
    let page = finding::page(None, std::slice::from_ref(&sequence), 0, "0.1.0");
    for text in [finding::markdown(&sequence, "0.1.0"), page] {
        for words in [command, "What ran before on the same tables", "before-2.case"] {
            assert!(text.contains(words), "'{words}' is missing in {text}");
        }
    }
    let names = |finding: &Finding| -> Vec<String> {
        finding::pages(finding, "0.1.0").into_iter().map(|(name, _)| name).collect()
    };
    let has_script = |name: &String| name.starts_with("reproduce");
    assert!(names(&single).iter().any(has_script) && !names(&sequence).iter().any(has_script));
}

#[test]
fn a_page_of_a_campaign() {
    let page = finding::page(Some(&samples::finding::hunt()), &[missed_row(), skew()], 2, "0.1.0");
    insta::assert_snapshot!(without_style(&page));
}

#[test]
fn queued_statements_stand_in_their_turn() {
    let finding = samples::finding::queue();
    let report = finding::markdown(&finding, "0.1.0");
    insta::assert_snapshot!(report.split("\n## Why").next().expect("a beginning"));
}

#[test]
fn in_the_picture_nothing_overlaps_and_every_text_is_in_its_box() {
    for finding in [samples::finding::queue(), crowd(), missed_row(), skew(), hostile_finding()] {
        let picture = finding::picture(&finding);
        let document = roxmltree::Document::parse(&picture).expect("well-formed XML");
        let number = |node: roxmltree::Node<'_, '_>, name: &str| -> f64 {
            node.attribute(name).expect(name).parse().expect("a number")
        };
        let is_box = |node: &roxmltree::Node<'_, '_>| {
            ["box", "queued", "guilty"].contains(&node.attribute("class").unwrap_or_default())
        };
        let mut places: Vec<[f64; 4]> = Vec::new();
        for node in document.descendants().filter(is_box) {
            let [x, y] = ["x", "y"].map(|name| number(node, name));
            let place = [x, y, x + number(node, "width"), y + number(node, "height")];
            let apart = |other: &[f64; 4]| {
                place[0] >= other[2]
                    || other[0] >= place[2]
                    || place[1] >= other[3]
                    || other[1] >= place[3]
            };
            assert!(places.iter().all(apart), "{picture}");
            places.push(place);
            let group = node.parent().expect("a group");
            for text in group.children().filter(|child| child.has_tag_name("text")) {
                let pieces = text.descendants().filter(roxmltree::Node::is_text);
                let words: String = pieces.filter_map(|node| node.text()).collect();
                let columns = unicode_columns(&words);
                let right = number(text, "x") + columns as f64 * 7.3;
                let inside = right <= place[2] + 0.5 && number(text, "y") < place[3];
                assert!(inside, "{words} is outside of its box");
            }
        }
        assert!(!places.is_empty());
    }
}

/// Wide characters count as two.
fn unicode_columns(text: &str) -> usize {
    text.chars().map(|c| if c.is_ascii() || "─…▸│".contains(c) { 1 } else { 2 }).sum()
}

#[test]
fn the_files_beside_a_finding() {
    let names = |finding: &Finding| -> Vec<String> {
        finding::pages(finding, "0.1.0").into_iter().map(|(name, _)| name).collect()
    };
    let common = ["report.md", "report.html", "lanes.svg"];
    let mariadb = [&common[..], &["reproduce.sql", "reproduce.case", "reproduce.test"]].concat();
    assert_eq!(names(&missed_row()), mariadb);
    let postgres = [&common[..], &["reproduce.sql", "reproduce.case", "reproduce.spec"]].concat();
    assert_eq!(names(&skew()), postgres);
}

#[test]
fn a_crash_that_left_nothing_behind_has_no_picture() {
    let mut finding = missed_row();
    finding.run.events.clear();
    finding.run.sessions.clear();
    let names: Vec<String> =
        finding::pages(&finding, "0.1.0").into_iter().map(|(name, _)| name).collect();
    assert!(!names.contains(&"lanes.svg".to_owned()), "{names:?}");
    let page = finding::page_of_one(&finding, "0.1.0");
    assert!(!page.contains("class=\"lanes\"") && !page.contains("lanes.svg"), "{page}");
    assert!(finding::picture(&finding).contains("<svg"));
}

#[test]
fn the_cases_of_a_finding_run_without_options() {
    let mut finding = missed_row();
    finding.on = "mariadb://root@127.0.0.1:3307/test".to_owned();
    finding.title = "DELETE waits, then deletes nothing".to_owned();
    for case in [finding.reduced_case(), finding.original_case()] {
        let text = case.to_text();
        let read = Case::parse("reduced", &text).expect("a case");
        assert_eq!(read.header.level, Some(Level::ReadCommitted), "{text}");
        assert!(read.header.targets.contains(&Product::named("mariadb")), "{text}");
        assert_eq!(read.header.title.as_deref(), Some("DELETE waits, then deletes nothing"));
        assert_eq!(read.steps.len(), 8);
    }
    let report = finding::markdown(&finding, "0.1.0");
    let replay = "anchorite run reduced.case --on mariadb://root@127.0.0.1:3307/test --level rc";
    assert!(report.contains(&format!("`{replay}`")), "{report}");
    finding.signature.exception = Some("same-value-update".to_owned());
    assert!(finding::markdown(&finding, "0.1.0").contains(&format!("`{replay} --strict`")));
    // Sessions at levels of their own keep them.
    finding.run.level = None;
    finding.run.sessions[0].level = Some(Level::Serializable);
    finding.run.case.header.session_levels = vec![("t1".to_owned(), Level::Serializable)];
    let mixed = finding.reduced_case();
    assert_eq!(mixed.level_of(0), Some(Level::Serializable));
    assert_eq!(mixed.header.level, None);
}

#[test]
fn an_overview_for_a_terminal() {
    let (first, second) = (missed_row(), skew());
    let listed =
        [(&first, "out/findings/a/finding.json"), (&second, "out/findings/b/finding.json")];
    let hunt = samples::finding::hunt();
    insta::assert_snapshot!(hunt::overview(Some(&hunt), &listed, 2, &OPTIONS));
}

#[test]
fn a_hunt_for_people() {
    insta::assert_snapshot!(hunt::text(&samples::finding::hunt(), &OPTIONS));
}

#[test]
fn a_hunt_for_a_newcomer() {
    insta::assert_snapshot!(hunt::text(&quiet_hunt(), &OPTIONS));
}

#[test]
fn only_a_hunt_that_saw_nothing_at_all_is_green() {
    const GREEN: &str = "\u{1b}[32m";
    let quiet = quiet_hunt();
    let hunts = [
        ("a known issue", HuntSummary { findings: known_only(), ..quiet.clone() }),
        ("a suspect that waits", HuntSummary { waiting: 1, ..quiet.clone() }),
        ("violations that a full disk swallowed", {
            let verdicts = anchorite_model::VerdictCounts { violation: 9, ..quiet.verdicts };
            let stopped = Some("no space left on the device".to_owned());
            HuntSummary { verdicts, stopped, ..quiet.clone() }
        }),
        ("a server that crashed", HuntSummary { servers_lost: 1, ..quiet.clone() }),
    ];
    let options = TextOptions { style: Style::Ansi, ..OPTIONS };
    assert!(hunt::text(&quiet, &options).contains(GREEN));
    for (what, summary) in hunts {
        let text = hunt::text(&summary, &options);
        assert!(!text.contains(GREEN), "{what}:\n{text}");
        assert!(!text.contains("No promise was seen broken"), "{what}:\n{text}");
        let found = Found::of(&summary);
        assert!(text.contains(&found.told()[1..]), "{what}:\n{text}");
        let json: serde_json::Value = serde_json::from_str(&hunt::json(&summary, "0.1.0")).unwrap();
        for (name, number) in
            [("new", found.new), ("known", found.known), ("waiting", found.waiting)]
        {
            assert_eq!(json[name], number, "{what}: {name}");
        }
    }
}

/// One known bug with four findings.
fn known_only() -> Vec<anchorite_model::FindingLine> {
    let known = samples::finding::hunt().findings.remove(1);
    assert!(known.known.is_some());
    vec![known; 4]
}

#[test]
fn what_is_documented_nowhere_is_told_apart_from_broken_promises() {
    let mut line = samples::finding::hunt().findings.remove(0);
    let broken = line.clone();
    line.signature.rank = Rank::Undocumented;
    line.signature.anomaly = "dirty-look".to_owned();
    line.title = String::new();
    let lower = HuntSummary { findings: vec![line.clone()], ..samples::finding::hunt() };
    let text = hunt::text(&lower, &OPTIONS);
    for part in ["1 new finding (1 undocumented)", "No promise was seen broken, but", "dirty look"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(hunt::junit(&lower).contains("(undocumented)"));
    let both = HuntSummary { findings: vec![line, broken], ..lower };
    let text = hunt::text(&both, &OPTIONS);
    assert!(text.contains("2 new findings (1 undocumented)"), "{text}");
    assert!(
        text.contains("2. MariaDB 10.11.18, read committed: dirty look (undocumented)"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&hunt::json(&both, "0.1.0")).unwrap();
    assert_eq!(json["new_by_rank"], serde_json::json!({"broken": 1, "undocumented": 1}));
    assert_eq!(json["findings"][0]["rank"], "undocumented");
}

#[test]
fn four_findings_of_one_known_bug_are_one_known_issue() {
    let summary = HuntSummary { findings: known_only(), ..quiet_hunt() };
    assert_eq!(Found::of(&summary), Found { known: 1, ..Found::default() });
    let finding = skew();
    let listed = [(&finding, "a"); 4];
    let text = hunt::overview(None, &listed, 0, &OPTIONS);
    assert!(text.starts_with("No new findings, 1 known issue, none waiting to be examined\n"));
}

#[test]
fn a_hunt_in_which_nothing_conflicted_says_so() {
    let empty = HuntSummary { cases: 10, ..HuntSummary::default() };
    assert!(hunt::text(&empty, &OPTIONS).contains("this hunt proves nothing"));
    assert!(hunt::text(&HuntSummary::default(), &OPTIONS).contains("No case was run."));
}

#[test]
fn a_hunt_as_json() {
    let json = hunt::json(&samples::finding::hunt(), "0.1.0");
    let value: serde_json::Value = serde_json::from_str(&json).expect("one JSON document");
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).expect("it prints"));
}

#[test]
fn a_hunt_as_junit() {
    let xml = hunt::junit(&samples::finding::hunt());
    roxmltree::Document::parse(&xml).expect("well-formed XML");
    insta::assert_snapshot!(xml);
}

#[test]
fn a_summary_and_a_finding_survive_their_files() {
    let summary = samples::finding::hunt();
    let text = serde_json::to_string(&summary).expect("it is written");
    assert_eq!(serde_json::from_str::<HuntSummary>(&text).expect("it is read"), summary);
    let older: HuntSummary = serde_json::from_str("{\"seed\": 7}").expect("fields may be missing");
    assert_eq!(older.seed, 7);
    let text = serde_json::to_string(&skew()).expect("it is written");
    assert_eq!(serde_json::from_str::<Finding>(&text).expect("it is read"), skew());
}

#[test]
fn every_value_survives_its_file() {
    let floats = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.1 + 0.2, f64::MAX];
    let values = floats.map(Value::Float).into_iter().chain([
        Value::Int(i128::from(u64::MAX)),
        Value::Int(i128::from(i64::MIN)),
        Value::Bytes(vec![0, 255]),
        Value::Null,
    ]);
    let values: Vec<Value> = values.collect();
    let text = serde_json::to_string(&values).expect("they are written");
    assert_eq!(serde_json::from_str::<Vec<Value>>(&text).expect("they are read"), values);
}

#[test]
fn hostile_text_stays_text_on_the_page() {
    is_harmless(&finding::page(None, &[hostile_finding(), crowd()], 0, "0.1.0"));
    is_harmless(&finding::page_of_one(&hostile_finding(), "0.1.0"));
}

#[test]
fn hostile_text_stays_text_in_the_picture() {
    for finding in [hostile_finding(), crowd(), missed_row(), skew()] {
        let picture = finding::picture(&finding);
        let document = roxmltree::Document::parse(&picture).expect("well-formed XML");
        let names: std::collections::BTreeSet<&str> =
            document.descendants().map(|node| node.tag_name().name()).collect();
        let ours = ["", "g", "line", "pattern", "rect", "style", "svg", "text", "title", "tspan"];
        assert!(names.iter().all(|name| ours.contains(name)), "{names:?}");
        for forbidden in ["\u{202e}", "\u{1b}", "\0", "href", "onerror=\""] {
            assert!(!picture.contains(forbidden), "{forbidden:?} is in the picture");
        }
    }
}

fn is_harmless(page: &str) {
    let text = well_formed(page);
    let document = roxmltree::Document::parse(&text);
    let document = document.expect("every element that is opened is ours and is closed");
    let known =
        ["class", "style", "title", "id", "href", "colspan", "lang", "name", "content", "charset"];
    for element in document.descendants().filter(roxmltree::Node::is_element) {
        let name = element.tag_name().name();
        assert!(!["img", "script", "link", "iframe", "object"].contains(&name), "{name} is there");
        for attribute in element.attributes() {
            assert!(known.contains(&attribute.name()), "{} of {name}", attribute.name());
            let value = attribute.value();
            let beside = ["reduced.case", "original.case", "lanes.svg", "finding.json"];
            let beside = beside.contains(&value)
                || value.starts_with("reproduce.")
                    && value.chars().all(|c| c.is_ascii_lowercase() || c == '.');
            let harmless = value.starts_with("https://") || value.starts_with('#') || beside;
            assert!(attribute.name() != "href" || harmless, "{value}");
        }
    }
    for forbidden in ["\u{202e}", "\u{1b}", "\0"] {
        assert!(!page.contains(forbidden), "{forbidden:?} is in the page");
    }
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
}

#[test]
fn hostile_text_stays_text_in_markdown() {
    let text = finding::markdown(&hostile_finding(), "0.1.0");
    for forbidden in ["\u{202e}", "\u{1b}", "\0"] {
        assert!(!text.contains(forbidden), "{forbidden:?} is in the report");
    }
    let outside = outside_code(&text);
    assert!(!outside.contains("<img"), "markup outside code:\n{outside}");
    assert!(MARKUP.contains("<img"));
}

/// The page without its style sheet, an element per line.
fn without_style(page: &str) -> String {
    let (before, rest) = page.split_once("<style>").expect("a style sheet");
    let (_, after) = rest.split_once("</style>").expect("the style sheet ends");
    let joined = format!("{before}<style/>{after}");
    ["section", "h3", "div", "tr", "dt", "li", "details", "pre"]
        .iter()
        .fold(joined, |text, element| {
            text.replace(&format!("<{element}"), &format!("\n<{element}"))
        })
}

/// HTML as XML: the elements that need no end get one.
fn well_formed(page: &str) -> String {
    let body = without_style(page).replace("<!DOCTYPE html>", "").replace("<br>", "<br/>");
    let mut out = String::new();
    for piece in body.split_inclusive('>') {
        let meta = piece.trim_start().starts_with("<meta");
        out += &if meta { piece.replace('>', "/>") } else { piece.to_owned() };
    }
    out
}

/// What a reader of Markdown would look for markup in.
fn outside_code(text: &str) -> String {
    let mut out = String::new();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if line.trim_end() == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            // Code spans of reports have an odd number of parts outside.
            None => {
                out += &line.split('`').step_by(2).collect::<Vec<_>>().join(" ").replace("\\<", "")
            }
        }
        out.push('\n');
    }
    out
}
