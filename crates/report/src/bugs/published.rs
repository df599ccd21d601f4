//! What was published about bugs elsewhere, as data.
//!
//! Source: the 129 scripts and results of T. Moroianu, *Exploring the correlation between transactional bugs and
//! isolation levels* (ETH Zurich, 2024). Assumption: a level in that list is the one that the study set globally, which
//! is not always the one that the first session had ([`super::study`]).

use anchorite_judge::BugKind;
use anchorite_model::{Level, Product};
use serde::{Deserialize, Deserializer, de};

const PUBLISHED: &str = include_str!("published.toml");

/// An entry of the study.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    /// The report.
    pub id: String,
    /// What it was replicated on.
    #[serde(deserialize_with = "parsed")]
    pub product: Product,
    /// Its version, in the study's words.
    pub version: String,
    /// What sort of bug it is.
    #[serde(deserialize_with = "parsed")]
    pub kind: BugKind,
    /// How many sessions the script has.
    pub sessions: u32,
    /// The levels at which the study says that it shows; none: it did not.
    #[serde(deserialize_with = "levels")]
    pub levels: Vec<Level>,
    /// The case of the collection.
    pub case: Option<String>,
    /// Why there is none.
    pub why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    bug: Vec<Published>,
}

/// All entries, in the order of the study.
///
/// # Panics
///
/// Never in a program that passed its tests: they read the file.
pub(super) fn published() -> Vec<Published> {
    let file: File = toml::from_str(PUBLISHED).expect("a built-in file is valid");
    file.bug
}

fn parsed<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    String::deserialize(from)?.parse().map_err(de::Error::custom)
}

fn levels<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Level>, D::Error> {
    let words = Vec::<String>::deserialize(from)?;
    words.iter().map(|word| word.parse().map_err(de::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_a_case_or_says_why_not() {
        let all = published();
        assert_eq!(all.len(), 129);
        for entry in &all {
            assert_ne!(entry.case.is_some(), entry.why.is_some(), "{}", entry.id);
        }
        let expressed = all.iter().filter(|entry| entry.case.is_some()).count();
        assert!(expressed >= 80, "{expressed}");
    }
}
