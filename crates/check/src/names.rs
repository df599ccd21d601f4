//! Names of levels on the command line and in the output.

use crate::levels::{ADYA, AXIOMATIC, STRICT};

/// A requested level.
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
    ("snapshot", "snapshot-isolation"),
    ("ser", "serializable"),
    ("ra", "read-atomic"),
    ("cc", "causal"),
    ("causal-consistency", "causal"),
    ("pc", "prefix"),
    ("prefix-consistency", "prefix"),
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

/// One of the two families of levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Adya's and Elle's: no session order unless the name says so.
    Adya,
    /// Biswas and Enea's: session order is part of the commit order.
    Axiomatic,
}

impl Family {
    /// The family of a level of this name: Adya's, if both families have the name.
    pub fn of(level: &str) -> Self {
        let adya = ADYA.contains(&level) || level == STRICT || !AXIOMATIC.contains(&level);
        if adya { Self::Adya } else { Self::Axiomatic }
    }

    /// The word of the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adya => "adya",
            Self::Axiomatic => "axiomatic",
        }
    }

    /// Whose levels these are.
    pub fn authors(self) -> &'static str {
        match self {
            Self::Adya => "Adya and Elle",
            Self::Axiomatic => "Biswas and Enea",
        }
    }

    /// What sets it apart from the other one.
    pub fn difference(self) -> &'static str {
        match self {
            Self::Adya => "no session order unless the name says so",
            Self::Axiomatic => "with session order",
        }
    }
}

/// The level of this name, in upper or lower case, with spaces or hyphens.
pub fn level(name: &str) -> Option<Asked> {
    let plain = name.trim().to_lowercase().replace([' ', '_'], "-");
    let short = SHORT.iter().find(|(short, _)| short.eq_ignore_ascii_case(&plain));
    let name = short.map_or(plain.as_str(), |entry| entry.1);
    let adya = ADYA.iter().chain([&STRICT]).find(|level| **level == name);
    let axiomatic = AXIOMATIC.iter().find(|level| **level == name);
    Some(Asked { name: adya.or(axiomatic)?, adya: adya.is_some(), axiomatic: axiomatic.is_some() })
}

/// All levels, weakest first, with their short names, for messages.
pub fn known() -> String {
    let further = AXIOMATIC.iter().filter(|name| !ADYA.contains(name));
    let names = ADYA.iter().chain([&STRICT]).chain(further);
    let told = names.map(|name| {
        let short = SHORT.iter().find(|(_, long)| long == name);
        match short {
            Some((short, _)) => format!("{short} = {name}"),
            None => (*name).to_owned(),
        }
    });
    told.collect::<Vec<_>>().join(", ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_call_levels_by_many_names() {
        for (name, full) in [
            ("snapshot", "snapshot-isolation"),
            ("SI", "snapshot-isolation"),
            ("Snapshot Isolation", "snapshot-isolation"),
            ("read_committed", "read-committed"),
            ("ser", "serializable"),
            ("pl-2+", "consistent-view"),
            ("strict", "strict-serializable"),
            ("causal consistency", "causal"),
        ] {
            assert_eq!(level(name).map(|asked| asked.name), Some(full), "{name}");
        }
        assert_eq!(level("snapshoot"), None);
        assert!(known().contains("si = snapshot-isolation"), "{}", known());
        assert!(known().contains("strict = strict-serializable"), "{}", known());
    }

    #[test]
    fn a_level_belongs_to_the_family_that_answers_for_it() {
        for (level, family) in [
            ("serializable", Family::Adya),
            ("strict-serializable", Family::Adya),
            ("update-atomic", Family::Adya),
            ("causal", Family::Axiomatic),
            ("read-atomic", Family::Axiomatic),
        ] {
            assert_eq!(Family::of(level), family, "{level}");
        }
    }
}
