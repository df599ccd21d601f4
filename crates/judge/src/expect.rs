//! Expected verdicts in the header of a case.
//!
//! `-- expect: ORACLE VERDICT [EXCEPTION] [on PRODUCT [before|since VERSION], …]`, at the level that the case names:
//!
//! ```text
//! -- expect: final-state allowed semi-consistent-read
//! -- expect: final-state violation on mariadb before 11.6, mysql
//! ```

use anchorite_claims::Version;
use anchorite_model::{Case, Judgement, Product, TargetInfo, Verdict};

use crate::Oracle;

/// One expected verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Whose verdict.
    pub oracle: Oracle,
    /// `pass`, `violation`, `allowed` or `undecided`.
    pub verdict: &'static str,
    /// The exception, where one is named.
    pub exception: Option<String>,
    /// Where it is expected; empty = everywhere.
    pub places: Vec<Versions>,
}

/// Some versions of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    product: Product,
    since: Option<Version>,
    before: Option<Version>,
}

/// A line that is no expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{case}: cannot read '-- expect: {line}': {reason}")]
pub struct BadExpectation {
    case: String,
    line: String,
    reason: String,
}

const VERDICTS: [&str; 4] = ["pass", "violation", "allowed", "undecided"];

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
        Some((what, products)) => {
            (what, products.split(',').map(versions).collect::<Result<_, _>>()?)
        }
        None => (line, Vec::new()),
    };
    let mut words = what.split_whitespace();
    let oracle = words.next().unwrap_or_default().parse().map_err(|error| format!("{error}"))?;
    let verdict = words.next().unwrap_or_default();
    let verdict = VERDICTS
        .into_iter()
        .find(|known| *known == verdict)
        .ok_or_else(|| format!("expected one of {}", VERDICTS.join(", ")))?;
    let exception = words.next().map(str::to_owned);
    match words.next() {
        Some(word) => Err(format!("'{word}' is one word too many")),
        None => Ok(Expectation { oracle, verdict, exception, places }),
    }
}

/// `PRODUCT [before VERSION | since VERSION]`
fn versions(text: &str) -> Result<Versions, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let product = words.first().copied().unwrap_or_default();
    let product = product.parse().map_err(|error| format!("{error}"))?;
    let version = |text: &str| text.parse().map(Some).map_err(|error| format!("{error}"));
    let (since, before) = match words[1..] {
        [] => (None, None),
        ["since", text] => (version(text)?, None),
        ["before", text] => (None, version(text)?),
        _ => return Err(format!("expected PRODUCT [before|since VERSION], not '{text}'")),
    };
    Ok(Versions { product, since, before })
}

impl Expectation {
    /// Whether it speaks of this target.
    pub fn concerns(&self, target: &TargetInfo) -> bool {
        let version = Version::of(target);
        let fits = |place: &Versions| {
            place.product == target.product
                && place.since.as_ref().is_none_or(|since| version >= *since)
                && place.before.as_ref().is_none_or(|before| version < *before)
        };
        self.places.is_empty() || self.places.iter().any(fits)
    }

    /// Whether a judgement is as expected.
    pub fn is_met_by(&self, judgement: &Judgement) -> bool {
        let (verdict, exception) = match &judgement.verdict {
            Verdict::Pass => ("pass", None),
            Verdict::Violation { .. } => ("violation", None),
            Verdict::Allowed { exception, .. } => ("allowed", Some(exception)),
            Verdict::Undecided { .. } => ("undecided", None),
        };
        let exception_fits = self.exception.is_none() || self.exception.as_ref() == exception;
        judgement.oracle == self.oracle.name() && verdict == self.verdict && exception_fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_or_refused() {
        let line = parse("final-state allowed no-gap-locks on tidb, mysql").expect("a good line");
        assert_eq!(line.verdict, "allowed");
        assert_eq!(line.exception.as_deref(), Some("no-gap-locks"));
        let target = |product, version: &str| TargetInfo {
            product,
            version: version.to_owned(),
            variant: String::new(),
        };
        assert!(line.concerns(&target(Product::Tidb, "8.5")));
        assert!(!line.concerns(&target(Product::Sqlite, "3.50")));
        let old = parse("final-state pass on mariadb before 11.6").expect("a good line");
        assert!(old.concerns(&target(Product::Mariadb, "10.11.6-MariaDB")));
        assert!(!old.concerns(&target(Product::Mariadb, "11.8.2-MariaDB")));
        for bad in [
            "",
            "final-state",
            "views pass",
            "final-state good",
            "final-state pass a b",
            "final-state pass on mariadb 10",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
