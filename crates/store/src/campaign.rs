//! What a campaign is: everything that decides which cases it runs where.

use std::path::Path;

use anchorite_model::{Level, TargetInfo};
use serde::{Deserialize, Serialize};

use crate::{StoreError, atomic};

/// The version of the folder's layout.
pub(crate) const SCHEMA: u32 = 1;

/// What decides the cases of a campaign, so that it can be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    /// The version of the folder's layout.
    pub schema: u32,
    /// The version of Anchorite that began it.
    pub anchorite: String,
    /// The seed of all cases.
    pub seed: u64,
    /// Where the cases run.
    pub targets: Vec<CampaignTarget>,
    /// The second target that runs are compared with, as `--against` named it, without its password.
    #[serde(default)]
    pub against: Option<String>,
    /// The names of its oracles.
    pub oracles: Vec<String>,
    /// Whether documented exceptions count as violations.
    pub strict: bool,
    /// How many cases in all; `None` = as many as the time allows.
    pub cases: Option<u64>,
}

/// One target of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignTarget {
    /// As `--on` named it, without its password.
    pub on: String,
    /// What answered there.
    pub target: TargetInfo,
    /// The levels, in order; null = the target's default.
    pub levels: Vec<Option<Level>>,
    /// What the generator was told about it: weights, and what the target rejects.
    pub recipe: serde_json::Value,
}

impl Campaign {
    /// A campaign of this layout.
    pub fn new(anchorite: &str, seed: u64) -> Self {
        Self {
            schema: SCHEMA,
            anchorite: anchorite.to_owned(),
            seed,
            targets: Vec::new(),
            against: None,
            oracles: Vec::new(),
            strict: false,
            cases: None,
        }
    }

    pub(crate) fn file(folder: &Path) -> std::path::PathBuf {
        folder.join("campaign.json")
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        write_json(&Self::file(folder), self)
    }

    /// Reads the campaign of a folder.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = Self::file(folder);
        if !path.exists() {
            return Err(StoreError::NoCampaign(folder.to_owned()));
        }
        read_json(&path)
    }
}

/// The part that every JSON file of the folder has; read first.
#[derive(Deserialize)]
struct Versioned {
    schema: Option<u32>,
}

/// Reads a JSON file that says its layout's version.
pub(crate) fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, StoreError> {
    let text = std::fs::read_to_string(path).map_err(StoreError::io("read", path))?;
    let bad = |error: serde_json::Error| StoreError::json(path, 1, &error);
    let schema = serde_json::from_str::<Versioned>(&text).map_err(bad)?.schema;
    check_schema(path, schema)?;
    serde_json::from_str(&text).map_err(bad)
}

/// Writes a JSON file.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    atomic::write(path, to_json(path, value)?.as_bytes())
}

pub(crate) fn to_json<T: Serialize>(path: &Path, value: &T) -> Result<String, StoreError> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| StoreError::json(path, 1, &error))
}

pub(crate) fn check_schema(path: &Path, schema: Option<u32>) -> Result<(), StoreError> {
    let reason = match schema {
        Some(SCHEMA) => return Ok(()),
        Some(other) => format!(
            "expected schema {SCHEMA}, found {other}: another version of Anchorite wrote it"
        ),
        None => format!("expected \"schema\": {SCHEMA}: this is no file of Anchorite"),
    };
    Err(StoreError::Bad { path: path.to_owned(), line: 1, reason })
}
