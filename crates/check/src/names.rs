//! How people call levels on the command line, and what the output calls them.

use crate::levels::{ADYA, AXIOMATIC, STRICT};

/// A level that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The name in the output.
    pub name: &'static str,
    /// Whether Adya's family has it.
    pub adya: bool,
    /// Whether the axiomatic family has it.
    pub axiomatic: bool,
}

const SHORT: &[(&str, &str)] = &[
    ("ru", "read-uncommitted"),
    ("rc", "read-committed"),
    ("cs", "cursor-stability"),
    ("mav", "monotonic-atomic-view"),
    ("cv", "consistent-view"),
    ("rr", "repeatable-read"),
    ("si", "snapshot-isolation"),
    ("ser", "serializable"),
    ("ra", "read-atomic"),
    ("cc", "causal"),
    ("pc", "prefix"),
    ("ssi", "strong-session-snapshot-isolation"),
    ("sser", "strong-session-serializable"),
    ("strict", STRICT),
    ("strong-serializable", STRICT),
    ("default", "serializable"),
    ("PL-1", "read-uncommitted"),
    ("PL-2", "read-committed"),
    ("PL-2+", "consistent-view"),
    ("PL-2.99", "repeatable-read"),
    ("PL-3", "serializable"),
    ("PL-SI", "snapshot-isolation"),
    ("PL-SS", STRICT),
];

/// The level of this name.
pub fn level(name: &str) -> Option<Asked> {
    let name = SHORT.iter().find(|(short, _)| *short == name).map_or(name, |entry| entry.1);
    let adya = ADYA.iter().chain([&STRICT]).find(|level| **level == name);
    let axiomatic = AXIOMATIC.iter().find(|level| **level == name);
    Some(Asked { name: adya.or(axiomatic)?, adya: adya.is_some(), axiomatic: axiomatic.is_some() })
}

/// All names that [`level`] takes, for messages.
pub fn known() -> String {
    let mut names: Vec<&str> =
        ADYA.iter().chain([&STRICT]).chain(AXIOMATIC.iter()).copied().collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// The level's name in the lattice of anomalies.
pub fn model(name: &str) -> &'static str {
    match name {
        "causal" => "causal-cerone",
        _ => crate::lattice::canonical(name).unwrap_or("serializable"),
    }
}

/// The anomaly that says "a cycle exists" for a level, where no single cycle could be shown.
pub fn cycle_exists(name: &str) -> &'static str {
    match name {
        "read-uncommitted" => "PL-1-cycle-exists",
        "read-committed" | "monotonic-atomic-view" => "PL-2-cycle-exists",
        "cursor-stability" => "G-cursor",
        "consistent-view" => "G-single",
        "repeatable-read" => "PL-2.99-cycle-exists",
        "snapshot-isolation" => "PL-SI-cycle-exists",
        "strong-session-read-uncommitted" => "strong-session-PL-1-cycle-exists",
        "strong-session-read-committed" => "strong-session-PL-2-cycle-exists",
        "strong-session-snapshot-isolation" => "strong-session-snapshot-isolation-cycle-exists",
        "strong-session-serializable" => "strong-session-serializable-cycle-exists",
        "strong-read-uncommitted" => "strong-PL-1-cycle-exists",
        "strong-read-committed" => "strong-PL-2-cycle-exists",
        "strong-snapshot-isolation" => "strong-snapshot-isolation-cycle-exists",
        "strict-serializable" => "PL-SS-cycle-exists",
        _ => "PL-3-cycle-exists",
    }
}
