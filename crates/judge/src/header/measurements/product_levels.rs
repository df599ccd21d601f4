//! Versions and places, as the headers of cases name them.
//!
//! Idea: a measurement applies to the releases that it was made on, whatever a distribution ships today. So a full
//! release number (`postgres 15.18`) is a measurement, and everything else is a range that is true by documentation:
//! every version (`postgres`), `since 6.6.0`, `before 11.6.2`. The first numbers alone (`postgres 15`) are a
//! measurement on an unknown release of the series, so it is reported but never required.

use std::iter::Peekable;

use anchorite_claims::Version;
use anchorite_model::{Level, Product, TargetInfo};

/// Some versions of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Versions {
    /// Measured on these releases.
    Measured(Vec<Version>),
    /// Documented for a range.
    Documented {
        /// From this version on; `None` = from the beginning.
        since: Option<Version>,
        /// Before this version; `None` = until today.
        before: Option<Version>,
    },
}

impl Versions {
    /// Whether a version is among them.
    pub fn include(&self, version: &Version) -> bool {
        match self {
            Self::Measured(releases) => releases.contains(version),
            Self::Documented { since, before } => {
                since.as_ref().is_none_or(|since| version >= since)
                    && before.as_ref().is_none_or(|before| version < before)
            }
        }
    }

    /// Reads the words up to the first that is not part of it: `15.18 17.11`, `since 6.6.0 before 8.5.0`, or nothing.
    pub(crate) fn parse<'a, I>(words: &mut Peekable<I>) -> Result<Self, String>
    where
        I: Iterator<Item = &'a str>,
    {
        let mut releases = Vec::new();
        while let Some(version) = words.peek().and_then(|word| word.parse::<Version>().ok()) {
            releases.push(version);
            words.next();
        }
        if !releases.is_empty() {
            return Ok(Self::Measured(releases));
        }
        let mut bound = |name: &str| match words.next_if_eq(&name) {
            None => Ok(None),
            Some(_) => {
                let word = words.next().unwrap_or_default();
                word.parse().map(Some).map_err(|error| format!("{error}"))
            }
        };
        Ok(Self::Documented { since: bound("since")?, before: bound("before")? })
    }
}

/// A product at some versions and levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductLevels {
    /// The product.
    pub product: Product,
    /// The versions.
    pub versions: Versions,
    /// The levels; `None` = every level.
    pub levels: Option<Vec<Level>>,
}

impl ProductLevels {
    /// Whether this is about the target's product at this level, on any version.
    pub fn concerns(&self, target: &TargetInfo, level: Level) -> bool {
        self.product == target.product
            && self.levels.as_ref().is_none_or(|levels| levels.contains(&level))
    }

    /// Reads `PRODUCT [VERSIONS] LEVELS`.
    fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace().peekable();
        let product = words.next().ok_or("expected a product, versions and levels")?;
        let product = product.parse::<Product>().map_err(|error| error.to_string())?;
        let versions = Versions::parse(&mut words)?;
        let words: Vec<&str> = words.collect();
        let levels = match words.as_slice() {
            [] => {
                return Err(format!(
                    "'{text}' names no level: expected ru, rc, rr, si, ser or all"
                ));
            }
            ["all"] => None,
            levels => {
                let levels = levels.iter().map(|word| word.parse::<Level>());
                Some(levels.collect::<Result<_, _>>().map_err(|error| error.to_string())?)
            }
        };
        Ok(Self { product, versions, levels })
    }

    /// Reads places that are separated by semicolons.
    pub(in crate::header) fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        text.split(';').map(Self::parse).collect()
    }
}
