//! The file that `--history` names: compressed if its name says so.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::exit::BadInput;

/// The file of a history.
pub struct HistoryFile {
    path: PathBuf,
    pub out: HistoryWriter,
}

/// Plain or compressed.
pub enum HistoryWriter {
    /// As it is.
    Plain(BufWriter<File>),
    /// Compressed.
    Gzip(GzEncoder<BufWriter<File>>),
}

impl HistoryFile {
    /// Creates it.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending == Some("zst") {
            let message = "a history is compressed with gzip: expected a name that ends in .gz";
            return Err(BadInput(message.to_owned()).into());
        }
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let out = BufWriter::new(file);
        let out = match ending {
            Some("gz") => HistoryWriter::Gzip(GzEncoder::new(out, Compression::fast())),
            _ => HistoryWriter::Plain(out),
        };
        Ok(Self { path: path.to_owned(), out })
    }

    /// Writes the rest.
    pub fn finish(self) -> anyhow::Result<()> {
        let written = match self.out {
            HistoryWriter::Plain(mut out) => out.flush(),
            HistoryWriter::Gzip(out) => out.finish().and_then(|mut out| out.flush()),
        };
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Write for HistoryWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(out) => out.flush(),
        }
    }
}
