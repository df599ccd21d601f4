//! What each level of each DBMS promises, with the URL of the page that says so.
//!
//! Idea: a report is worth nothing if the vendor documents the behaviour. So what a level promises is data, one file
//! per product under `claims/`, reviewed like code, and every entry names its page. This crate reads those files
//! ([`file`]), rejects what is incomplete or misspelt, and answers questions ([`Claims::about`]): is this anomaly
//! prevented at this level of this server?
//!
//! Assumption: the vendor's page was understood correctly. Blind spot: behaviour that depends on settings that are
//! neither a version nor a variant of the target, nor read back with a session's level.

mod added;
mod anomaly;
mod bounds;
mod documented;
mod exception;
mod file;
mod loss;
mod quote;
mod reads;
mod source;
mod version;
mod writes;

use anchorite_model::{Level, Product, TargetInfo};

pub use added::add;
pub use anomaly::{Anomaly, UnknownAnomaly};
pub use bounds::{Bounds, Setting};
pub use documented::DocumentedWrites;
pub use exception::Exception;
pub use loss::Loss;
pub use quote::Quote;
pub use reads::{ReadClaim, ReadKind, ReadView, SnapshotTaken};
pub use source::ClaimsError;
pub use version::{InvalidVersion, Version};
pub use writes::{
    Deviation, LockPromise, ReadPlace, SerialOrder, WriteClaims, WriteView, WriteWord,
};

/// What the documentation says about one anomaly at one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Promise {
    /// It cannot happen.
    Prevented,
    /// It can happen.
    Possible,
    /// The documentation does not say.
    Unspecified,
}

impl Promise {
    /// The word of the claims files and of the JSON form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prevented => "prevented",
            Self::Possible => "possible",
            Self::Unspecified => "unspecified",
        }
    }
}

/// Whether a page is about an anomaly in general or about one way to provoke it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An anomaly, whichever case provokes it.
    Anomaly(Anomaly),
    /// One case by its name, where it differs from its anomaly (`PMP-write`).
    Case(String),
}

/// One entry of a claims file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What it is about.
    pub subjects: Vec<Subject>,
    /// What is promised.
    pub promise: Promise,
    /// Where it holds.
    pub bounds: Bounds,
    /// The vendor's page.
    pub url: String,
    /// What it says, in our words.
    pub says: String,
}

/// What one level of a product is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelClaims {
    /// The level.
    pub level: Level,
    /// How the server spells it.
    pub spelling: String,
    /// Whether the server has it; a level that is accepted and silently run as another is not offered.
    pub offered: bool,
    /// The versions that have it: from this one on.
    pub since: Option<Version>,
    /// The variants of the engine that have it; empty = all.
    pub variants: Vec<String>,
    /// The level whose promises apply here, if the product has two names for one level.
    pub same_as: Option<Level>,
    /// The vendor's page.
    pub url: String,
    /// What it says, in our words.
    pub says: String,
    /// What is claimed about anomalies.
    pub claims: Vec<Claim>,
    /// What is claimed about writes.
    pub writes: Option<WriteClaims>,
    /// What is claimed about reads.
    pub reads: Vec<ReadClaim>,
    /// Deviations from it whose cause is known.
    pub exceptions: Vec<Exception>,
}

impl LevelClaims {
    /// Whether this target has the level, as documented.
    pub fn is_offered_by(&self, target: &TargetInfo) -> bool {
        let new_enough = self.since.as_ref().is_none_or(|since| Version::of(target) >= *since);
        let variant_fits = self.variants.is_empty() || self.variants.contains(&target.variant);
        self.offered && new_enough && variant_fits
    }
}

/// What one product promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The product.
    pub product: Product,
    /// The manual that the pages belong to, where the vendor has one per version.
    pub manual: Option<Version>,
    /// Its levels, weakest first.
    pub levels: Vec<LevelClaims>,
    /// Settings with which committed transactions may be lost.
    pub losses: Vec<Loss>,
}

/// The answer to a question about an anomaly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Documented<'a> {
    /// What is promised.
    pub promise: Promise,
    /// The claim that says so; `None` if no file covers this level of this target.
    pub claim: Option<&'a Claim>,
}

impl Claims {
    /// The claims that are built into the program, with the pages of the newest manual.
    ///
    /// # Panics
    ///
    /// Never in a program that passed its tests: they read every built-in file.
    pub fn for_product(product: Product) -> &'static Self {
        added::editions_of(product).last().expect("every product has a file")
    }

    /// The built-in claims with the pages of the target's own manual: that of its version, else the next one, because
    /// releases between two manuals are documented in the later; else the newest.
    pub fn for_target(target: &TargetInfo) -> &'static Self {
        let version = Version::of(target);
        let editions = added::editions_of(target.product);
        let own = editions.into_iter().find(|edition| {
            let is_own = |manual: &Version| version.starts_with(manual) || version < *manual;
            edition.manual.as_ref().is_some_and(is_own)
        });
        own.unwrap_or_else(|| Self::for_product(target.product))
    }

    /// The claims about a level.
    pub fn level(&self, level: Level) -> Option<&LevelClaims> {
        self.levels.iter().find(|claims| claims.level == level)
    }

    /// What is promised about an anomaly, as the given case provokes it, at a level of a target. A claim about the case
    /// overrides the claim about its anomaly. Settings are the defaults of the target's version.
    pub fn about(
        &self,
        target: &TargetInfo,
        level: Level,
        anomaly: Anomaly,
        case: &str,
    ) -> Documented<'_> {
        self.find(target, level, None, anomaly, case)
    }

    /// The same for a session that has read back its level in these words, which include its settings.
    pub fn about_session(
        &self,
        target: &TargetInfo,
        level: Level,
        read_back: &str,
        anomaly: Anomaly,
        case: &str,
    ) -> Documented<'_> {
        self.find(target, level, Some(read_back), anomaly, case)
    }

    fn find(
        &self,
        target: &TargetInfo,
        level: Level,
        read_back: Option<&str>,
        anomaly: Anomaly,
        case: &str,
    ) -> Documented<'_> {
        let holds = |claim: &Claim| claim.bounds.hold(&Version::of(target), read_back);
        let claim = self
            .level(level)
            .filter(|claims| claims.is_offered_by(target))
            .and_then(|claims| self.level(claims.same_as.unwrap_or(level)))
            .and_then(|claims| claims.about(holds, anomaly, case));
        let promise = claim.map_or(Promise::Unspecified, |claim| claim.promise);
        Documented { promise, claim }
    }
}

impl LevelClaims {
    fn about(
        &self,
        holds: impl Fn(&Claim) -> bool,
        anomaly: Anomaly,
        case: &str,
    ) -> Option<&Claim> {
        let find = |wanted: &Subject| {
            self.claims.iter().find(|claim| holds(claim) && claim.subjects.contains(wanted))
        };
        find(&Subject::Case(case.to_owned())).or_else(|| find(&Subject::Anomaly(anomaly)))
    }
}
