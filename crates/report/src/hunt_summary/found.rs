//! The three numbers that say what was found: new, known, waiting.
//!
//! Idea: "nothing new" is meaningful only together with how much is known and how much has not been examined yet, so
//! every form always shows all three, in these words.

use anchorite_model::{Finding, HuntSummary, Rank};

use super::{grouped, undocumented_told};

/// How much was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Findings that are not known issues.
    pub new: u64,
    /// Of these, the ones that break no promise but are documented nowhere.
    pub undocumented: u64,
    /// Known issues that occurred, each counted once however many findings it has.
    pub known: u64,
    /// Suspected violations that have not been examined yet.
    pub waiting: u64,
}

impl Found {
    /// By a hunt.
    pub fn of(summary: &HuntSummary) -> Self {
        let new = summary.new_findings().count() as u64;
        let known = summary.known_issues().len() as u64;
        let undocumented = summary.new_of_rank(Rank::Undocumented);
        Self { new, undocumented, known, waiting: summary.waiting }
    }

    /// In a folder: its findings and its suspects.
    pub fn among(findings: &[&Finding], waiting: u64) -> Self {
        let recorded = findings.iter().filter(|finding| !finding.unreported);
        let mut names: Vec<&String> = recorded.filter_map(|f| f.known.as_ref()).collect();
        let new = (findings.len() - names.len()) as u64;
        let is_undocumented = |f: &&&Finding| f.known.is_none() && !f.signature.rank.is_broken();
        let undocumented = findings.iter().filter(is_undocumented).count() as u64;
        names.sort_unstable();
        names.dedup();
        Self { new, undocumented, known: names.len() as u64, waiting }
    }

    /// Whether there is nothing at all.
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// `1 new finding, 2 known issues, 3 waiting to be examined`.
    pub fn told(self) -> String {
        let of = |count: u64, one: &str, more: &str| match count {
            0 => format!("no {more}"),
            1 => format!("1 {one}"),
            _ => format!("{} {more}", grouped(count)),
        };
        let waiting = match self.waiting {
            0 => "none waiting to be examined".to_owned(),
            count => format!("{} waiting to be examined", grouped(count)),
        };
        format!(
            "{}{}, {}, {waiting}",
            of(self.new, "new finding", "new findings"),
            undocumented_told(self.undocumented),
            of(self.known, "known issue", "known issues"),
        )
    }

    /// `1 new, 2 known, 3 waiting`.
    pub fn in_short(self) -> String {
        let undocumented = undocumented_told(self.undocumented);
        format!("{} new{undocumented}, {} known, {} waiting", self.new, self.known, self.waiting)
    }
}

/// A sentence's beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_are_told_together() {
        let none = Found::default();
        assert_eq!(none.told(), "no new findings, no known issues, none waiting to be examined");
        let some = Found { new: 1, undocumented: 0, known: 1, waiting: 1_234 };
        assert_eq!(some.told(), "1 new finding, 1 known issue, 1,234 waiting to be examined");
        assert_eq!(some.in_short(), "1 new, 1 known, 1234 waiting");
        assert!(none.is_nothing() && !some.is_nothing());
        let lower = Found { new: 3, undocumented: 2, ..some };
        assert!(lower.told().starts_with("3 new findings (2 undocumented), 1 known issue,"));
        assert_eq!(lower.in_short(), "3 new (2 undocumented), 1 known, 1234 waiting");
    }
}
