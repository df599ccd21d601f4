//! Reading the lines that are appended to a log file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// A log file from its present end on.
pub(super) struct Follower {
    path: PathBuf,
    file: File,
    /// The beginning of a line whose end has not been written yet.
    rest: Vec<u8>,
}

impl Follower {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { path: path.to_owned(), file, rest: Vec::new() })
    }

    /// Gives every line that was completed since the last call.
    pub(super) fn read_lines(&mut self, mut line: impl FnMut(&str)) -> io::Result<()> {
        self.read_to_end(&mut line)?;
        // A log that has grown large is renamed and started anew.
        if let Ok(current) = std::fs::metadata(&self.path)
            && current.ino() != self.file.metadata()?.ino()
        {
            self.read_to_end(&mut line)?;
            self.file = File::open(&self.path)?;
            self.rest.clear();
            self.read_to_end(&mut line)?;
        }
        Ok(())
    }

    fn read_to_end(&mut self, line: &mut impl FnMut(&str)) -> io::Result<()> {
        let mut chunk = vec![0; READ_BYTES];
        loop {
            let read = self.file.read(&mut chunk)?;
            if read == 0 {
                return Ok(());
            }
            self.rest.extend_from_slice(&chunk[..read]);
            let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            for text in self.rest[..whole].split(|byte| *byte == b'\n') {
                line(&String::from_utf8_lossy(text));
            }
            self.rest.drain(..whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_new_whole_lines_are_read_and_a_new_file_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = File::create(&path).expect("a file");
        log.write_all(b"old\n").expect("written");
        let mut follower = Follower::open(&path).expect("opens");
        let mut read = || {
            let mut lines = Vec::new();
            let add = |line: &str| lines.extend((!line.is_empty()).then(|| line.to_owned()));
            follower.read_lines(add).expect("reads");
            lines
        };
        log.write_all(b"one\ntw").expect("written");
        assert_eq!(read(), ["one"]);
        log.write_all(b"o\n\xff\n").expect("written");
        assert_eq!(read(), ["two", "\u{fffd}"]);
        log.write_all(b"last\n").expect("written");
        std::fs::rename(&path, folder.path().join("old")).expect("renamed");
        std::fs::write(&path, "first\n").expect("written");
        assert_eq!(read(), ["last", "first"]);
    }
}
