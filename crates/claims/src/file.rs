//! Reads a claims file and rejects what is misspelt, incomplete or lacks a page.
//!
//! ```toml
//! product = "mysql"
//! manual = ["8.4", "9.7"]         # optional: the manuals that {version} in a url stands for
//!
//! [[level]]
//! level = "repeatable read"
//! spelling = "REPEATABLE READ"
//! offered = true
//! url = "https://…"
//! says = "The default. …"
//!
//! [[level.anomaly]]
//! names = ["PMP", "G-single"]     # or: cases = ["PMP-write"]
//! claim = "prevented"             # or: possible, unspecified
//! since = "11.6.2"                # optional, first version; before = first version no more
//! with = "some_setting=ON"        # optional, see docs/claims.md; or: without
//! url = "https://…"
//! says = "Plain reads of one transaction see one snapshot."
//! ```
//!
//! What a level claims about writes is read in [`crate::writes`], what about reads in [`crate::reads`], exceptions in
//! [`crate::exception`], settings with which commits may be lost in [`crate::loss`].
//!
//! Every level that is offered has a claim about each of the ten anomalies, for every version.

use std::path::Path;

use anchorite_model::{Level, Product};
use serde::Deserialize;
use toml::Spanned;

use crate::bounds::BoundsText;
use crate::exception::ExceptionText;
use crate::loss::LossText;
use crate::reads::ReadText;
use crate::source::{ClaimsError, Source, VERSION};
use crate::writes::WritesText;
use crate::{Anomaly, Claim, Claims, LevelClaims, Promise, Subject, Version};

/// The files that are built into the program.
pub(crate) const BUILT_IN: [(&str, &str); 7] = [
    ("claims/sqlite.toml", include_str!("../../../claims/sqlite.toml")),
    ("claims/mariadb.toml", include_str!("../../../claims/mariadb.toml")),
    ("claims/mysql.toml", include_str!("../../../claims/mysql.toml")),
    ("claims/postgres.toml", include_str!("../../../claims/postgres.toml")),
    ("claims/tidb.toml", include_str!("../../../claims/tidb.toml")),
    ("claims/cockroach.toml", include_str!("../../../claims/cockroach.toml")),
    ("claims/mariadb-rocksdb.toml", include_str!("../../../claims/mariadb-rocksdb.toml")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    product: Spanned<String>,
    #[serde(default)]
    manual: Vec<Spanned<String>>,
    #[serde(default)]
    level: Vec<Spanned<LevelText>>,
    #[serde(default)]
    loss: Vec<LossText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelText {
    level: Spanned<String>,
    spelling: String,
    offered: bool,
    since: Option<Spanned<String>>,
    #[serde(default)]
    variants: Vec<String>,
    same_as: Option<Spanned<String>>,
    url: Spanned<String>,
    says: Spanned<String>,
    #[serde(default)]
    anomaly: Vec<Spanned<AnomalyText>>,
    writes: Option<WritesText>,
    #[serde(default)]
    read: Vec<ReadText>,
    #[serde(default)]
    exception: Vec<ExceptionText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnomalyText {
    #[serde(default)]
    names: Vec<Spanned<String>>,
    #[serde(default)]
    cases: Vec<Spanned<String>>,
    claim: Spanned<String>,
    since: Option<Spanned<String>>,
    before: Option<Spanned<String>>,
    with: Option<String>,
    without: Option<String>,
    url: Spanned<String>,
    says: Spanned<String>,
}

impl Claims {
    /// Reads the text of a claims file, with the pages of the newest manual; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, ClaimsError> {
        let manuals = Source { file, text }.manuals()?;
        let newest = manuals.last().map(|(name, version)| (name.as_str(), version.clone()));
        Self::parse_edition(file, text, newest)
    }

    /// The same, once for every manual that the file names, oldest first.
    pub(crate) fn parse_editions(file: &str, text: &str) -> Result<Vec<Self>, ClaimsError> {
        let manuals = Source { file, text }.manuals()?;
        if manuals.is_empty() {
            return Ok(vec![Self::parse_edition(file, text, None)?]);
        }
        let editions = manuals.iter().map(|(name, version)| {
            Self::parse_edition(file, text, Some((name.as_str(), version.clone())))
        });
        editions.collect()
    }

    fn parse_edition(
        file: &str,
        text: &str,
        manual: Option<(&str, Version)>,
    ) -> Result<Self, ClaimsError> {
        let text =
            &manual.as_ref().map_or(text.to_owned(), |(name, _)| text.replace(VERSION, name));
        let source = Source { file, text };
        let parsed = source.parse()?;
        let product = source.read::<Product>(&parsed.product)?;
        let levels = parsed.level.iter().map(|level| source.level(level));
        let manual = manual.map(|(_, version)| version);
        let losses = parsed.loss.iter().map(|loss| source.loss(loss)).collect::<Result<_, _>>()?;
        let claims = Self { product, manual, levels: levels.collect::<Result<_, _>>()?, losses };
        for (level, text) in claims.levels.iter().zip(&parsed.level) {
            let problem = claims.problem_of(level);
            problem.map_or(Ok(()), |reason| Err(source.error(text.span(), reason)))?;
        }
        Ok(claims)
    }

    /// Reads a claims file.
    pub fn load(path: &Path) -> Result<Self, ClaimsError> {
        let (file, text) = read(path)?;
        Self::parse(&file, &text)
    }

    /// The same, once for every manual that it names.
    pub(crate) fn load_editions(path: &Path) -> Result<Vec<Self>, ClaimsError> {
        let (file, text) = read(path)?;
        Self::parse_editions(&file, &text)
    }

    /// What a level lacks, or states twice.
    fn problem_of(&self, level: &LevelClaims) -> Option<String> {
        let name = level.level;
        if self.levels.iter().filter(|other| other.level == name).count() > 1 {
            return Some(format!("'{name}' is defined twice"));
        }
        if let Some(same) = level.same_as {
            let known = self.level(same).is_some_and(|other| other.same_as.is_none());
            let silent = level.claims.is_empty();
            return (!known || !silent).then(|| {
                format!("'{name}' is the same as '{same}', so that must be defined in this file, without claims here")
            });
        }
        if !level.offered {
            return (!level.claims.is_empty())
                .then(|| format!("'{name}' is not offered, but has claims"));
        }
        level.overlap().or_else(|| level.reads_twice()).or_else(|| {
            let missing: Vec<&str> = Anomaly::ALL
                .into_iter()
                .filter(|anomaly| !level.covers_all_versions(*anomaly))
                .map(Anomaly::name)
                .collect();
            (!missing.is_empty()).then(|| {
                format!("'{name}' has no claim, at some version, about {}", missing.join(", "))
            })
        })
    }
}

/// The file's name in errors, and its text.
fn read(path: &Path) -> Result<(String, String), ClaimsError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((file, text)),
        Err(error) => Err(ClaimsError::Unreadable { file, reason: error.to_string() }),
    }
}

impl LevelClaims {
    /// A subject of two claims at the same version.
    fn overlap(&self) -> Option<String> {
        for (index, claim) in self.claims.iter().enumerate() {
            for other in &self.claims[index + 1..] {
                let both = claim.subjects.iter().find(|subject| other.subjects.contains(subject));
                if let Some(subject) = both.filter(|_| claim.bounds.meet(&other.bounds)) {
                    let subject = match subject {
                        Subject::Anomaly(anomaly) => anomaly.name(),
                        Subject::Case(case) => case,
                    };
                    return Some(format!("'{}' has two claims about {subject}", self.level));
                }
            }
        }
        None
    }

    /// A kind of read with two claims at the same version.
    fn reads_twice(&self) -> Option<String> {
        let pairs = self.reads.iter().enumerate().flat_map(|(index, read)| {
            self.reads[index + 1..].iter().map(move |other| (read, other))
        });
        let found = pairs.into_iter().find(|(read, other)| read.meets(other));
        found.map(|(read, _)| {
            format!("'{}' has two claims about {} reads", self.level, read.kind.name())
        })
    }

    /// Whether the claims about an anomaly cover every version. They do not overlap, so it is enough that each begins
    /// where another ends.
    fn covers_all_versions(&self, anomaly: Anomaly) -> bool {
        let about: Vec<&Claim> = self
            .claims
            .iter()
            .filter(|claim| claim.subjects.contains(&Subject::Anomaly(anomaly)))
            .collect();
        let begins =
            |version: &Option<Version>| about.iter().any(|claim| claim.bounds.since == *version);
        begins(&None)
            && about
                .iter()
                .all(|claim| claim.bounds.before.is_none() || begins(&claim.bounds.before))
    }
}

impl Source<'_> {
    fn parse(self) -> Result<FileText, ClaimsError> {
        toml::from_str(self.text)
            .map_err(|error| self.error(error.span().unwrap_or(0..0), error.message().to_owned()))
    }

    /// The manuals that the file names, by their names in URLs.
    fn manuals(self) -> Result<Vec<(String, Version)>, ClaimsError> {
        let named = self.parse()?.manual;
        let read = |name: &Spanned<String>| Ok((name.get_ref().clone(), self.read(name)?));
        let manuals = named.iter().map(read).collect::<Result<Vec<(String, Version)>, _>>()?;
        match named.iter().zip(manuals.windows(2)).find(|(_, pair)| pair[0].1 >= pair[1].1) {
            Some((name, _)) => {
                Err(self.error(name.span(), "expected the manuals oldest first".to_owned()))
            }
            None => Ok(manuals),
        }
    }

    fn level(self, spanned: &Spanned<LevelText>) -> Result<LevelClaims, ClaimsError> {
        let text = spanned.get_ref();
        Ok(LevelClaims {
            level: self.read::<Level>(&text.level)?,
            spelling: text.spelling.clone(),
            offered: text.offered,
            since: text.since.as_ref().map(|since| self.read(since)).transpose()?,
            variants: text.variants.clone(),
            same_as: text.same_as.as_ref().map(|level| self.read(level)).transpose()?,
            url: self.url(&text.url)?,
            says: self.sentence(&text.says)?,
            claims: text.anomaly.iter().map(|claim| self.claim(claim)).collect::<Result<_, _>>()?,
            writes: text.writes.as_ref().map(|writes| self.writes(writes)).transpose()?,
            reads: text.read.iter().map(|read| self.read_claim(read)).collect::<Result<_, _>>()?,
            exceptions: text
                .exception
                .iter()
                .map(|exception| self.exception(exception))
                .collect::<Result<_, _>>()?,
        })
    }

    fn claim(self, spanned: &Spanned<AnomalyText>) -> Result<Claim, ClaimsError> {
        let text = spanned.get_ref();
        if text.names.is_empty() == text.cases.is_empty() {
            let reason = "expected either names = [...] or cases = [...]".to_owned();
            return Err(self.error(spanned.span(), reason));
        }
        let anomalies = text.names.iter().map(|name| self.read(name).map(Subject::Anomaly));
        let cases = text.cases.iter().map(|name| Ok(Subject::Case(name.get_ref().clone())));
        let bounds = BoundsText {
            since: text.since.as_ref(),
            before: text.before.as_ref(),
            with: text.with.as_ref(),
            without: text.without.as_ref(),
        };
        Ok(Claim {
            subjects: anomalies.chain(cases).collect::<Result<_, _>>()?,
            promise: self.promise(&text.claim)?,
            bounds: self.bounds(&bounds, spanned.span())?,
            url: self.url(&text.url)?,
            says: self.sentence(&text.says)?,
        })
    }

    fn promise(self, text: &Spanned<String>) -> Result<Promise, ClaimsError> {
        let all = [Promise::Prevented, Promise::Possible, Promise::Unspecified];
        let found = all.into_iter().find(|promise| promise.name() == text.get_ref());
        found.ok_or_else(|| {
            let reason = format!(
                "unknown claim '{}': expected prevented, possible or unspecified",
                text.get_ref()
            );
            self.error(text.span(), reason)
        })
    }
}
