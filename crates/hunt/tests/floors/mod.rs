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
