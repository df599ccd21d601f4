//! What was measured once and must not be less: how many runs pass, and which planted faults are found.

#![allow(dead_code, reason = "each test reads its own floors")]

use anchorite_drivers::Target;
use anchorite_model::Level;
use serde::Deserialize;

/// `mariadb`, `sqlite-wal`.
pub fn name_of(target: &dyn Target) -> String {
    let info = target.info();
    match info.variant.as_str() {
        "wal" | "shared-cache" => format!("{}-{}", info.product, info.variant),
        _ => info.product.to_string(),
    }
}

/// So many of a hundred runs pass at least.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    /// Where nothing else is said.
    otherwise: u64,
    floor: Vec<Floor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Floor {
    oracle: String,
    targets: Vec<String>,
    levels: Vec<String>,
    per_cent: u64,
}

impl Passes {
    /// From the file beside this one.
    pub fn read() -> Self {
        toml::from_str(include_str!("passes.toml")).expect("floors/passes.toml is valid")
    }

    /// The floor of an oracle at a level of a target.
    pub fn floor(&self, target: &str, level: Level, oracle: &str) -> u64 {
        let found = self.floor.iter().find(|floor| {
            floor.oracle == oracle
                && floor.targets.iter().any(|name| name == target)
                && floor.levels.iter().any(|name| name == level.short())
        });
        found.map_or(self.otherwise, |floor| floor.per_cent)
    }
}

/// Which planted faults are found, and which are known to be missed, as measured.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    found: Vec<Named>,
    missed: Vec<Named>,
    vague: Vec<Vague>,
}

/// An oracle that leaves more honest runs undecided than others may.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vague {
    oracle: String,
    target: String,
    level: String,
    per_cent: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    oracle: String,
    target: String,
    level: String,
    sabotages: Vec<String>,
}

impl Named {
    fn is_of(&self, target: &str, level: Level, oracle: &str) -> bool {
        self.target == target && self.level == level.short() && self.oracle == oracle
    }
}

impl Faults {
    /// From the file beside this one.
    pub fn read() -> Self {
        toml::from_str(include_str!("faults.toml")).expect("floors/faults.toml is valid")
    }

    /// Whether an oracle has found a fault at a level of a target before.
    pub fn is_found(&self, target: &str, level: Level, oracle: &str, sabotage: &str) -> bool {
        Self::names(&self.found, target, level, oracle, sabotage)
    }

    /// Whether an oracle is known to miss a fault that it declares to see: the file says why.
    pub fn is_missed(&self, target: &str, level: Level, oracle: &str, sabotage: &str) -> bool {
        Self::names(&self.missed, target, level, oracle, sabotage)
    }

    /// Of how many of a hundred honest runs an oracle may say nothing; where the file names more, it says why.
    pub fn undecided(&self, target: &str, level: Level, oracle: &str) -> u64 {
        let is_here = |vague: &&Vague| {
            vague.target == target && vague.level == level.short() && vague.oracle == oracle
        };
        self.vague.iter().find(is_here).map_or(5, |vague| vague.per_cent)
    }

    fn names(all: &[Named], target: &str, level: Level, oracle: &str, sabotage: &str) -> bool {
        let mut here = all.iter().filter(|named| named.is_of(target, level, oracle));
        here.any(|named| named.sabotages.iter().any(|name| name == sabotage))
    }
}
