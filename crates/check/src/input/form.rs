//! Reads EDN and JSON values one at a time.
//!
//! Idea: EDN is close enough to JSON that one reader serves both: in JSON a colon separates, in EDN
//! it starts a keyword. Values become [`Form`]s with interned atoms; a file is read operation by
//! operation, never as a whole.
//! Limits: depth [`MAX_DEPTH`], nodes of one value [`MAX_NODES`].
//! Blind spot: commas are white space in EDN, and this reader does not insist on them in JSON.

use super::source::{InputError, MAX_TOKEN, Source};
use crate::model::{Atom, SymbolKind, Symbols};
use std::io::Read;

/// Nesting deeper than this is refused.
pub const MAX_DEPTH: u32 = 64;
/// A single value with more parts than this is refused.
pub const MAX_NODES: u32 = 1 << 24;

/// Which of the two notations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// Clojure's notation.
    Edn,
    /// JavaScript's notation.
    Json,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Nil, a number, a keyword, a string, a word.
    Atom(Atom),
    /// A vector, list or set.
    Seq(Vec<Form>),
    /// A map, in order.
    Map(Vec<(Form, Form)>),
}

impl Form {
    /// The atom, if it is one.
    pub fn atom(&self) -> Option<Atom> {
        if let Form::Atom(atom) = self { Some(*atom) } else { None }
    }

    /// The elements, if it is a sequence.
    pub fn seq(&self) -> Option<&[Form]> {
        if let Form::Seq(items) = self { Some(items) } else { None }
    }

    /// The integer, if it is one.
    pub fn int(&self) -> Option<i64> {
        self.atom().and_then(Atom::as_int)
    }

    /// The text of a keyword, string or word.
    pub fn word<'s>(&self, symbols: &'s Symbols) -> Option<&'s str> {
        symbols.get(self.atom()?).map(|(_, text)| text)
    }

    /// The value of a map under a name.
    pub fn get(&self, symbols: &Symbols, name: &str) -> Option<&Form> {
        let Form::Map(entries) = self else { return None };
        entries.iter().find(|(key, _)| key.word(symbols) == Some(name)).map(|(_, value)| value)
    }
}

/// Reads forms from a source.
pub struct FormReader<'a, R> {
    /// Where the bytes come from.
    pub source: &'a mut Source<R>,
    notation: Notation,
    scratch: Vec<u8>,
    nodes: u32,
}

impl<'a, R: Read> FormReader<'a, R> {
    /// A reader of this notation.
    pub fn new(source: &'a mut Source<R>, notation: Notation) -> FormReader<'a, R> {
        FormReader { source, notation, scratch: Vec::new(), nodes: 0 }
    }

    /// Skips white space and comments; gives the first byte after them.
    pub fn peek(&mut self) -> Result<Option<u8>, InputError> {
        loop {
            match self.source.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r' | b',') => self.source.advance(),
                Some(b';') if self.notation == Notation::Edn => {
                    while !matches!(self.source.next_byte()?, None | Some(b'\n')) {}
                }
                other => return Ok(other),
            }
        }
    }

    /// Takes one expected byte.
    pub fn take(&mut self, byte: u8, what: &str) -> Result<(), InputError> {
        if self.peek()? == Some(byte) {
            self.source.advance();
            return Ok(());
        }
        self.source.expected(what)
    }

    /// Reads one value.
    pub fn form(&mut self, symbols: &mut Symbols) -> Result<Form, InputError> {
        self.nodes = 0;
        self.nested(symbols, 0)
    }

    fn nested(&mut self, symbols: &mut Symbols, depth: u32) -> Result<Form, InputError> {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            let limit = format!(
                "a value is nested deeper than {MAX_DEPTH} or has more than {MAX_NODES} parts"
            );
            return Err(InputError::Limit { line: self.source.line(), limit });
        }
        match self.peek()? {
            None => self.source.expected("a value, found the end of the input"),
            Some(b'[') => self.sequence(symbols, depth, b']'),
            Some(b'(') if self.notation == Notation::Edn => self.sequence(symbols, depth, b')'),
            Some(b'{') => self.map(symbols, depth),
            Some(b'"') => {
                let text = self.string()?;
                Ok(Form::Atom(symbols.intern(SymbolKind::Text, &text)))
            }
            Some(b'#') if self.notation == Notation::Edn => self.tagged(symbols, depth),
            Some(_) => self.word(symbols),
        }
    }

    fn sequence(&mut self, symbols: &mut Symbols, depth: u32, end: u8) -> Result<Form, InputError> {
        self.source.advance();
        let mut items = Vec::new();
        loop {
            match self.peek()? {
                Some(byte) if byte == end => {
                    self.source.advance();
                    return Ok(Form::Seq(items));
                }
                None => {
                    return self
                        .source
                        .expected(format!("\"{}\" before the end of the input", char::from(end)));
                }
                Some(_) => items.push(self.nested(symbols, depth + 1)?),
            }
        }
    }

    fn map(&mut self, symbols: &mut Symbols, depth: u32) -> Result<Form, InputError> {
        self.source.advance();
        let mut entries = Vec::new();
        loop {
            match self.peek()? {
                Some(b'}') => {
                    self.source.advance();
                    return Ok(Form::Map(entries));
                }
                None => return self.source.expected("\"}\" before the end of the input"),
                Some(_) => {
                    let key = self.nested(symbols, depth + 1)?;
                    self.separator()?;
                    if self.peek()? == Some(b'}') {
                        return self.source.expected("a value for the last key of the map");
                    }
                    entries.push((key, self.nested(symbols, depth + 1)?));
                }
            }
        }
    }

    /// The colon between a JSON key and its value.
    pub fn separator(&mut self) -> Result<(), InputError> {
        if self.notation == Notation::Json { self.take(b':', "\":\" after a key") } else { Ok(()) }
    }

    fn tagged(&mut self, symbols: &mut Symbols, depth: u32) -> Result<Form, InputError> {
        self.source.advance();
        match self.source.peek()? {
            Some(b'{') => {
                // A set has the brackets of a map and the contents of a sequence.
                self.sequence(symbols, depth, b'}')
            }
            Some(b'_') => {
                self.source.advance();
                self.nested(symbols, depth + 1)?;
                self.nested(symbols, depth + 1)
            }
            _ => {
                self.bare_word()?;
                self.nested(symbols, depth + 1)
            }
        }
    }

    /// Reads a string; the opening quote is the next byte.
    pub fn string(&mut self) -> Result<String, InputError> {
        self.source.advance();
        let mut text = Vec::new();
        loop {
            match self.source.next_byte()? {
                None => return self.source.expected("a closing quote before the end of the input"),
                Some(b'"') => break,
                Some(b'\\') => self.escape(&mut text)?,
                Some(byte) => text.push(byte),
            }
            if text.len() > MAX_TOKEN {
                return self.source.expected(format!("strings of at most {MAX_TOKEN} bytes"));
            }
        }
        match String::from_utf8(text) {
            Ok(text) => Ok(text),
            Err(_) => self.source.expected("UTF-8 text"),
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), InputError> {
        let plain = match self.source.next_byte()? {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'u') => {
                let mut code = 0;
                for _ in 0..4 {
                    let digit = self.source.next_byte()?.and_then(|b| char::from(b).to_digit(16));
                    let Some(digit) = digit else {
                        return self.source.expected("four hexadecimal digits after \\u");
                    };
                    code = code * 16 + digit;
                }
                let letter = char::from_u32(code).unwrap_or('\u{fffd}');
                text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            _ => return self.source.expected("an escape sequence"),
        };
        text.push(plain);
        Ok(())
    }

    fn bare_word(&mut self) -> Result<(), InputError> {
        self.scratch.clear();
        let json = self.notation == Notation::Json;
        self.source.take_word(&mut self.scratch, |byte| match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b'[' | b']' | b'{' | b'}' | b'(' | b')'
            | b'"' | b';' => true,
            b':' => json,
            _ => false,
        })?;
        if self.scratch.len() > MAX_TOKEN {
            return self.source.expected(format!("words of at most {MAX_TOKEN} bytes"));
        }
        Ok(())
    }

    fn word(&mut self, symbols: &mut Symbols) -> Result<Form, InputError> {
        self.bare_word()?;
        if let Some(value) = small_integer(&self.scratch) {
            return Ok(Form::Atom(value));
        }
        let Ok(text) = std::str::from_utf8(&self.scratch) else {
            return self.source.expected("UTF-8 text");
        };
        let atom = match text {
            "" => {
                let found =
                    self.source.peek()?.map_or_else(String::new, |b| char::from(b).to_string());
                return self.source.expected(format!("a value, found {found:?}"));
            }
            "nil" if self.notation == Notation::Edn => Atom::NIL,
            "null" if self.notation == Notation::Json => Atom::NIL,
            _ if text.starts_with(':') && text.len() > 1 => {
                symbols.intern(SymbolKind::Keyword, &text[1..])
            }
            _ => match text.trim_end_matches('N').parse::<i128>() {
                Ok(value) => symbols.integer(value),
                Err(_) if is_json_word(text) || self.notation == Notation::Edn => {
                    symbols.intern(SymbolKind::Bare, text)
                }
                Err(_) => return self.source.expected(format!("a JSON value, found {text:?}")),
            },
        };
        Ok(Form::Atom(atom))
    }
}

/// Whether JSON has this word without quotes: a number, true or false.
pub(crate) fn is_json_word(text: &str) -> bool {
    let digits = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    matches!(text, "true" | "false") || digits && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The common case, without a detour over text.
fn small_integer(word: &[u8]) -> Option<Atom> {
    if word.is_empty() || word.len() > 17 || (word[0] == b'0' && word.len() > 1) {
        return None;
    }
    let mut value = 0_i64;
    for byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Atom::int(value)
}
