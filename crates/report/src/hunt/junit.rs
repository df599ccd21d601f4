//! A hunt as JUnit XML for continuous integration.
//!
//! Idea: a suite is a target, its tests are the levels of the hunt and one failed test per new finding, so that CI
//! shows a new finding by name. A known issue is a skipped test: seen, but not new. Source: the schema that Jenkins and
//! GitLab read.

use anchorite_model::{FindingLine, HuntPlace, HuntSummary, Level};

use crate::finding::anomaly_told;
use crate::hunt_summary::{Found, capital, many, seen_by, told_in_sentences, verdicts_told};
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
        self.findings.iter().filter(|line| line.is_shown()).count()
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
             time=\"{}\">\n    <properties>\n{}    </properties>\n",
            self.tests(),
            self.failures(),
            self.skipped(),
            seconds(summary.elapsed_ms),
            properties(summary),
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

/// The seed, and what each oracle said.
fn properties(summary: &HuntSummary) -> String {
    let oracles = summary.by_oracle.iter();
    let said = oracles.map(|(oracle, counts)| (format!("oracle {oracle}"), verdicts_told(counts)));
    let numbers = [("seed", summary.seed), ("disagreements", summary.disagreements)];
    let numbers = numbers.map(|(name, number)| (name.to_owned(), number.to_string()));
    let property = |(name, value): (String, String)| {
        let (name, value) = (escaped(&name), escaped(&value));
        format!("      <property name=\"{name}\" value=\"{value}\"/>\n")
    };
    numbers.into_iter().chain(said).map(property).collect()
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
        Some(known) if !line.is_shown() => {
            let message = escaped(&format!("known issue: {known}"));
            *out += &format!("      <skipped message=\"{message}\"/>\n");
        }
        _ => {
            let kind = escaped(&line.signature.anomaly);
            let oracle = escaped(&seen_by(line));
            let rank = if line.signature.rank.is_broken() { "" } else { " (undocumented)" };
            *out += &format!(
                "      <failure type=\"{kind}\" message=\"found by {oracle}{rank}\">{}</failure>\n",
                escaped_text(&seen)
            );
        }
    }
    *out += "    </testcase>\n";
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}
