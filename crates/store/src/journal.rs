//! Journals: one JSON value per line, appended to, and now and then replaced as a whole.
//!
//! Idea: a line counts if it ends with a line feed. A process that is killed in the middle of a write leaves a line
//! without one, which is cut off when the journal is opened again. A write that fails (full disk) is undone at once.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::campaign::{SCHEMA, check_schema};
use crate::{Spot, StoreError, atomic};

/// A range of case numbers that is done, with what was counted on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress<T> {
    /// Index of the target and level in the campaign's plan.
    pub place: usize,
    /// The first case number.
    pub from: u64,
    /// The number after the last.
    pub to: u64,
    /// Milliseconds since this session of the campaign began.
    pub at_ms: u64,
    /// Which session of the campaign: 0 the first, 1 after the first resume.
    pub session: u32,
    /// What was counted.
    pub counts: T,
}

/// What became of a suspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Where it was suspected.
    pub spot: Spot,
    /// By whom; earlier releases, which kept one suspect per case, did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<String>,
    /// What became of it.
    #[serde(rename = "fate")]
    pub conclusion: Conclusion,
}

/// What an investigation came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// It is the finding with this fingerprint.
    Confirmed(String),
    /// It recurred only sometimes, or never.
    #[serde(alias = "not-shown-again")]
    Flaky,
    /// It was not examined, because the last ones of its kind gave nothing new.
    Counted,
    /// The server went away while it ran: the crash with this fingerprint.
    Crash(String),
    /// The server was stopped from outside while it ran.
    Stopped,
    /// The server went away while it ran, for an unknown reason.
    Lost,
}

#[derive(Serialize, Deserialize)]
struct Head {
    schema: Option<u32>,
    journal: String,
}

/// A journal that is open for appending.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    length: u64,
    lines: usize,
}

impl Journal {
    /// Begins a journal.
    pub(crate) fn create(path: &Path) -> Result<Self, StoreError> {
        atomic::write(path, heading(path)?.as_bytes())?;
        Self::append_to(path)
    }

    /// Opens a journal and passes on its lines one by one: it may be larger than memory.
    pub(crate) fn open<T: DeserializeOwned>(
        path: &Path,
        mut take: impl FnMut(T),
    ) -> Result<Self, StoreError> {
        let failed = || StoreError::io("read", path);
        let mut reader = BufReader::new(File::open(path).map_err(failed())?);
        let (mut bytes, mut whole, mut number) = (Vec::new(), 0_u64, 0);
        loop {
            bytes.clear();
            reader.read_until(b'\n', &mut bytes).map_err(failed())?;
            if bytes.pop() != Some(b'\n') {
                break;
            }
            whole += bytes.len() as u64 + 1;
            number += 1;
            let text = String::from_utf8_lossy(&bytes);
            if number == 1 {
                check_schema(path, parse::<Head>(path, number, &text)?.schema)?;
            } else {
                take(parse(path, number, &text)?);
            }
        }
        if number == 0 {
            let reason = "expected a journal of Anchorite, found no whole line".to_owned();
            return Err(StoreError::Bad { path: path.to_owned(), line: 1, reason });
        }
        let journal = Self::append_to(path)?;
        journal.cut(whole).map_err(StoreError::io("write", path))?;
        Ok(Self { length: whole, lines: number - 1, ..journal })
    }

    /// Replaces all that is in it.
    pub(crate) fn replace<T: Serialize>(&mut self, values: &[T]) -> Result<(), StoreError> {
        let mut text = heading(&self.path)?;
        for value in values {
            text += &line(&self.path, value)?;
        }
        atomic::write(&self.path, text.as_bytes())?;
        *self = Self { lines: values.len(), ..Self::append_to(&self.path)? };
        Ok(())
    }

    /// How many values are in it.
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    /// Appends a value and synchronises.
    pub(crate) fn append<T: Serialize>(&mut self, value: &T) -> Result<(), StoreError> {
        let line = line(&self.path, value)?;
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => {
                self.length += line.len() as u64;
                self.lines += 1;
                Ok(())
            }
            Err(error) => {
                // If even this fails, the torn line is cut off when the journal is opened again.
                let _ = self.cut(self.length);
                Err(StoreError::io("write", &self.path)(error))
            }
        }
    }

    fn append_to(path: &Path) -> Result<Self, StoreError> {
        let failed = || StoreError::io("open", path);
        let file = OpenOptions::new().append(true).open(path).map_err(failed())?;
        let length = file.metadata().map_err(failed())?.len();
        Ok(Self { file, path: path.to_owned(), length, lines: 0 })
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }
}

/// The first line.
fn heading(path: &Path) -> Result<String, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    line(path, &Head { schema: Some(SCHEMA), journal: name })
}

fn line<T: Serialize>(path: &Path, value: &T) -> Result<String, StoreError> {
    let text = serde_json::to_string(value).map_err(|error| StoreError::json(path, 1, &error))?;
    Ok(text + "\n")
}

fn parse<T: DeserializeOwned>(path: &Path, number: usize, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::json(path, number, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(path: &Path) -> Result<(Journal, Vec<u32>), StoreError> {
        let mut entries = Vec::new();
        let journal = Journal::open(path, |entry| entries.push(entry))?;
        Ok((journal, entries))
    }

    #[test]
    fn a_journal_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress");
        let mut journal = Journal::create(&path).unwrap();
        (0..5).for_each(|n| journal.append(&n).unwrap());
        journal.replace(&[10]).unwrap();
        journal.append(&5).unwrap();
        assert_eq!(journal.lines(), 2);
        let (journal, entries) = read(&path).unwrap();
        assert_eq!((journal.lines(), entries), (2, vec![10, 5]));
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress");
        let mut journal = Journal::create(&path).unwrap();
        journal.append(&1).unwrap();
        journal.append(&22).unwrap();
        drop(journal);
        let whole = fs::read(&path).unwrap();
        // Whatever a kill leaves of the last line, the line before is kept and the journal can be appended to.
        for torn in whole.len() - 2..whole.len() {
            fs::write(&path, &whole[..torn]).unwrap();
            let (mut journal, entries) = read(&path).unwrap();
            assert_eq!(entries, [1]);
            journal.append(&3).unwrap();
            let (_, entries) = read(&path).unwrap();
            assert_eq!(entries, [1, 3]);
        }
    }

    #[test]
    fn a_bad_line_is_told_with_file_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress");
        Journal::create(&path).unwrap().append(&1).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text + "what?\n2\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("progress:3: expected"), "{error}");
        fs::write(&path, "{\"journal\":\"progress\",\"schema\":99}\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("expected schema 1, found 99"), "{error}");
    }
}
