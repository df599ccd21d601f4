//! Expected verdicts in the header of a case.
//!
//! `-- expect: ORACLE VERDICT [EXCEPTION] [on PRODUCT [VERSIONS], …]`, at the level that the case names. `violation` is
//! a broken promise; what no page documents is `violation undocumented`, with the name of what was seen behind it:
//!
//! ```text
//! -- expect: final-state allowed semi-consistent-read on mariadb before 11.6.2, mysql
//! -- expect: final-state violation on postgres 15.18 17.11
//! -- expect: final-state violation undocumented dirty-look on mariadb since 11.6.2
//! ```
//!
//! Releases are measurements, everything else holds by documentation ([`Versions`]). A documented expectation is about
//! what the case shows: on a release where it does not show, and that was not measured, nothing is expected.

use anchorite_claims::Version;
use anchorite_model::{Case, Judgement, Product, Rank, TargetInfo, Verdict};

use crate::header::measurements::{Agreement, Found, Known, Remark, Versions, known};
use crate::oracles::{self, UnknownOracle};

/// One expected verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Whose verdict, by its name.
    pub oracle: String,
    /// `pass`, `violation`, `allowed`, `undecided`, or `no-violation` for all but the second.
    pub verdict: &'static str,
    /// How bad it is, if it is a violation.
    pub rank: Rank,
    /// The exception, or what is documented nowhere, where it is named.
    pub exception: Option<String>,
    /// Where it is expected; empty = everywhere.
    pub places: Vec<(Product, Versions)>,
}

/// A line that is no expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{case}: cannot read '-- expect: {line}': {reason}")]
pub struct BadExpectation {
    case: String,
    line: String,
    reason: String,
}

const VERDICTS: [&str; 5] = ["pass", VIOLATION, "allowed", "undecided", NO_VIOLATION];
const VIOLATION: &str = "violation";
/// Any verdict but a violation: for what is wrong on no release, whatever explains it there.
const NO_VIOLATION: &str = "no-violation";
const EVERYWHERE: Versions = Versions::Documented { since: None, before: None };

/// The expectations of a case.
pub fn expectations(case: &Case) -> Result<Vec<Expectation>, BadExpectation> {
    let bad = |line: &String, reason: String| BadExpectation {
        case: case.name.clone(),
        line: line.clone(),
        reason,
    };
    case.header.expect.iter().map(|line| parse(line).map_err(|reason| bad(line, reason))).collect()
}

fn parse(line: &str) -> Result<Expectation, String> {
    let (what, places) = match line.split_once(" on ") {
        Some((what, places)) => (what, places.split(',').map(place).collect::<Result<_, _>>()?),
        None => (line, Vec::new()),
    };
    let mut words = what.split_whitespace();
    let oracle = words.next().unwrap_or_default();
    if !oracles::names().any(|known| known == oracle) {
        return Err(UnknownOracle(oracle.to_owned()).to_string());
    }
    let verdict = words.next().unwrap_or_default();
    let verdict = VERDICTS
        .into_iter()
        .find(|known| *known == verdict)
        .ok_or_else(|| format!("expected one of {}", VERDICTS.join(", ")))?;
    let mut words = words.peekable();
    let is_undocumented =
        verdict == VIOLATION && words.next_if(|word| *word == Rank::Undocumented.name()).is_some();
    let rank = if is_undocumented { Rank::Undocumented } else { Rank::Broken };
    let is_named = verdict != VIOLATION || is_undocumented;
    let exception = words.next_if(|_| is_named).map(str::to_owned);
    match words.next() {
        Some(word) => Err(format!("'{word}' is one word too many")),
        None => Ok(Expectation { oracle: oracle.to_owned(), verdict, rank, exception, places }),
    }
}

/// `PRODUCT [RELEASES | since VERSION before VERSION]`
fn place(text: &str) -> Result<(Product, Versions), String> {
    let mut words = text.split_whitespace().peekable();
    let product = words.next().unwrap_or_default();
    let product = product.parse().map_err(|error| format!("{error}"))?;
    let versions = Versions::parse(&mut words)?;
    match words.next() {
        Some(word) => Err(format!("'{word}' is no version: expected 15.18, since 15 or before 15")),
        None => Ok((product, versions)),
    }
}

impl Expectation {
    /// `final-state allowed no-gap-locks`
    fn told(&self) -> String {
        let rank = if self.rank.is_broken() { None } else { Some(self.rank.name()) };
        let words =
            [Some(self.oracle.as_str()), Some(self.verdict), rank, self.exception.as_deref()];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn versions_of(&self, product: Product) -> Vec<&Versions> {
        if self.places.is_empty() {
            return vec![&EVERYWHERE];
        }
        let own = self.places.iter().filter(|(name, _)| *name == product);
        own.map(|(_, versions)| versions).collect()
    }

    /// Whether a judgement is as expected.
    fn is_met_by(&self, judgement: &Judgement) -> bool {
        let (verdict, rank, exception) = words(&judgement.verdict);
        let exception_fits = self.exception.is_none() || self.exception.as_deref() == exception;
        let verdict_fits = match self.verdict {
            NO_VIOLATION => verdict != VIOLATION,
            wanted => verdict == wanted && rank == self.rank,
        };
        verdict_fits && exception_fits
    }
}

/// A verdict, its rank, and the mechanism that it names.
fn words(verdict: &Verdict) -> (&'static str, Rank, Option<&str>) {
    match verdict {
        Verdict::Pass => ("pass", Rank::Broken, None),
        Verdict::Violation { rank: Rank::Broken, .. } => (VIOLATION, Rank::Broken, None),
        Verdict::Violation { rank, anomaly, .. } => (VIOLATION, *rank, Some(anomaly)),
        Verdict::Allowed { exception, .. } => ("allowed", Rank::Broken, Some(exception)),
        Verdict::Undecided { .. } => ("undecided", Rank::Broken, None),
    }
}

/// The same as one text: `violation undocumented dirty-look`.
fn told(verdict: &Verdict) -> String {
    let (verdict, rank, exception) = words(verdict);
    let rank = if rank.is_broken() { None } else { Some(rank.name()) };
    [Some(verdict), rank, exception].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Compares an oracle's judgement with what is expected of it on this target; `None` if nothing is. `shows`: whether
/// the run shows what the case is about.
pub fn remark(
    expected: &[Expectation],
    target: &TargetInfo,
    judgement: &Judgement,
    shows: bool,
) -> Option<Remark> {
    let own = expected.iter().filter(|line| line.oracle == judgement.oracle);
    let found: Vec<Found<'_>> = own
        .map(|line| Found {
            versions: line.versions_of(target.product),
            what: line.told(),
            here: line.is_met_by(judgement),
        })
        .collect();
    let version = Version::of(target);
    let got = told(&judgement.verdict);
    let differs = |what: &str| format!("expected {what}, got {got}");
    let (agreement, sentence) = match known(&found, &version)? {
        Known::Measured(found) | Known::Documented(found) if found.here => {
            (Agreement::AsExpected, format!("{}, as expected", found.what))
        }
        Known::Measured(found) => (Agreement::Differs, differs(&found.what)),
        Known::Documented(found) if shows => (Agreement::Differs, differs(&found.what)),
        Known::Documented(found) => (
            Agreement::OtherVersion,
            format!("expected {} where it shows; here on {version} it does not: {got}", found.what),
        ),
        Known::Elsewhere(others) => {
            (Agreement::OtherVersion, format!("{others}; here on {version}: {got}"))
        }
    };
    Some(Remark { agreement, sentence })
}

/// Whether this violation is announced for the target's product, on whatever release.
pub fn announces(expected: &[Expectation], target: &TargetInfo, judged: &Judgement) -> bool {
    let (_, rank, _) = words(&judged.verdict);
    expected.iter().any(|line| {
        line.oracle == judged.oracle
            && (line.verdict, line.rank) == (VIOLATION, rank)
            && !line.versions_of(target.product).is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(product: Product, version: &str) -> TargetInfo {
        TargetInfo { product, version: version.to_owned(), variant: String::new() }
    }

    fn judged(verdict: Verdict) -> Judgement {
        Judgement::new("final-state", verdict)
    }

    fn violation() -> Judgement {
        judged(Verdict::broken("G0", Vec::new()))
    }

    fn said(lines: &[&str], target: &TargetInfo, judgement: &Judgement, shows: bool) -> String {
        let lines: Vec<_> = lines.iter().map(|line| parse(line).expect("a good line")).collect();
        match remark(&lines, target, judgement, shows) {
            Some(remark) => format!("{}: {}", remark.agreement.name(), remark.sentence),
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_verdict_belongs_to_the_releases_that_it_was_measured_on() {
        let lines =
            ["final-state violation on postgres 15.18 17.11", "final-state pass on postgres 15.20"];
        let pass = judged(Verdict::Pass);
        for (version, judgement, expected) in [
            ("15.18", &violation(), "as expected: final-state violation, as expected"),
            ("15.18", &pass, "differs: expected final-state violation, got pass"),
            ("15.20", &pass, "as expected: final-state pass, as expected"),
            ("15.20", &violation(), "differs: expected final-state pass, got violation"),
            (
                "15.21",
                &pass,
                "other version: measured on 15.18, 17.11: final-state violation; on 15.20: final-state pass; \
                 here on 15.21: pass",
            ),
        ] {
            let here = target(Product::named("postgres"), version);
            for shows in [true, false] {
                assert_eq!(said(&lines, &here, judgement, shows), expected, "{version}");
            }
        }
        assert_eq!(said(&lines, &target(Product::named("mysql"), "9.7.4"), &pass, true), "nothing");
    }

    #[test]
    fn what_is_documented_is_expected_where_the_case_shows_what_it_is_about() {
        let line = [
            "final-state allowed no-gap-locks on tidb, mysql",
            "final-state pass on mariadb before 11.6.2",
        ];
        let allowed =
            judged(Verdict::Allowed { exception: "no-gap-locks".to_owned(), because: Vec::new() });
        let tidb = target(Product::named("tidb"), "8.5.9");
        assert_eq!(
            said(&line, &tidb, &allowed, true),
            "as expected: final-state allowed no-gap-locks, as expected"
        );
        assert_eq!(
            said(&line, &tidb, &violation(), true),
            "differs: expected final-state allowed no-gap-locks, got violation"
        );
        assert_eq!(
            said(&line, &tidb, &judged(Verdict::Pass), false),
            "other version: expected final-state allowed no-gap-locks where it shows; here on 8.5.9 it does not: pass"
        );
        let old = target(Product::named("mariadb"), "10.11.18-MariaDB");
        assert_eq!(
            said(&line, &old, &judged(Verdict::Pass), true),
            "as expected: final-state pass, as expected"
        );
        let new = target(Product::named("mariadb"), "11.8.6-MariaDB");
        assert_eq!(said(&line, &new, &violation(), true), "nothing");
    }

    #[test]
    fn a_false_alarm_is_one_on_every_release() {
        let lines = ["final-state no-violation", "final-state pass on mysql 9.7.4"];
        let undecided = judged(Verdict::Undecided { reason: String::new() });
        let new = target(Product::named("mysql"), "9.7.9");
        let fine = "as expected: final-state no-violation, as expected";
        assert_eq!(said(&lines, &new, &judged(Verdict::Pass), true), fine);
        assert_eq!(said(&lines, &new, &undecided, true), fine);
        let alarm = "differs: expected final-state no-violation, got violation";
        assert_eq!(said(&lines, &new, &violation(), true), alarm);
        let measured = target(Product::named("mysql"), "9.7.4");
        let differs = "differs: expected final-state pass, got undecided";
        assert_eq!(said(&lines, &measured, &undecided, true), differs);
    }

    #[test]
    fn what_is_documented_nowhere_is_announced_as_such() {
        let lines = ["final-state violation undocumented dirty-look on mariadb"];
        let mariadb = target(Product::named("mariadb"), "11.8.6");
        let undocumented = judged(Verdict::undocumented("dirty-look", Vec::new()));
        let fine = "as expected: final-state violation undocumented dirty-look, as expected";
        assert_eq!(said(&lines, &mariadb, &undocumented, true), fine);
        let differs =
            "differs: expected final-state violation undocumented dirty-look, got violation";
        assert_eq!(said(&lines, &mariadb, &violation(), true), differs);
        let differs =
            "differs: expected final-state violation, got violation undocumented dirty-look";
        assert_eq!(said(&["final-state violation"], &mariadb, &undocumented, true), differs);
        let lines: Vec<_> = lines.iter().map(|line| parse(line).expect("a good line")).collect();
        assert!(announces(&lines, &mariadb, &undocumented));
        assert!(!announces(&lines, &mariadb, &violation()));
    }

    #[test]
    fn bad_lines_are_refused() {
        for bad in [
            "",
            "final-state",
            "sight pass",
            "final-state good",
            "final-state pass a b",
            "final-state violation dirty-look",
            "final-state pass on mariadb 10.x",
            "final-state pass on mariadb after 10.11",
            "final-state pass on mariadb since",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
