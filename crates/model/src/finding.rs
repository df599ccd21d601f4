//! A violation that was confirmed, reduced and given a fingerprint: what a user gets.

use serde::{Deserialize, Serialize};

use crate::{Case, Judgement, Run, Signature};

/// A confirmed violation in its smallest form, complete in itself: it can be shown and replayed without
/// the generator that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Names the root cause as well as we can: two findings of one cause should share it.
    pub fingerprint: String,
    /// What was found by whom.
    pub signature: Signature,
    /// The name of the known issue that it is, if it is one.
    pub known: Option<String>,
    /// Where the case came from.
    pub origin: Origin,
    /// The case as it was found.
    pub original: Case,
    /// The last run of the reduced case, on freshly created tables; it contains the case.
    pub run: Run,
    /// What all oracles say about that run.
    pub judgements: Vec<Judgement>,
    /// How often the reduced case showed the finding again.
    pub confirmed: Confirmed,
    /// The nearest variants that do not show it.
    pub contrast: Vec<Contrast>,
    /// What the claim promises at this level, with its URL, and which exceptions were considered.
    pub claim: Vec<String>,
}

/// Where a case came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The generator, from a seed and a number.
    Generated {
        /// The campaign's seed.
        seed: u64,
        /// The case's number in it.
        number: u64,
    },
    /// A file.
    File(String),
}

/// How often something came out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// So many times it did.
    pub shown: u32,
    /// So many times it was run.
    pub runs: u32,
}

/// A neighbour of the reduced case, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    /// How it differs (`without the index on c2`, `at repeatable read`).
    pub change: String,
    /// What then happens (`does not show it`, `t2 fails with deadlock`).
    pub outcome: String,
}
