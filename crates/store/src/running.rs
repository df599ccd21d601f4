//! The cases that are running, on disk before they run.
//!
//! Idea: an engine that lives in our process takes the process with it when it crashes. So each thread has a file, and
//! writes the case there before it runs it: one write to the system's cache, without synchronising, which outlives the
//! process (not the machine). A case is one line of JSON at the beginning of the file; what an earlier, longer case has
//! left behind it does not matter. Assumption: a crash of another thread in the middle of the write leaves a line that
//! cannot be read, and then the case is not known.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::{RunningCase, StoreError};

/// What the names of the files end in.
const ENDING: &str = "running";

/// For whom a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsFor {
    /// A worker.
    Worker,
    /// An investigator: the case is a suspect, or a variant of it.
    Investigator,
}

impl fmt::Display for RunsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Worker => "worker",
            Self::Investigator => "investigator",
        })
    }
}

/// The file of one thread.
#[derive(Debug)]
pub struct RunningFile {
    file: File,
}

impl RunningFile {
    /// Creates the file of a thread.
    pub fn create(folder: &Path, runs_for: RunsFor, n: usize) -> Result<Self, StoreError> {
        let path = folder.join(format!("{runs_for}-{n}.{ENDING}"));
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        Ok(Self { file })
    }

    /// A case is about to run. If it cannot be written, a crash is attributed to no case.
    pub fn begin(&self, running: &RunningCase) {
        let mut line = serde_json::to_vec(running).unwrap_or_default();
        line.push(b'\n');
        let _ = self.file.write_all_at(&line, 0);
    }

    /// Nothing runs.
    pub fn rest(&self) {
        let _ = self.file.write_all_at(b"\n", 0);
    }
}

/// The cases that were running when the process ended, those of workers first.
pub fn still_running(folder: &Path) -> Result<Vec<(RunsFor, RunningCase)>, StoreError> {
    let failed = || StoreError::io("list", folder);
    let mut running = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        if path.extension().is_none_or(|ending| ending != ENDING) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let Ok(case) = serde_json::from_str::<RunningCase>(line) else { continue };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_worker = name.starts_with(&RunsFor::Worker.to_string());
        running.push((if is_worker { RunsFor::Worker } else { RunsFor::Investigator }, case));
    }
    running.sort_by_key(|(whom, case)| (*whom == RunsFor::Investigator, case.spot));
    Ok(running)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spot;
    use anchorite_model::Case;

    fn running(number: u64, name: &str) -> RunningCase {
        let case = Case { name: name.to_owned(), ..Case::default() };
        RunningCase { spot: Spot { place: 0, number }, level: None, case }
    }

    #[test]
    fn what_ran_last_is_known_and_what_rests_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = |whom, n| RunningFile::create(folder.path(), whom, n).unwrap();
        let (one, two) = (file(RunsFor::Worker, 1), file(RunsFor::Worker, 2));
        let three = file(RunsFor::Investigator, 1);
        file(RunsFor::Worker, 3);
        three.begin(&running(1, "a suspect"));
        one.begin(&running(7, "a case with a long name, of which something is left"));
        one.begin(&running(8, "short"));
        two.begin(&running(9, "done"));
        two.rest();
        let expected = [
            (RunsFor::Worker, running(8, "short")),
            (RunsFor::Investigator, running(1, "a suspect")),
        ];
        assert_eq!(still_running(folder.path()).unwrap(), expected);
    }
}
