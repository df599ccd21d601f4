//! What was running when a server went away.

use std::fs;
use std::path::Path;

use anchorite_model::{Case, Level};
use serde::{Deserialize, Serialize};

use crate::campaign::{SCHEMA, to_json};
use crate::{Spot, StoreError, atomic};

/// A server that went away during a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash {
    /// The version of the folder's layout.
    pub schema: u32,
    /// The server in words.
    pub target: String,
    /// When it was noticed, in seconds since 1970.
    #[serde(default)]
    pub at: u64,
    /// The campaign's seed.
    pub seed: u64,
    /// How it was noticed.
    pub noticed: String,
    /// What the server's clients were told meanwhile, each once.
    #[serde(default)]
    pub said: Vec<String>,
    /// The probable reason, from the server's log.
    pub reason: String,
    /// Whether it was stopped from outside, so that this is no finding.
    #[serde(default)]
    pub stopped: bool,
    /// What became of the server.
    pub afterwards: String,
    /// The result of running the cases again, one by one.
    #[serde(default)]
    pub tried: String,
    /// What was running on the server, starting with the case that noticed.
    pub running: Vec<RunningCase>,
    /// The last lines of the server's log, where we can read it.
    pub log: Option<String>,
}

/// A case that was running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningCase {
    /// Which one.
    pub spot: Spot,
    /// At which level; null = the target's default.
    pub level: Option<Level>,
    /// The case.
    pub case: Case,
}

impl Crash {
    /// The version of the layout that is written.
    pub const SCHEMA: u32 = SCHEMA;

    /// Writes it into a separate folder.
    pub(crate) fn write(&self, crashes: &Path) -> Result<(), StoreError> {
        let failed = StoreError::io("list", crashes);
        let so_far = fs::read_dir(crashes).map_err(failed)?.count();
        let folder = crashes.join(format!("{:04}", so_far + 1));
        let mut files = vec![("crash.json".to_owned(), to_json(&folder, self)?)];
        for running in &self.running {
            let name = format!("{}-{}.case", running.spot.place, running.spot.number);
            files.push((name, running.case.to_text()));
        }
        files.extend(self.log.iter().map(|log| ("server.log".to_owned(), log.clone())));
        atomic::write_folder(&folder, &files)
    }
}
