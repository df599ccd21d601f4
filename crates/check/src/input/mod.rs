//! Reading histories: formats, recognition by content, decompression.
//!
//! Idea: a parser per format, all pulling from the same [`Source`] into the same
//! [`HistoryBuilder`]. The format is recognised from the first bytes; gzip and zstd are recognised
//! by their magic numbers and unpacked while reading.
//! Blind spot: a file that is empty, or starts like several formats, needs `--input`.

pub mod cobra;
pub mod dbcop;
mod digits;
pub mod elle;
pub mod form;
pub mod lines;
pub mod plume;
pub mod reader;
pub mod source;

use crate::model::{Atom, History, HistoryBuilder};
use reader::Notation;
pub use source::{InputError, Source};
use std::io::{Cursor, Read};

/// The formats that can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Elle's operations in Clojure's notation.
    ElleEdn,
    /// Elle's operations in JSON.
    ElleJson,
    /// Plume and PolySI text.
    Plume,
    /// dbcop's JSON.
    DbcopJson,
    /// dbcop's `.hist` text.
    DbcopHist,
    /// Cobra's binary log of one session.
    Cobra,
    /// Anchorite's JSON Lines.
    Anchorite,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 7] = [
        Format::ElleEdn,
        Format::ElleJson,
        Format::Plume,
        Format::DbcopJson,
        Format::DbcopHist,
        Format::Cobra,
        Format::Anchorite,
    ];

    /// Its family on the command line.
    pub fn family(self) -> &'static str {
        match self {
            Format::ElleEdn | Format::ElleJson => "elle",
            Format::Plume => "plume",
            Format::DbcopJson | Format::DbcopHist => "dbcop",
            Format::Cobra => "cobra",
            Format::Anchorite => "anchorite",
        }
    }

    /// The exact name, for conversions.
    pub fn name(self) -> &'static str {
        match self {
            Format::ElleEdn => "elle-edn",
            Format::ElleJson => "elle-json",
            Format::Plume => "plume",
            Format::DbcopJson => "dbcop-json",
            Format::DbcopHist => "dbcop-hist",
            Format::Cobra => "cobra",
            Format::Anchorite => "anchorite",
        }
    }
}

/// The format of these first bytes, among those of a family (or all of them).
pub fn recognise(start: &[u8], family: Option<&str>) -> Option<Format> {
    let guess = guess(start);
    match family {
        None => guess,
        Some(family) if guess.is_some_and(|format| format.family() == family) => guess,
        Some("elle") => {
            let text = start.trim_ascii_start();
            let json = text.starts_with(b"[{\"") || text.starts_with(b"{\"");
            Some(if json { Format::ElleJson } else { Format::ElleEdn })
        }
        Some("dbcop") => {
            let json = start.trim_ascii_start().starts_with(b"{");
            Some(if json { Format::DbcopJson } else { Format::DbcopHist })
        }
        Some(family) => Format::ALL.into_iter().find(|format| format.family() == family),
    }
}

fn guess(start: &[u8]) -> Option<Format> {
    if start.len() >= 9 && start[0] == b'S' && start[1..9].iter().any(|byte| !is_text(*byte)) {
        return Some(Format::Cobra);
    }
    let text = skip_comments(start);
    let compact: Vec<u8> =
        text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(4096).collect();
    let has = |what: &[u8]| compact.windows(what.len()).any(|window| window == what);
    match compact.as_slice() {
        [b'r' | b'w', b'(', ..] => Some(Format::Plume),
        [b'-', b'-', b'-', ..] => Some(Format::DbcopHist),
        [b'[', b']'] | [b'[', b'{', b'"', ..] => Some(Format::ElleJson),
        [b'[', b'{' | b'#', ..] => Some(Format::ElleEdn),
        [b'[', ..] if has(b":=") || has(b"==") => Some(Format::DbcopHist),
        [b'{', b'"', ..] if has(b"\"anchorite\":") || has(b"\"ops\":") => Some(Format::Anchorite),
        [b'{', b'"', ..] if has(b"\"data\":") || has(b"\"params\":") => Some(Format::DbcopJson),
        [b'{', b'"', ..] if has(b"\"type\":") => Some(Format::ElleJson),
        [b'{' | b'#' | b'(', ..] => Some(Format::ElleEdn),
        _ => None,
    }
}

fn is_text(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) || byte.is_ascii_whitespace()
}

/// Leaves out lines that are comments in EDN or in `.hist` files.
fn skip_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        if !(text.starts_with(b";") || text.starts_with(b"//") || text.starts_with(b"# ")) {
            return text;
        }
        match text.iter().position(|byte| *byte == b'\n') {
            Some(end) => text = &text[end + 1..],
            None => return &[],
        }
    }
}

/// Reads a whole history; the format is recognised, within a family if one is given.
pub fn read<R: Read + Send>(
    reader: R,
    family: Option<&str>,
) -> Result<(Format, History), InputError> {
    read_threaded(reader, family, 1)
}

/// Like [`read`], with some work done on a second thread if more than one is allowed.
pub fn read_threaded<R: Read + Send>(
    reader: R,
    family: Option<&str>,
    threads: usize,
) -> Result<(Format, History), InputError> {
    let mut source = Source::new(reader);
    let start = source.look_ahead()?;
    let format = recognise(start, family).ok_or(InputError::Unrecognised)?;
    let mut builder = HistoryBuilder::new();
    if format == Format::Plume && threads > 1 {
        plume::read_on_two_threads(&mut source, &mut builder)?;
    } else {
        read_as(&mut source, format, &mut builder, Atom::int(0).unwrap_or(Atom::NIL))?;
    }
    Ok((format, builder.finish()))
}

/// Reads one source in a known format; `session` names the session of formats that have one per file.
pub fn read_as<R: Read>(
    source: &mut Source<R>,
    format: Format,
    builder: &mut HistoryBuilder,
    session: Atom,
) -> Result<(), InputError> {
    match format {
        Format::ElleEdn => elle::read(source, builder, Notation::Edn),
        Format::ElleJson => elle::read(source, builder, Notation::Json),
        Format::Plume => plume::read(source, builder),
        Format::DbcopJson => dbcop::read_json(source, builder),
        Format::DbcopHist => dbcop::read_hist(source, builder),
        Format::Cobra => cobra::read(source, builder, session),
        Format::Anchorite => lines::read(source, builder),
    }
}

/// Unpacks gzip and zstd while reading; everything else passes through.
pub fn unpack<'r>(
    mut reader: impl Read + Send + 'r,
) -> Result<Box<dyn Read + Send + 'r>, InputError> {
    let mut magic = [0_u8; 4];
    let mut got = 0;
    while got < magic.len() {
        match reader.read(&mut magic[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let start = magic[..got].to_vec();
    let whole = Cursor::new(start).chain(reader);
    match magic {
        [0x1f, 0x8b, ..] => Ok(Box::new(flate2::read::MultiGzDecoder::new(whole))),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(whole);
            let decoder = decoder.map_err(|error| std::io::Error::other(error.to_string()))?;
            Ok(Box::new(decoder))
        }
        _ => Ok(Box::new(whole)),
    }
}
