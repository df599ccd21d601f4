//! Suspected violations, written to disk before they are examined.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anchorite_model::{Case, Level, Signature};
use serde::{Deserialize, Serialize};

use crate::campaign::{SCHEMA, read_json, write_json};
use crate::findings::file_name;
use crate::{StoreError, atomic};

/// Where in a campaign something happened: a target at a level, and the number of the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Spot {
    /// Index of the target and level in the campaign's plan.
    pub place: usize,
    /// The case's number.
    pub number: u64,
}

/// A violation that was seen once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspect {
    /// The version of the folder's layout.
    pub schema: u32,
    /// Where it was seen.
    pub spot: Spot,
    /// The target in words.
    pub target: String,
    /// The level in all sessions; null = the target's default.
    pub level: Option<Level>,
    /// The campaign's seed.
    pub seed: u64,
    /// What was seen.
    pub signature: Signature,
    /// The number of the first case that ran on the same tables and sessions; null if that is not known.
    #[serde(default)]
    pub since: Option<u64>,
    /// The case, complete: the generator is not needed to run it again.
    pub case: Case,
    /// The run that showed it, for people, as Markdown: it may never happen again.
    #[serde(default)]
    pub seen: String,
}

impl Suspect {
    /// A suspect of this layout.
    pub fn new(
        (spot, target, level): (Spot, String, Option<Level>),
        seed: u64,
        signature: Signature,
        case: Case,
        seen: String,
    ) -> Self {
        let since = None;
        Self { schema: SCHEMA, spot, target, level, seed, signature, since, case, seen }
    }

    /// The case, and the oracle that suspects it.
    pub(crate) fn key(&self) -> (Spot, String) {
        (self.spot, self.signature.oracle.clone())
    }

    /// The name of its files. One case may be suspect to several oracles.
    fn name(&self) -> String {
        let Spot { place, number } = self.spot;
        format!("{place}-{number}-{}", file_name(&self.signature.oracle))
    }

    /// Writes it; the JSON file comes last and is what counts.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let mut case = self.case.clone();
        case.header.level = self.level.or(case.header.level);
        let file = |ending: &str| folder.join(format!("{}.{ending}", self.name()));
        atomic::write(&file("case"), case.to_text().as_bytes())?;
        atomic::write(&file("md"), self.seen.as_bytes())?;
        write_json(&file("json"), self)
    }

    /// Removes it.
    pub(crate) fn remove(&self, folder: &Path) -> Result<(), StoreError> {
        remove(folder, &self.name())
    }

    /// Reads all of a folder, in order. Files that are named as earlier releases did, without the oracle, get the
    /// names of today.
    pub(crate) fn read_all(folder: &Path) -> Result<Vec<Self>, StoreError> {
        let mut suspects = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(StoreError::io("list", folder))? {
            let path = entry.map_err(StoreError::io("list", folder))?.path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            let suspect = read_json::<Self>(&path)?;
            let written_as = path.file_stem().unwrap_or_default().to_string_lossy();
            if written_as != suspect.name() {
                suspect.write(folder)?;
                remove(folder, &written_as)?;
            }
            suspects.insert(suspect.key(), suspect);
        }
        Ok(suspects.into_values().collect())
    }
}

/// Removes the files of a suspect; the JSON file goes first.
fn remove(folder: &Path, name: &str) -> Result<(), StoreError> {
    for ending in ["json", "md", "case"] {
        atomic::remove(&folder.join(format!("{name}.{ending}")))?;
    }
    Ok(())
}
