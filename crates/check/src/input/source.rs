//! A byte stream that knows its line.
//!
//! Idea: all parsers pull bytes from one buffer of fixed size, so memory does not depend on the
//! size of the file, and a pipe works like a file. Errors carry the line and what was expected.

use std::io::Read;

/// Why an input could not be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The text is not what the format asks for.
    #[error("line {line}: expected {expected}")]
    Syntax {
        /// Line number, counted from one (for binary formats: the byte offset).
        line: u64,
        /// What was expected.
        expected: String,
    },
    /// No format fits the beginning of the input.
    #[error(
        "line 1: expected an Elle history (EDN or JSON), plume text, a dbcop history, a Cobra log \
         or anchorite JSON Lines"
    )]
    Unrecognised,
    /// A limit was reached.
    #[error("line {line}: {limit}")]
    Limit {
        /// Where.
        line: u64,
        /// Which limit.
        limit: String,
    },
    /// The bytes could not be read.
    #[error("cannot read: {0}")]
    Io(#[from] std::io::Error),
}

/// Size of the buffer; also how far the recogniser can look ahead.
pub const BUFFER: usize = 1 << 18;
/// No single token may be longer.
pub const MAX_TOKEN: usize = 1 << 24;

/// The stream.
pub struct Source<R> {
    reader: R,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    line: u64,
}

impl<R: Read> Source<R> {
    /// Wraps a reader.
    pub fn new(reader: R) -> Source<R> {
        Source { reader, buffer: vec![0; BUFFER], at: 0, end: 0, line: 1 }
    }

    /// The current line, counted from one.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// An error at the current line.
    pub fn expected<T>(&self, what: impl Into<String>) -> Result<T, InputError> {
        Err(InputError::Syntax { line: self.line, expected: what.into() })
    }

    /// The contents of the buffer, after filling it as far as possible without losing anything.
    pub fn look_ahead(&mut self) -> Result<&[u8], InputError> {
        while self.end < self.buffer.len() {
            let got = self.read_some()?;
            if got == 0 {
                break;
            }
        }
        Ok(&self.buffer[self.at..self.end])
    }

    fn read_some(&mut self) -> Result<usize, InputError> {
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(got) => {
                    self.end += got;
                    return Ok(got);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[cold]
    fn refill(&mut self) -> Result<bool, InputError> {
        self.at = 0;
        self.end = 0;
        Ok(self.read_some()? > 0)
    }

    /// The next byte, without taking it.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, InputError> {
        if self.at == self.end && !self.refill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// Takes the byte that [`Source::peek`] showed.
    #[inline]
    pub fn advance(&mut self) {
        if self.buffer[self.at] == b'\n' {
            self.line += 1;
        }
        self.at += 1;
    }

    /// Takes the next byte.
    #[inline]
    pub fn next_byte(&mut self) -> Result<Option<u8>, InputError> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.advance();
        }
        Ok(byte)
    }

    /// The contents of the buffer; there may be more to read.
    #[inline]
    pub fn buffered(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// Takes buffered bytes that contain no line end.
    #[inline]
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Takes one buffered line, its end included.
    #[inline]
    pub fn skip_line(&mut self, bytes: usize) {
        self.at += bytes;
        self.line += 1;
    }

    /// Moves bytes to `into` as long as they belong to a word.
    pub fn take_word(
        &mut self,
        into: &mut Vec<u8>,
        ends: impl Fn(u8) -> bool,
    ) -> Result<(), InputError> {
        loop {
            let rest = &self.buffer[self.at..self.end];
            let stop = rest.iter().position(|byte| ends(*byte));
            let taken = stop.unwrap_or(rest.len());
            into.extend_from_slice(&rest[..taken]);
            self.at += taken;
            if stop.is_some() || into.len() > MAX_TOKEN || !self.refill()? {
                return Ok(());
            }
        }
    }

    /// The next line without its end, borrowed from the buffer; `None` at the end of the input.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, InputError> {
        let mut searched = 0;
        loop {
            let rest = &self.buffer[self.at + searched..self.end];
            if let Some(found) = rest.iter().position(|byte| *byte == b'\n') {
                let start = self.at;
                let end = start + searched + found;
                self.at = end + 1;
                self.line += 1;
                return Ok(Some(trim_return(&self.buffer[start..end])));
            }
            searched = self.end - self.at;
            if self.at > 0 {
                self.buffer.copy_within(self.at..self.end, 0);
                self.end = searched;
                self.at = 0;
            } else if self.end == self.buffer.len() {
                if self.buffer.len() >= MAX_TOKEN {
                    let limit = format!("the line is longer than {MAX_TOKEN} bytes");
                    return Err(InputError::Limit { line: self.line, limit });
                }
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            if self.read_some()? == 0 {
                let start = self.at;
                let end = self.end;
                self.at = end;
                return Ok((start < end).then(|| trim_return(&self.buffer[start..end])));
            }
        }
    }
}

fn trim_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
