//! What an oracle says about a run: one of four values, always with its reason.

use serde::{Deserialize, Serialize};

use crate::{Cause, Dependency, Rows, VersionsSeen};

/// The verdict of one oracle on one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The run is what the claim promises.
    Pass,
    /// The run breaks the claim.
    Violation {
        /// The anomaly's name (Adya, Berenson, Elle); below the first rank, the name of what was seen.
        anomaly: String,
        /// Whether it breaks a promise, or is only documented nowhere.
        #[serde(default, skip_serializing_if = "Rank::is_broken")]
        rank: Rank,
        /// Why, in sentences that anyone can check.
        because: Vec<String>,
    },
    /// The run deviates, and the vendor documents that it may.
    Allowed {
        /// The name of the exception in the claims file.
        exception: String,
        /// Why the exception applies.
        because: Vec<String>,
    },
    /// The oracle's assumptions are not met.
    Undecided {
        /// Which one, in a sentence.
        reason: String,
    },
}

impl Verdict {
    /// The same verdict where documented exceptions count as violations.
    pub fn strictly(self) -> Self {
        match self {
            Self::Allowed { exception, because } => Self::broken(&exception, because),
            other => other,
        }
    }

    /// A broken promise.
    pub fn broken(anomaly: &str, because: Vec<String>) -> Self {
        Self::Violation { anomaly: anomaly.to_owned(), rank: Rank::Broken, because }
    }

    /// What no page documents: it deviates from what is promised, and only a tracker or the source explains how.
    pub fn undocumented(name: &str, because: Vec<String>) -> Self {
        Self::Violation { anomaly: name.to_owned(), rank: Rank::Undocumented, because }
    }
}

/// How bad a violation is.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Rank {
    /// A promise is broken.
    #[default]
    Broken,
    /// No page of the vendor documents it, so it is not excused; but how it comes about is known, from a tracker or
    /// from the source.
    Undocumented,
}

impl Rank {
    /// The word of reports, headers and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Undocumented => "undocumented",
        }
    }

    /// Whether a promise is broken.
    pub const fn is_broken(&self) -> bool {
        matches!(self, Self::Broken)
    }
}

/// What one oracle says about one run, with what it compared the run with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The oracle's name on the command line (`final-state`).
    pub oracle: String,
    /// What it says.
    pub verdict: Verdict,
    /// What should have happened instead; empty for a pass.
    pub expected: Vec<Expected>,
    /// What went wrong, the most likely cause first, for a violation that was looked at; others explain it as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// Which versions a wrong read saw, and which it should have seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Box<VersionsSeen>>,
    /// The cycle of dependencies that the verdict is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<Dependency>,
}

/// One outcome that would have been correct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Where it comes from (`t2, then t1, one after the other`).
    pub title: String,
    /// The tables that it ends with.
    pub final_state: Vec<(String, Rows)>,
    /// How the run differs from it, a sentence each.
    pub differences: Vec<String>,
}

/// What makes two violations the same finding while a case is being reduced.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Signature {
    /// Who found it.
    pub oracle: String,
    /// What was found.
    pub anomaly: String,
    /// The documented exception that would excuse it, where exceptions count as violations.
    pub exception: Option<String>,
    /// Whether it breaks a promise, or is only documented nowhere.
    #[serde(default, skip_serializing_if = "Rank::is_broken")]
    pub rank: Rank,
}

impl Signature {
    /// The mechanism that the oracle names as the cause: a documented exception, or what is documented nowhere.
    pub fn mechanism(&self) -> Option<&str> {
        let undocumented = (!self.rank.is_broken()).then_some(self.anomaly.as_str());
        self.exception.as_deref().or(undocumented)
    }
}

impl Judgement {
    /// A verdict that needs nothing to be compared with.
    pub fn new(oracle: &str, verdict: Verdict) -> Self {
        let (expected, causes, cycle) = (Vec::new(), Vec::new(), Vec::new());
        Self { oracle: oracle.to_owned(), verdict, expected, causes, seen: None, cycle }
    }

    /// What was found, if this is a violation; with `strict`, documented exceptions are also violations.
    pub fn signature(&self, strict: bool) -> Option<Signature> {
        let oracle = self.oracle.clone();
        match &self.verdict {
            Verdict::Violation { anomaly, rank, .. } => {
                Some(Signature { oracle, anomaly: anomaly.clone(), exception: None, rank: *rank })
            }
            Verdict::Allowed { exception, .. } if strict => Some(Signature {
                oracle,
                anomaly: exception.clone(),
                exception: Some(exception.clone()),
                rank: Rank::Broken,
            }),
            _ => None,
        }
    }
}
