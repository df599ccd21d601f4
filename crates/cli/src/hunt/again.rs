//! A hunt that survives a crash of the engine in its own process.
//!
//! Idea: while cases run on an embedded engine, a crash starts this command over, with the same arguments and the name
//! of a folder in which the crashed one has left what is needed to go on ([`anchorite_servers::start_over_on_crash`]).
//! The new one finds out which case it was ([`anchorite_hunt::survivor`]), each trial being an `anchorite run` of its
//! own, and resumes the campaign. To its user it is the same process.
//!
//! The folder is one of those for database files, so a later command removes it if this one is killed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anchorite_drivers::sqlite::{ScratchFolder, scratch_folder};
use anchorite_drivers::{Address, Owner};
use anchorite_hunt::ending::End;
use anchorite_hunt::survivor::{Crashed, Trials, recover};
use anchorite_judge::oracles::CRASH;
use anchorite_model::{Case, Level};
use anchorite_servers::{Armed, Ended, run_to_end, start_over_on_crash};
use anchorite_store::{Campaign, Store, still_running};
use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::audience::Live;
use crate::interrupt::Interrupt;
use crate::leftovers;

/// The hidden option that names the folder.
pub const OPTION: &str = "--after-crash";
/// One case, alone.
const TRIAL: Duration = Duration::from_secs(30);

/// What the next process has to know.
#[derive(Debug, Serialize, Deserialize)]
struct Left {
    /// Where findings go.
    folder: PathBuf,
    /// When the command began, in milliseconds since 1970.
    begun: u64,
}

/// What is prepared for a crash.
pub struct Guard {
    scratch: ScratchFolder,
    _armed: Armed,
}

impl Guard {
    /// Prepares for a crash, if an engine lives in this process.
    pub fn prepare(store: &mut Store, begun: SystemTime) -> anyhow::Result<Option<Self>> {
        let targets = &store.campaign().targets;
        let is_embedded = |on: &str| matches!(Address::parse(on), Ok(Address::Embedded(_)));
        if !targets.iter().any(|target| is_embedded(&target.on)) {
            return Ok(None);
        }
        let scratch = scratch_folder().context("cannot create a folder for running cases")?;
        let folder = scratch.path();
        store.keep_spare(folder)?;
        let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let begun = u64::try_from(since).unwrap_or(u64::MAX);
        let left = Left { folder: store.path().to_owned(), begun };
        fs::write(folder.join("left.json"), serde_json::to_vec(&left)?)?;
        let armed = start_over_on_crash(&arguments(folder), File::create(folder.join("signal"))?)?;
        Ok(Some(Self { scratch, _armed: armed }))
    }

    /// Where running cases are written.
    pub fn running(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }
}

/// Our own arguments, and where to go on.
fn arguments(folder: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if let Some(at) = words.iter().position(|word| word == OPTION) {
        words.truncate(at);
    }
    words.retain(|word| word != "--");
    words.extend([OPTION.into(), folder.into()]);
    words
}

/// What came of a crash.
pub struct AfterCrash {
    /// The campaign to resume; `None` if no case was running, so that going on would lead to the same crash.
    pub folder: Option<PathBuf>,
    /// When the command began.
    pub begun: SystemTime,
    /// How the process ended, in words.
    pub end: String,
}

/// Records the crash of the process before us.
pub fn after_crash(
    left_in: &Path,
    live: &Live,
    interrupt: &Interrupt,
) -> anyhow::Result<AfterCrash> {
    let file = left_in.join("left.json");
    let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let Left { folder, begun } = serde_json::from_slice(&text)?;
    let signal = fs::read(left_in.join("signal"))?.first().copied().map(i32::from);
    let at = SystemTime::now();
    let end = signal.map_or(End::Unknown, End::Signal);
    let crashed = Crashed { end, at, running: still_running(left_in)? };
    let (store, past) = Store::restore(&folder, left_in)?;
    let campaign = store.campaign().clone();
    // Nothing of the process before us is needed from here on.
    sweep(Owner::Us);
    let mut trials = ByRun { campaign, signal, interrupt };
    let was_running = interrupt.attend(|| recover((store, past), crashed, &mut trials, live))?;
    sweep(Owner::Ended);
    Ok(AfterCrash {
        folder: was_running.then_some(folder),
        begun: UNIX_EPOCH + Duration::from_millis(begun),
        end: signal.map_or_else(|| "a signal".to_owned(), anchorite_hunt::ending::signal_name),
    })
}

/// Removes folders that crashed processes have left; whose is known.
fn sweep(owner: Owner) {
    if let Ok(engine) = anchorite_drivers::open(crate::targets::DEFAULT) {
        leftovers::sweep(engine.as_ref(), |marked| marked.owner == owner);
    }
}

/// Runs each case with `anchorite run`.
struct ByRun<'a> {
    campaign: Campaign,
    signal: Option<i32>,
    interrupt: &'a Interrupt,
}

impl Trials for ByRun<'_> {
    fn crashes(&mut self, on: &str, case: &Case, level: Option<Level>) -> bool {
        let ended =
            self.command(on, case, level).and_then(|(command, _folder)| run_to_end(command, TRIAL));
        matches!(ended, Ok(Some(Ended::Signal(signal))) if Some(signal) == self.signal)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.flag.load(Ordering::SeqCst)
    }
}

impl ByRun<'_> {
    /// The command, and the folder of its case, which is removed with the value.
    fn command(
        &self,
        on: &str,
        case: &Case,
        level: Option<Level>,
    ) -> std::io::Result<(Command, ScratchFolder)> {
        let folder = scratch_folder()?;
        let file = folder.path().join("running.case");
        fs::write(&file, case.to_text())?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("run").arg(&file).args(["--on", on]);
        command.args(["--level", level.map_or("default", Level::short)]);
        // With the crash oracle, which only a hunt has, an empty list is none and not all.
        for name in self.campaign.oracles.iter().map(String::as_str).chain([CRASH]) {
            command.args(["--oracle", name]);
        }
        if let Some(on) = &self.campaign.against {
            command.args(["--against", on]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok((command, folder))
    }
}
