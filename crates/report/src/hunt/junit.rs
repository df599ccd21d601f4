//! A hunt as JUnit XML for continuous integration.
//!
//! Idea: a suite is a target, its tests are the levels that were hunted and, beside them, one failed test per
//! new finding, so that a CI shows a new finding by name. A known issue is a skipped test: seen, and no news.
//! Source: the schema that Jenkins and GitLab read.

use anchorite_model::{FindingLine, HuntPlace, HuntSummary, Level};

use super::{Found, capital, many, told_in_sentences};
use crate::finding::anomaly_told;
use crate::junit::{escaped, escaped_text};

/// The summary as a JUnit document.
pub fn junit(summary: &HuntSummary) -> String {
    let suites: Vec<Suite<'_>> = summary.places.iter().map(|p| Suite::of(summary, p)).collect();
    let time = seconds(summary.elapsed_ms);
    let total = |count: fn(&Suite<'_>) -> usize| suites.iter().map(count).sum::<usize>();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out += &format!(
        "<testsuites name=\"anchorite hunt\" tests=\"{}\" failures=\"{}\" errors=\"0\" \
         skipped=\"{}\" time=\"{time}\">\n",
        total(|suite| suite.tests()),
        total(|suite| suite.failures()),
        total(|suite| suite.skipped()),
    );
    suites.iter().for_each(|suite| suite.write(summary, &mut out));
    out + "</testsuites>\n"
}

struct Suite<'a> {
    place: &'a HuntPlace,
    findings: Vec<&'a FindingLine>,
}

impl<'a> Suite<'a> {
    fn of(summary: &'a HuntSummary, place: &'a HuntPlace) -> Self {
        let here = |line: &&FindingLine| line.target == place.target;
        Self { place, findings: summary.findings.iter().filter(here).collect() }
    }

    fn tests(&self) -> usize {
        self.place.levels.len() + self.findings.len()
    }

    fn failures(&self) -> usize {
        self.findings.iter().filter(|line| line.known.is_none()).count()
    }

    fn skipped(&self) -> usize {
        self.findings.len() - self.failures()
    }

    fn write(&self, summary: &HuntSummary, out: &mut String) {
        let name = escaped(&self.place.target.to_string());
        // Dots would be taken for packages.
        let class = name.replace('.', "_");
        *out += &format!(
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" \
             time=\"{}\">\n    <properties>\n      <property name=\"seed\" value=\"{}\"/>\n    \
             </properties>\n",
            self.tests(),
            self.failures(),
            self.skipped(),
            seconds(summary.elapsed_ms),
            summary.seed,
        );
        for level in &self.place.levels {
            let level = level.map_or("default level", Level::name);
            *out += &format!("    <testcase name=\"hunt at {level}\" classname=\"{class}\"/>\n");
        }
        self.findings.iter().for_each(|line| finding(line, &class, out));
        let found = format!("{}.", capital(&Found::of(summary).told()));
        let told = [told_in_sentences(summary), vec![found]].concat().join("\n");
        *out += &format!("    <system-out>{}</system-out>\n", escaped_text(&told));
        *out += "  </testsuite>\n";
    }
}

fn finding(line: &FindingLine, class: &str, out: &mut String) {
    let level = line.level.map_or("default level", Level::name);
    let title = match line.title.is_empty() {
        true => anomaly_told(&line.signature),
        false => line.title.clone(),
    };
    let what = format!("{level}: {title} [{}]", line.fingerprint);
    let seen = format!(
        "{}, seen {}, {}",
        many(line.statements, "statement", "statements"),
        many(line.hits, "time", "times"),
        line.file
    );
    *out += &format!("    <testcase name=\"{}\" classname=\"{class}\">\n", escaped(&what));
    match &line.known {
        Some(known) => {
            let message = escaped(&format!("known issue: {known}"));
            *out += &format!("      <skipped message=\"{message}\"/>\n");
        }
        None => {
            let kind = escaped(&line.signature.anomaly);
            let oracle = escaped(&line.signature.oracle);
            *out += &format!(
                "      <failure type=\"{kind}\" message=\"found by {oracle}\">{}</failure>\n",
                escaped_text(&seen)
            );
        }
    }
    *out += "    </testcase>\n";
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}
