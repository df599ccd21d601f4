//! What an oracle says about a run: one of four values, always with its reason.

/// The verdict of one oracle on one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The run is what the claim promises.
    Pass,
    /// The run breaks the claim.
    Violation {
        /// The anomaly's name (Adya, Berenson, Elle).
        anomaly: String,
        /// Why, in sentences a stranger can check.
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
