//! The whole anomaly table in every form, for a fixed set of observations.

#[path = "probe/sample.rs"]
mod sample;

use anchorite_report::probe::{html, json, markdown, text};
use anchorite_report::{Glyphs, Style, TextOptions};

fn options(width: usize) -> TextOptions {
    TextOptions { width, style: Style::Plain, glyphs: Glyphs::Unicode }
}

#[test]
fn a_server_that_does_as_documented() {
    insta::assert_snapshot!(text(&[sample::honest()], &options(120)));
}

#[test]
fn contradictions_and_cases_that_could_not_run_stand_out() {
    insta::assert_snapshot!(text(&[sample::honest(), sample::broken()], &options(120)));
}

#[test]
fn a_narrow_terminal_gets_lists() {
    insta::assert_snapshot!(text(&[sample::broken()], &options(60)));
}

#[test]
fn ascii_only() {
    let options = TextOptions { glyphs: Glyphs::Ascii, ..options(120) };
    let drawn = text(&[sample::broken()], &options);
    assert!(drawn.is_ascii(), "{drawn}");
    insta::assert_snapshot!(drawn);
}

#[test]
fn colour_adds_nothing_but_colour() {
    let coloured = TextOptions { style: Style::Ansi, ..options(120) };
    let coloured = text(&[sample::broken()], &coloured);
    assert!(coloured.contains("\u{1b}[31mPOSSIBLE\u{1b}[0m"));
    let mut plain = String::new();
    for (i, piece) in coloured.split("\u{1b}[").enumerate() {
        plain += if i == 0 { piece } else { piece.split_once('m').expect("a colour").1 };
    }
    assert_eq!(plain, text(&[sample::broken()], &options(120)));
}

#[test]
fn markdown_for_pasting() {
    insta::assert_snapshot!(markdown(&[sample::broken()]));
}

#[test]
fn json_for_scripts() {
    let document: serde_json::Value =
        serde_json::from_str(&json(&[sample::broken()], "1.2.3")).expect("one document");
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).expect("JSON"));
}

#[test]
fn html_of_a_page() {
    let page = html(&[sample::honest(), sample::broken()], "1.2.3");
    let (head, body) = page.split_once("</head>").expect("a head");
    assert!(head.contains("prefers-color-scheme: dark"));
    // One element per line, so that a change can be read.
    insta::assert_snapshot!(body.replace("><", ">\n<"));
}

#[test]
fn hostile_text_stays_text() {
    let probes = [sample::hostile()];
    let page = html(&probes, "1.2.3");
    let body = page.split_once("</head>").expect("a head").1;
    assert!(!body.contains("<script>") && !body.contains("\u{1b}") && !body.contains("\" onclick"));
    assert!(body.contains("&lt;script&gt;"), "{body}");
    let pasted = markdown(&probes);
    assert!(!pasted.contains('\u{1b}'), "{pasted}");
    // In a code span it is text.
    let outside = pasted.lines().filter(|line| !line.starts_with("  - observed: ``"));
    assert!(outside.clone().count() > 20 && outside.clone().all(|line| !line.contains("<script>")));
    let drawn = text(&probes, &options(120));
    assert!(!drawn.contains('\u{1b}'), "{drawn}");
    for line in pasted.lines().filter(|line| line.starts_with("| ")) {
        let escaped = line.matches("\\|").count();
        let cells = line.matches('|').count() - escaped - 1;
        assert!(cells == 11 || cells == 2, "{cells} cells: {line}");
    }
}
