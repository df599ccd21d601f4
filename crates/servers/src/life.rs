//! Whether the server is alive and holds its port, and the last lines of its log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::container::Container;
use crate::port::{self, Listener};
use crate::process::{Ended, Watch, ended};

/// Lines of a log that an error message shows.
const LOG_LINES: usize = 15;
/// Earlier lines that sound like the reason.
const BAD_LINES: usize = 5;
/// Words of a line that says why a server crashed: it is shown whatever follows it.
const CRASH_WORDS: [&str; 5] = ["assertion", "signal ", "sanitizer", "panic", "[fatal]"];
/// Number of bytes at the end of a log that are searched for those lines.
const LAST_PART: u64 = 64 * 1024;
/// The file in a server's folder that takes what the server prints.
pub(crate) const LOG: &str = "log";

/// What shows whether the server is alive.
#[derive(Debug)]
pub(crate) enum Life {
    /// A process that leads this group.
    Process { group: u32, watch: Watch },
    /// A container, and the engine's command that waits for its end.
    Container { container: Container, watch: Watch },
}

impl Life {
    /// Waits until the server has ended; false if the limit was reached first.
    pub(crate) fn ended_within(&self, limit: Duration) -> bool {
        match self {
            Self::Process { watch, .. } | Self::Container { watch, .. } => {
                watch.ended_within(limit)
            }
        }
    }

    /// How the server ended; `None` if it is running, or if the container engine does not say.
    pub(crate) fn ended(&self) -> Option<Ended> {
        match self {
            Self::Process { group, .. } => ended(*group),
            Self::Container { .. } => None,
        }
    }

    /// Who listens on the port. A container's port is held by the engine, which would have reported a clash.
    pub(crate) fn listener(&self, port: u16) -> Listener {
        match self {
            Self::Process { group, .. } => port::listener(port, *group),
            Self::Container { .. } => Listener::Ours,
        }
    }

    /// The last lines of what the server printed; if it printed nothing, of the log that it wrote.
    pub(crate) fn log_tail(&self, folder: &Path, own_log: Option<&Path>) -> String {
        if let Self::Container { container, .. } = self {
            return container.log();
        }
        let mut lines = last_part(&folder.join(LOG));
        if lines.is_empty() {
            lines = own_log.map(last_part).unwrap_or_default();
        }
        if lines.is_empty() {
            return "its log is empty".to_owned();
        }
        format!("from its log:\n  {}", excerpt(&lines).join("\n  "))
    }
}

/// The whole log of a server: what it printed; if it printed nothing, the logs that it wrote itself.
pub(crate) fn log(folder: &Path) -> String {
    let read = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let printed = read(&folder.join(LOG));
    if !printed.trim().is_empty() {
        return printed;
    }
    let entries = std::fs::read_dir(folder.join("run")).into_iter().flatten().flatten();
    let mut own: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "log"))
        .collect();
    own.sort();
    own.iter().map(|path| read(path)).collect()
}

/// The last lines, and before them those earlier ones that sound like the reason, and the first one: some
/// servers say a lot after the error that ends them, others explain all their options.
fn excerpt(lines: &[String]) -> Vec<&str> {
    let sounds_bad = |line: &&String| {
        let line = line.to_lowercase();
        ["error", "fatal", "panic"].iter().any(|word| line.contains(word))
    };
    let (earlier, last) = lines.split_at(lines.len().saturating_sub(LOG_LINES));
    let bad: Vec<&String> = earlier.iter().filter(sounds_bad).collect();
    let bad = &bad[bad.len().saturating_sub(BAD_LINES)..];
    let tells_crash = |line: &&String| {
        let line = line.to_lowercase();
        CRASH_WORDS.iter().any(|word| line.contains(word))
    };
    let crash = earlier.iter().rfind(tells_crash).filter(|line| !bad.contains(line));
    let first = earlier.first().filter(|first| !bad.contains(first) && crash != Some(*first));
    let telling = first.into_iter().chain(crash).chain(bad.iter().copied());
    telling.chain(last).map(String::as_str).collect()
}

/// The lines at the end of a file that may be very long.
fn last_part(path: &Path) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_PART)))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        Ok(text)
    };
    let text = read().unwrap_or_default();
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_log_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join(LOG);
        let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&log, text).unwrap();
        let lines = last_part(&log);
        assert!(lines.len() < 10_000);
        assert_eq!(lines.last().unwrap(), "line 99999");
        assert!(last_part(&folder.path().join("no such file")).is_empty());
    }

    #[test]
    fn the_reason_is_shown_even_if_much_was_said_after_it() {
        let mut lines = vec!["starting".to_owned(), "[ERROR] unknown option".to_owned()];
        lines.extend((0..100).map(|n| format!("shutting down {n}")));
        let shown = excerpt(&lines);
        assert_eq!(shown.len(), 2 + LOG_LINES);
        assert_eq!(shown[..2], ["starting", "[ERROR] unknown option"]);
        assert_eq!(shown[1 + LOG_LINES], "shutting down 99");
        assert_eq!(excerpt(&lines[..2]), ["starting", "[ERROR] unknown option"]);

        let crash = "LOG: server process 7 was terminated by signal 11".to_owned();
        let mut lines = vec!["starting".to_owned(), crash];
        lines.extend((0..100).map(|n| format!("FATAL: the system is in recovery mode {n}")));
        assert_eq!(excerpt(&lines)[1], lines[1]);
    }
}
