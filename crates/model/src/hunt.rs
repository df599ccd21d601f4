//! What a hunt did and found: counted while it runs, shown and saved at its end.
//!
//! Idea: everything that a reader needs in order to judge whether "nothing was found" means something:
//! how much ran, how much of it conflicted, what each oracle said in all four values, where they contradict each other,
//! and why they abstained.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Cause, ErrorClass, Level, Rank, Signature, TargetInfo, Verdict};

/// After this many investigations of one kind in a row without a new fingerprint, no more of that kind are examined.
pub const FRUITLESS_MAX: u32 = 50;
/// How the reasons begin why a run is undecided that no serial order explains.
pub const UNEXPLAINED: &str = "no serial order explains it";
/// Violations that do not recur are a finding of their own from this many on,
pub const UNREPEATABLE_MIN: u64 = 20;
/// if they are more than one in this many cases.
pub const UNREPEATABLE_ONE_IN: u64 = 1_000;

/// A hunt in numbers, with what it found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HuntSummary {
    /// The seed that all cases come from.
    pub seed: u64,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Where it hunted.
    pub places: Vec<HuntPlace>,
    /// Cases that were run and judged.
    pub cases: u64,
    /// Statements that were sent for them.
    pub statements: u64,
    /// Statements that had to wait for a lock.
    pub blocked: u64,
    /// Deadlocks that a server resolved by an error.
    pub deadlocks: u64,
    /// Transactions that committed.
    pub commits: u64,
    /// Transactions that did not end as requested, by the class of the error.
    pub aborts: BTreeMap<ErrorClass, u64>,
    /// Distinct shapes of conflict (who reads and writes what of whom) that were seen.
    pub conflict_shapes: u64,
    /// What was said about the cases: each counts once, by its worst verdict ([`crate::worst`]).
    pub verdicts: VerdictCounts,
    /// What each oracle said.
    pub by_oracle: BTreeMap<String, VerdictCounts>,
    /// Cases in which oracles contradict each other ([`crate::disagreements`]).
    pub disagreements: u64,
    /// How many times each documented exception excused something.
    pub allowed_by: BTreeMap<String, u64>,
    /// Why oracles could not decide, and how many times.
    pub undecided_because: BTreeMap<String, u64>,
    /// Violations that did not recur on fresh tables.
    pub flaky: u64,
    /// Suspected violations that have not been examined yet.
    pub waiting: u64,
    /// Suspected violations that are hits of findings: one per case and oracle.
    pub confirmed: u64,
    /// What was confirmed, the known issues among it too; what more oracles see stands higher.
    pub findings: Vec<FindingLine>,
    /// Known issues of these targets that no case showed although their own case was run.
    pub known_gone: Vec<String>,
    /// Where those were measured before, in words, by issue (`measured on 15.18: shows; here on 15.20: does not`).
    pub known_gone_because: BTreeMap<String, String>,
    /// How often a server crashed or was lost.
    pub servers_lost: u64,
    /// How often a server was stopped from outside, which is no finding.
    pub servers_stopped: u64,
    /// Kinds of violations whose last ones gave nothing new, so that more of them were only counted.
    pub barren_kinds: u64,
    /// The folder with the findings, if one was requested.
    pub folder: Option<String>,
    /// Why it ended before its budget was used up, if it did.
    pub stopped: Option<String>,
}

/// A target and the levels that it was hunted at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HuntPlace {
    /// The target.
    pub target: TargetInfo,
    /// The levels; `None` is its default.
    pub levels: Vec<Option<Level>>,
    /// How the target is named on the command line, without any password.
    pub on: String,
}

/// The four values, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// What the claim promises.
    pub pass: u64,
    /// What breaks the claim, whatever its rank.
    pub violation: u64,
    /// Of these, what breaks no promise but is documented nowhere.
    #[serde(default)]
    pub undocumented: u64,
    /// Deviations that the vendor documents.
    pub allowed: u64,
    /// Not judged.
    pub undecided: u64,
}

/// A finding in a line of the summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingLine {
    /// Its fingerprint.
    pub fingerprint: String,
    /// What happens, in a few words; empty if an earlier release wrote the finding.
    #[serde(default)]
    pub title: String,
    /// What was found by whom.
    pub signature: Signature,
    /// Where.
    pub target: TargetInfo,
    /// At which level, if one was asked for.
    pub level: Option<Level>,
    /// How many statements the reduced schedule has.
    pub statements: u64,
    /// How many cases showed it.
    pub hits: u64,
    /// Where they did, by the numbers of the campaign's places: each target at each of its levels.
    #[serde(default)]
    pub places: Vec<usize>,
    /// The levels among them, each once.
    #[serde(default)]
    pub levels: Vec<String>,
    /// The same with the targets, if it was seen on several.
    #[serde(default)]
    pub seen_at: Vec<String>,
    /// The oracles that see it, the one of the signature first; empty where an earlier release wrote it down.
    #[serde(default)]
    pub witnesses: Vec<String>,
    /// The known issue that it is, if it is one.
    pub known: Option<String>,
    /// Whether that issue was found by Anchorite and is in no tracker: then it is shown as if it was new.
    #[serde(default)]
    pub unreported: bool,
    /// What went wrong; null if an earlier release wrote the finding, and for documented exceptions.
    #[serde(default)]
    pub cause: Option<Cause>,
    /// Its report, or the reduced case if no folder was requested; relative to the working folder.
    pub file: String,
}

impl VerdictCounts {
    /// Counts a verdict.
    pub fn count(&mut self, verdict: &Verdict) {
        if matches!(verdict, Verdict::Violation { rank: Rank::Undocumented, .. }) {
            self.undocumented += 1;
        }
        let counter = match verdict {
            Verdict::Pass => &mut self.pass,
            Verdict::Violation { .. } => &mut self.violation,
            Verdict::Allowed { .. } => &mut self.allowed,
            Verdict::Undecided { .. } => &mut self.undecided,
        };
        *counter += 1;
    }

    /// Adds the counts of another.
    pub const fn add(&mut self, other: &Self) {
        self.pass += other.pass;
        self.violation += other.violation;
        self.undocumented += other.undocumented;
        self.allowed += other.allowed;
        self.undecided += other.undecided;
    }

    /// All of them.
    pub const fn total(&self) -> u64 {
        self.pass + self.violation + self.allowed + self.undecided
    }
}

impl FindingLine {
    /// Whether it is shown as a finding: it is in no tracker that we know of.
    pub const fn is_shown(&self) -> bool {
        self.known.is_none() || self.unreported
    }
}

impl HuntSummary {
    /// Findings that are no known issues, or that only we know.
    pub fn new_findings(&self) -> impl Iterator<Item = &FindingLine> {
        self.findings.iter().filter(|finding| finding.is_shown())
    }

    /// How many of them are of this rank.
    pub fn new_of_rank(&self, rank: Rank) -> u64 {
        self.new_findings().filter(|finding| finding.signature.rank == rank).count() as u64
    }

    /// The known issues that occurred and are in a tracker, each once, with the number of times.
    pub fn known_issues(&self) -> BTreeMap<&str, u64> {
        let mut hits = BTreeMap::new();
        for line in self.findings.iter().filter(|line| !line.is_shown()) {
            if let Some(name) = &line.known {
                *hits.entry(name.as_str()).or_default() += line.hits;
            }
        }
        hits
    }

    /// Violations that are neither part of a finding, nor flaky, nor waiting: they were only counted.
    pub fn only_counted(&self) -> u64 {
        let (seen, confirmed) = match self.by_oracle.is_empty() {
            false => (self.by_oracle.values().map(|counts| counts.violation).sum(), self.confirmed),
            // Written by an earlier release, which had one oracle.
            true => (self.verdicts.violation, self.findings.iter().map(|line| line.hits).sum()),
        };
        u64::saturating_sub(seen, confirmed + self.flaky + self.waiting)
    }

    /// How many cases violated without showing it again, if they are too many to be put down to chance. Where nothing
    /// at all was confirmed, those that were only counted belong to them.
    pub fn unrepeatable(&self) -> Option<u64> {
        let only_counted = if self.confirmed == 0 { self.only_counted() } else { 0 };
        let cases = (self.flaky + only_counted).min(self.verdicts.violation);
        let is_too_many = cases >= UNREPEATABLE_MIN && cases * UNREPEATABLE_ONE_IN > self.cases;
        is_too_many.then_some(cases)
    }

    /// How many runs no serial order explains, and how many of them stay undecided. Only these are hard to judge, so
    /// the share of the undecided is meant of them.
    pub fn unexplained(&self) -> (u64, u64) {
        let reasons = self.undecided_because.iter();
        let undecided: u64 =
            reasons.filter(|(reason, _)| reason.starts_with(UNEXPLAINED)).map(|(_, n)| n).sum();
        let decided = self.by_oracle.get("final-state");
        let decided = decided.map_or(0, |counts| counts.violation + counts.allowed);
        (decided + undecided, undecided)
    }

    /// Cases per second.
    pub fn cases_per_second(&self) -> f64 {
        if self.elapsed_ms == 0 {
            return 0.0;
        }
        self.cases as f64 * 1000.0 / self.elapsed_ms as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_violations_that_do_not_recur_are_no_chance() {
        let summary = |flaky, violation, confirmed, cases| HuntSummary {
            flaky,
            confirmed,
            cases,
            verdicts: VerdictCounts { violation, ..VerdictCounts::default() },
            by_oracle: BTreeMap::from([(
                "a".to_owned(),
                VerdictCounts { violation, ..VerdictCounts::default() },
            )]),
            ..HuntSummary::default()
        };
        for (flaky, violation, confirmed, cases, expected) in [
            (50, 2_057, 0, 6_400, Some(2_057)),
            (50, 2_057, 7, 6_400, Some(50)),
            (19, 19, 0, 6_400, None),
            (20, 20, 0, 19_999, Some(20)),
            (20, 20, 0, 20_000, None),
            (0, 500, 500, 6_400, None),
        ] {
            let summary = summary(flaky, violation, confirmed, cases);
            assert_eq!(summary.unrepeatable(), expected, "{flaky} {violation} {confirmed} {cases}");
        }
    }

    #[test]
    fn what_no_order_explains_is_counted_apart() {
        let counts = VerdictCounts { violation: 3, allowed: 15, ..VerdictCounts::default() };
        let reason = |why: &str| format!("{UNEXPLAINED}, and {why}");
        let undecided_because = BTreeMap::from([
            (reason("there is DDL"), 1),
            (reason("a foreign key acts"), 1),
            ("the connection was lost".to_owned(), 7),
        ]);
        let by_oracle = BTreeMap::from([("final-state".to_owned(), counts)]);
        let summary = HuntSummary { by_oracle, undecided_because, ..HuntSummary::default() };
        assert_eq!(summary.unexplained(), (20, 2));
    }

    #[test]
    fn what_was_only_counted_is_counted_per_oracle() {
        let counts = |violation| VerdictCounts { violation, ..VerdictCounts::default() };
        let earlier = HuntSummary { verdicts: counts(9), flaky: 2, ..HuntSummary::default() };
        assert_eq!(earlier.only_counted(), 7, "one oracle: a violation is a case");
        let by_oracle = BTreeMap::from([("a".to_owned(), counts(9)), ("b".to_owned(), counts(4))]);
        let now = HuntSummary { by_oracle, confirmed: 5, waiting: 1, ..earlier };
        assert_eq!(now.only_counted(), 5, "a case may be a violation for two oracles");
    }
}
