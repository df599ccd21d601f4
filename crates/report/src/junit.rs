//! Runs as JUnit XML for continuous integration.
//!
//! Idea: a suite is a target at a level, a test is a case (and, if it was repeated, the number of the repeat). A
//! violation that the case does not announce is a failure, and so is a result that differs from what the case says; a
//! lost connection is an error, and so is a case that could not be run; everything else has passed, including a run
//! that no oracle could decide. The complete text form is in `system-out`. Source: the schema that Jenkins and GitLab
//! read, where a test has at most one failure or error. A violation takes precedence, so that it is never hidden by a
//! crash that came with it. Blind spot: XML 1.0 cannot represent control characters at all; they are shown as escapes.

use std::fmt::Write;

use anchorite_judge::Agreement;
use anchorite_model::{Ending, ErrorClass, Level, Outcome, Run, Verdict};

use crate::fold::numbered;
use crate::result::level_label;
use crate::{Glyphs, RunFailure, RunResult, Runs, Style, TextOptions, text};

/// The width of the text in `system-out`: what the web pages of CI systems show without scrolling.
const SYSTEM_OUT_WIDTH: usize = 120;

/// The type of a failure where the result differs from what the case says.
const EXPECTATION: &str = "expectation";

/// The results as a JUnit document.
pub fn junit<'a>(runs: impl Into<Runs<'a>>) -> String {
    let runs = runs.into();
    let judged = runs.results.iter().zip(numbered(runs.results));
    let tests: Vec<Test<'_>> = judged
        .map(|(result, (repeat, of))| Test::of(result, repeat, of))
        .chain(runs.failures.iter().map(Test::not_run))
        .collect();
    let mut suites: Vec<(String, Vec<&Test<'_>>)> = Vec::new();
    for test in &tests {
        match suites.iter_mut().find(|(name, _)| *name == test.suite) {
            Some((_, members)) => members.push(test),
            None => suites.push((test.suite.clone(), vec![test])),
        }
    }
    let all: Vec<&Test<'_>> = tests.iter().collect();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out += &format!("<testsuites name=\"anchorite\"{}>\n", totals(&all));
    for (name, members) in &suites {
        out += &format!("  <testsuite name=\"{}\"{}>\n", escaped(name), totals(members));
        members.iter().for_each(|test| test.write(&mut out));
        out += "  </testsuite>\n";
    }
    out + "</testsuites>\n"
}

struct Test<'a> {
    /// `None` for a case that could not be run.
    result: Option<&'a RunResult>,
    suite: String,
    name: String,
    end: End,
    micros: u64,
}

/// How a test ended, in JUnit's terms.
enum End {
    Passed,
    Failed { kind: String, message: String, because: String },
    Broken { kind: &'static str, message: String },
}

impl<'a> Test<'a> {
    fn of(result: &'a RunResult, repeat: usize, of: usize) -> Self {
        let run = &result.run;
        let name = &run.case.name;
        Self {
            result: Some(result),
            suite: format!("{}, {}", run.target, level_label(run)),
            name: if of == 1 { name.clone() } else { format!("{name} #{repeat}") },
            end: end(result),
            micros: run.events.iter().map(|event| event.at_us).max().unwrap_or(0),
        }
    }

    fn not_run(failure: &'a RunFailure) -> Self {
        let level = failure.level.map_or("default", Level::name);
        Self {
            result: None,
            suite: format!("{}, {level}", failure.target),
            name: failure.case.clone(),
            end: End::Broken { kind: "not-run", message: failure.message.clone() },
            micros: 0,
        }
    }

    fn write(&self, out: &mut String) {
        // Dots would be taken for packages.
        let class = escaped(&self.suite.replace('.', "_"));
        let name = escaped(&self.name);
        let time = seconds(self.micros);
        *out += &format!("    <testcase name=\"{name}\" classname=\"{class}\" time=\"{time}\">\n");
        match &self.end {
            End::Passed => (),
            End::Failed { kind, message, because } => {
                let (kind, message) = (escaped(kind), escaped(message));
                *out += &format!("      <failure type=\"{kind}\" message=\"{message}\">");
                *out += &format!("{}</failure>\n", escaped_text(because));
            }
            End::Broken { kind, message } => {
                let message = escaped(message);
                *out += &format!("      <error type=\"{kind}\" message=\"{message}\"/>\n");
            }
        }
        let options =
            TextOptions { width: SYSTEM_OUT_WIDTH, style: Style::Plain, glyphs: Glyphs::Unicode };
        if let Some(result) = self.result {
            let told = text(std::slice::from_ref(result), &options);
            *out += &format!("      <system-out>{}</system-out>\n", escaped_text(&told));
        }
        *out += "    </testcase>\n";
    }
}

fn end(result: &RunResult) -> End {
    let mut messages = Vec::new();
    let mut kinds = Vec::new();
    let mut reasons = Vec::new();
    for (oracle, verdict) in &result.verdicts {
        if let Verdict::Violation { anomaly, rank, because } = verdict
            && !result.compared.announced
        {
            let undocumented = if rank.is_broken() { "" } else { " (undocumented)" };
            messages.push(format!("{oracle}: {anomaly}{undocumented}"));
            kinds.push(anomaly.clone());
            reasons.extend(because.iter().map(|sentence| format!("{oracle}: {sentence}\n")));
        }
    }
    for remark in &result.compared.remarks {
        if remark.agreement == Agreement::Differs {
            messages.push(remark.sentence.clone());
            kinds.push(EXPECTATION.to_owned());
        }
    }
    if let Some(kind) = kinds.first() {
        let (kind, message) = (kind.clone(), messages.join("; "));
        return End::Failed { kind, message, because: reasons.concat() };
    }
    match lost(&result.run) {
        Some(message) => End::Broken { kind: "connection-lost", message },
        None => End::Passed,
    }
}

/// How the connection was lost, if it was: by the whole run or by one of its statements.
fn lost(run: &Run) -> Option<String> {
    if let Ending::TargetLost(how) = &run.ending {
        return Some(how.clone());
    }
    run.events.iter().find_map(|event| match &event.outcome {
        Outcome::Error(error) if error.class == ErrorClass::ConnectionLost => {
            Some(format!("statement {}: {}", event.n, error.message))
        }
        _ => None,
    })
}

fn totals(tests: &[&Test<'_>]) -> String {
    let failed = tests.iter().filter(|test| matches!(test.end, End::Failed { .. })).count();
    let broken = tests.iter().filter(|test| matches!(test.end, End::Broken { .. })).count();
    let micros: u64 = tests.iter().fold(0, |sum, test| sum.saturating_add(test.micros));
    format!(
        " tests=\"{}\" failures=\"{failed}\" errors=\"{broken}\" time=\"{}\"",
        tests.len(),
        seconds(micros)
    )
}

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// Text for an attribute; line ends are kept.
pub(crate) fn escaped(text: &str) -> String {
    escaped_text(text).replace('\n', "&#10;").replace('\t', "&#9;")
}

/// Text for an element.
pub(crate) fn escaped_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    out
}
