//! What a case of the known-bug collection says about its bug, besides what it shows and where.
//!
//! ```text
//! -- kind: locking                                   what sort of bug it is; left out: isolation
//! -- also: TIDB-28212                                other reports of the same bug
//! -- allowed: mysql rr ser; tidb rc: https://…       where the vendor documents what the case shows
//! ```
//!
//! `rediscovered` and `missing` are in [`super::rediscovery`].
//!
//! Idea: a bug of one level is how another one works. Rows that appear between two reads are a bug at serializable and
//! documented at read committed, so a case names the places where what it shows is allowed, each with the vendor's
//! page. Blind spot: a page can change, and nothing here reads it again.

use anchorite_claims::Version;
use anchorite_model::{Case, Level, Product, TargetInfo};

use crate::header::lines::{ConditionError, misfit, values};
use crate::header::measurements::ProductLevels;
use crate::header::rediscovery::{self, Missing, Rediscovered};

/// What sort of bug a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BugKind {
    /// Concurrent transactions see or write what their level should keep from them.
    Isolation,
    /// Each transaction is right by itself, but no order of them gives the result.
    Serializability,
    /// A transaction alone, or the reaction to an error, is wrong.
    TransactionalLogic,
    /// A lock is missing, or there is one too many.
    Locking,
    /// The server program ends.
    Crash,
    /// It happens in a transaction, but has nothing to do with it.
    NotTransactional,
}

impl BugKind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Isolation,
        Self::Serializability,
        Self::TransactionalLogic,
        Self::Locking,
        Self::Crash,
        Self::NotTransactional,
    ];

    /// The word of headers and of the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Isolation => "isolation",
            Self::Serializability => "serializability",
            Self::TransactionalLogic => "transactional-logic",
            Self::Locking => "locking",
            Self::Crash => "crash",
            Self::NotTransactional => "not-transactional",
        }
    }
}

/// A word that names no kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind '{0}': expected one of {known}", known = BugKind::ALL.map(BugKind::name).join(", "))]
pub struct UnknownKind(pub String);

impl std::str::FromStr for BugKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == text);
        known.ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

/// Places where what a case shows is documented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// Where.
    pub places: Vec<ProductLevels>,
    /// The vendor's page.
    pub url: String,
}

/// The lines of a header that are about its bug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BugLines {
    /// What sort of bug it is.
    pub kind: BugKind,
    /// Other reports of the same bug.
    pub also: Vec<String>,
    /// Where the vendor documents what the case shows.
    pub allowed: Vec<Allowed>,
    /// Where generated transactions found it.
    pub found: Vec<Rediscovered>,
    /// What they lack, so that they do not.
    pub missing: Vec<Missing>,
}

impl BugLines {
    /// Reads the header.
    pub fn of(case: &Case) -> Result<Self, ConditionError> {
        let mut kind = BugKind::Isolation;
        for text in values(case, "kind") {
            kind = text
                .parse()
                .map_err(|error: UnknownKind| misfit(case, "kind", text, error.to_string()))?;
        }
        let also = values(case, "also").flat_map(|text| text.split(','));
        let also = also.map(|id| id.trim().to_owned()).collect();
        let allowed = values(case, "allowed")
            .map(|text| allowed(text).map_err(|reason| misfit(case, "allowed", text, reason)))
            .collect::<Result<_, _>>()?;
        let (found, missing) = (rediscovery::found(case)?, rediscovery::missing(case)?);
        Ok(Self { kind, also, allowed, found, missing })
    }

    /// The page that documents what the case shows on this version at this level.
    pub fn page_for(&self, product: Product, version: &Version, level: Level) -> Option<&str> {
        let target = TargetInfo { product, version: String::new(), variant: String::new() };
        let fits = |place: &ProductLevels| {
            place.concerns(&target, level) && place.versions.include(version)
        };
        let mut found = self.allowed.iter().filter(|allowed| allowed.places.iter().any(fits));
        found.next().map(|allowed| allowed.url.as_str())
    }
}

fn allowed(text: &str) -> Result<Allowed, String> {
    let (places, url) =
        text.split_once(": ").ok_or("expected PLACES: URL, and found no colon before a space")?;
    let url = url.trim();
    if !url.starts_with("https://") {
        return Err(format!("'{url}' is no address of a page: expected https://…"));
    }
    Ok(Allowed { places: ProductLevels::parse_list(places)?, url: url.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(header: &str) -> Result<BugLines, ConditionError> {
        let case = Case::parse("b", &format!("{header}\n/* t1 */ SELECT 1;\n")).expect("a case");
        BugLines::of(&case)
    }

    #[test]
    fn a_place_is_allowed_by_its_page() {
        let bug = lines(
            "-- kind: locking\n-- also: A-1, B-2\n-- allowed: mysql rr ser; mariadb before 11.6.2 rr: https://a/b:c",
        )
        .expect("readable lines");
        assert_eq!((bug.kind, bug.also.len()), (BugKind::Locking, 2));
        let version = |text: &str| text.parse::<Version>().expect("a version");
        let page =
            |product, text, level| bug.page_for(Product::named(product), &version(text), level);
        assert_eq!(page("mysql", "9.7.4", Level::Serializable), Some("https://a/b:c"));
        assert_eq!(page("mysql", "9.7.4", Level::ReadCommitted), None);
        assert_eq!(page("mariadb", "10.11.18", Level::RepeatableRead), Some("https://a/b:c"));
        assert_eq!(page("mariadb", "11.8.6", Level::RepeatableRead), None);
    }

    #[test]
    fn bad_lines_are_refused() {
        for bad in ["-- kind: strange", "-- allowed: mysql rr", "-- allowed: mysql rr: page 3"] {
            assert!(lines(bad).is_err(), "{bad}");
        }
        assert_eq!(lines("-- title: x").map(|bug| bug.kind), Ok(BugKind::Isolation));
    }
}
