//! Why one transaction comes before another one, as data: a step of a cycle.

use serde::{Deserialize, Serialize};

/// One transaction comes before another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// This one (`t1`) …
    pub from: String,
    /// … before this one.
    pub to: String,
    /// The kind of dependency (`ww`, `wr-predicate`).
    pub kind: String,
    /// The number of the statement of the first one that it follows from.
    pub from_step: usize,
    /// The number of the statement of the other one.
    pub to_step: usize,
}
