//! Suspected violations, on disk before anybody looks closer at them.

use std::fs;
use std::path::{Path, PathBuf};

use anchorite_model::{Case, Level, Signature};
use serde::{Deserialize, Serialize};

use crate::campaign::{SCHEMA, read_json, write_json};
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
    /// The case, complete: the generator is not needed to run it again.
    pub case: Case,
    /// The run that showed it, for people, as Markdown: perhaps it never happens again.
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
        Self { schema: SCHEMA, spot, target, level, seed, signature, case, seen }
    }

    /// Writes it; the JSON file comes last and is what counts.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let mut case = self.case.clone();
        case.header.level = self.level.or(case.header.level);
        atomic::write(&file(folder, self.spot, "case"), case.to_text().as_bytes())?;
        atomic::write(&file(folder, self.spot, "md"), self.seen.as_bytes())?;
        write_json(&file(folder, self.spot, "json"), self)
    }

    /// Removes it; the JSON file goes first.
    pub(crate) fn remove(folder: &Path, spot: Spot) -> Result<(), StoreError> {
        for ending in ["json", "md", "case"] {
            atomic::remove(&file(folder, spot, ending))?;
        }
        Ok(())
    }

    /// Reads all of a folder, in order.
    pub(crate) fn read_all(folder: &Path) -> Result<Vec<Self>, StoreError> {
        let mut suspects = Vec::new();
        for entry in fs::read_dir(folder).map_err(StoreError::io("list", folder))? {
            let path = entry.map_err(StoreError::io("list", folder))?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                suspects.push(read_json::<Self>(&path)?);
            }
        }
        suspects.sort_by_key(|suspect| suspect.spot);
        Ok(suspects)
    }
}

fn file(folder: &Path, spot: Spot, ending: &str) -> PathBuf {
    folder.join(format!("{}-{}.{ending}", spot.place, spot.number))
}
