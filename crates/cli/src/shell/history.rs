//! What was typed in earlier shells: a file in Anchorite's state folder, one entry per line.
//!
//! Assumption: a shell without a history is better than none, so errors count as an empty one.
//! Blind spot: two shells at once both add to the file; each sees the other's lines only when it is started again.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anchorite_servers::state_folder;

/// As many entries are remembered.
const ENTRIES_MAX: usize = 1000;
/// Statements with these words may contain a password, which must not reach any file.
const SECRET: [&str; 3] = ["password", "identified", "pwd"];

/// The file.
pub struct History {
    file: Option<PathBuf>,
}

impl History {
    /// Opens it.
    pub fn open() -> Self {
        Self { file: state_folder().ok().map(|folder| folder.join("shell-history")) }
    }

    /// The last entries, oldest first; the file is cut down to them if it has grown far beyond.
    pub fn entries(&self) -> Vec<String> {
        let Some(file) = &self.file else { return Vec::new() };
        let text = fs::read_to_string(file).unwrap_or_default();
        let all: Vec<&str> = text.lines().collect();
        let last = &all[all.len().saturating_sub(ENTRIES_MAX)..];
        if all.len() > 2 * ENTRIES_MAX {
            let _ = fs::write(file, last.join("\n") + "\n");
        }
        last.iter().map(|line| (*line).to_owned()).collect()
    }

    /// Adds an entry, unless it may contain a password.
    pub fn add(&self, entry: &str) {
        if is_secret(entry) {
            return;
        }
        let Some(file) = &self.file else { return };
        let _ = file.parent().map(fs::create_dir_all);
        let mut options = OpenOptions::new();
        if let Ok(mut open) = options.create(true).append(true).mode(0o600).open(file) {
            let _ = writeln!(open, "{}", entry.replace('\n', " "));
        }
    }
}

/// Whether an entry is not to be remembered.
pub fn is_secret(entry: &str) -> bool {
    let entry = entry.to_lowercase();
    SECRET.iter().any(|word| entry.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_without_passwords() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let history = History { file: Some(folder.path().join("below/history")) };
        assert_eq!(history.entries(), [""; 0]);
        history.add("SELECT 1\nFROM t;");
        history.add("CREATE USER u IDENTIFIED BY 'x';");
        history.add(".waits");
        assert_eq!(history.entries(), ["SELECT 1 FROM t;", ".waits"]);
        (0..3 * ENTRIES_MAX).for_each(|number| history.add(&format!("SELECT {number};")));
        assert_eq!(history.entries().len(), ENTRIES_MAX);
        let kept = fs::read_to_string(folder.path().join("below/history")).expect("the file");
        assert_eq!(kept.lines().count(), ENTRIES_MAX);
        assert!(kept.ends_with(&format!("SELECT {};\n", 3 * ENTRIES_MAX - 1)));
    }
}
