//! Reads EDN and JSON values one at a time.
//!
//! Idea: EDN is close enough to JSON that one reader serves both: in JSON a colon separates, in EDN it starts a
//! keyword. Values become [`Form`]s with interned atoms; a file is read operation by operation, never as a whole. A
//! word that is entirely in the buffer, as nearly every one is, is read there. Limits: depth [`MAX_DEPTH`], nodes of
//! one value [`MAX_NODES`]. Blind spot: commas are white space in EDN, and this reader does not insist on them in JSON.

use super::digits;
use super::form::{Form, Node};
use super::source::{InputError, MAX_TOKEN, Source};
use crate::model::{Atom, SymbolKind, Symbols};
use std::io::Read;

/// Nesting deeper than this is refused.
pub const MAX_DEPTH: u32 = 64;
/// A single value with more parts than this is refused.
pub const MAX_NODES: usize = 1 << 24;

/// Which of the two notations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// Clojure's notation.
    Edn,
    /// JavaScript's notation.
    Json,
}

impl Notation {
    /// Whether a word ends before this byte.
    #[inline]
    fn ends_word(self, byte: u8) -> bool {
        ENDS_WORD[byte as usize] || byte == b':' && self == Notation::Json
    }
}

/// For each byte whether a word ends before it in both notations.
const ENDS_WORD: [bool; 256] = {
    let mut ends = [false; 256];
    let bytes = b" \t\n\r,[]{}()\";";
    let mut at = 0;
    while at < bytes.len() {
        ends[bytes[at] as usize] = true;
        at += 1;
    }
    ends
};

/// Reads forms from a source.
pub struct FormReader<'a, R> {
    /// Where the bytes come from.
    pub source: &'a mut Source<R>,
    notation: Notation,
    /// The value that was read last.
    nodes: Vec<Node>,
    scratch: Vec<u8>,
}

impl<'a, R: Read> FormReader<'a, R> {
    /// A reader of this notation.
    pub fn new(source: &'a mut Source<R>, notation: Notation) -> FormReader<'a, R> {
        FormReader { source, notation, nodes: Vec::new(), scratch: Vec::new() }
    }

    /// Skips white space and comments; gives the first byte after them.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, InputError> {
        let buffered = self.source.buffered();
        let spaces = usize::from(matches!(buffered.first(), Some(b' ' | b',')));
        match buffered.get(spaces) {
            Some(&byte) if byte > b' ' && byte != b',' && byte != b';' => {
                self.source.skip(spaces);
                Ok(Some(byte))
            }
            _ => self.peek_slowly(),
        }
    }

    fn peek_slowly(&mut self) -> Result<Option<u8>, InputError> {
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
    pub fn form(&mut self, symbols: &mut Symbols) -> Result<Form<'_>, InputError> {
        self.nodes.clear();
        self.nested(symbols, 0)?;
        Ok(Form::new(&self.nodes))
    }

    fn nested(&mut self, symbols: &mut Symbols, depth: u32) -> Result<(), InputError> {
        if depth > MAX_DEPTH || self.nodes.len() >= MAX_NODES {
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
            Some(b'"') => self.text(symbols),
            Some(b'#') if self.notation == Notation::Edn => self.tagged(symbols, depth),
            Some(_) => self.word(symbols),
        }
    }

    fn sequence(&mut self, symbols: &mut Symbols, depth: u32, end: u8) -> Result<(), InputError> {
        self.source.advance();
        let head = self.nodes.len();
        self.nodes.push(Node::Seq(0));
        loop {
            self.numbers();
            match self.peek()? {
                Some(byte) if byte == end => {
                    self.source.advance();
                    self.nodes[head] = Node::Seq((self.nodes.len() - head - 1) as u32);
                    return Ok(());
                }
                None => {
                    return self
                        .source
                        .expected(format!("\"{}\" before the end of the input", char::from(end)));
                }
                Some(_) => self.nested(symbols, depth + 1)?,
            }
        }
    }

    /// Takes small numbers as long as each is followed by a space or a comma: long lists are made of them.
    #[inline]
    fn numbers(&mut self) {
        while self.nodes.len() < MAX_NODES
            && let Some((atom, length)) = small_integer(self.source.buffered())
            && matches!(self.source.buffered().get(length), Some(b' ' | b','))
        {
            self.source.skip(length + 1);
            self.nodes.push(Node::Atom(atom));
        }
    }

    fn map(&mut self, symbols: &mut Symbols, depth: u32) -> Result<(), InputError> {
        self.source.advance();
        let head = self.nodes.len();
        self.nodes.push(Node::Map(0));
        loop {
            match self.peek()? {
                Some(b'}') => {
                    self.source.advance();
                    self.nodes[head] = Node::Map((self.nodes.len() - head - 1) as u32);
                    return Ok(());
                }
                None => return self.source.expected("\"}\" before the end of the input"),
                Some(_) => {
                    self.nested(symbols, depth + 1)?;
                    self.separator()?;
                    if self.peek()? == Some(b'}') {
                        return self.source.expected("a value for the last key of the map");
                    }
                    self.nested(symbols, depth + 1)?;
                }
            }
        }
    }

    /// The colon between a JSON key and its value.
    #[inline]
    pub fn separator(&mut self) -> Result<(), InputError> {
        if self.notation == Notation::Json { self.take(b':', "\":\" after a key") } else { Ok(()) }
    }

    fn tagged(&mut self, symbols: &mut Symbols, depth: u32) -> Result<(), InputError> {
        self.source.advance();
        match self.source.peek()? {
            Some(b'{') => {
                // A set has the brackets of a map and the contents of a sequence, in an order that says nothing.
                let head = self.nodes.len();
                self.sequence(symbols, depth, b'}')?;
                let sorted = sorted(Form::new(&self.nodes[head..]), symbols);
                self.nodes.truncate(head + 1);
                self.nodes.extend(sorted);
                Ok(())
            }
            Some(b'_') => {
                self.source.advance();
                let before = self.nodes.len();
                self.nested(symbols, depth + 1)?;
                self.nodes.truncate(before);
                self.nested(symbols, depth + 1)
            }
            _ => {
                self.bare_word()?;
                self.nested(symbols, depth + 1)
            }
        }
    }

    /// Reads a string as a node.
    fn text(&mut self, symbols: &mut Symbols) -> Result<(), InputError> {
        let inner = &self.source.buffered()[1..];
        let plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
        let length = inner.iter().take_while(|byte| plain(byte)).count();
        let is_plain = inner.get(length) == Some(&b'"');
        let recent = symbols.recent(SymbolKind::Text, &inner[..length]);
        let atom = if let Some(recent) = recent.filter(|_| is_plain) {
            self.source.skip(length + 2);
            recent
        } else if is_plain && let Ok(text) = std::str::from_utf8(&inner[..length]) {
            let atom = symbols.intern(SymbolKind::Text, text);
            self.source.skip(length + 2);
            atom
        } else {
            symbols.intern(SymbolKind::Text, &self.string()?)
        };
        self.nodes.push(Node::Atom(atom));
        Ok(())
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

    /// Copies a word to the scratch buffer, wherever it ends.
    fn bare_word(&mut self) -> Result<(), InputError> {
        self.scratch.clear();
        let notation = self.notation;
        self.source.take_word(&mut self.scratch, |byte| notation.ends_word(byte))?;
        if self.scratch.len() > MAX_TOKEN {
            return self.source.expected(format!("words of at most {MAX_TOKEN} bytes"));
        }
        Ok(())
    }

    fn word(&mut self, symbols: &mut Symbols) -> Result<(), InputError> {
        let buffered = self.source.buffered();
        let ends = |byte: &u8| self.notation.ends_word(*byte);
        if let Some((atom, length)) = small_integer(buffered)
            && buffered.get(length).is_some_and(ends)
        {
            self.source.skip(length);
            self.nodes.push(Node::Atom(atom));
            return Ok(());
        }
        let meaning = match buffered.iter().position(ends) {
            Some(0) => {
                let found = char::from(buffered[0]).to_string();
                return self.source.expected(format!("a value, found {found:?}"));
            }
            Some(length) => {
                let meaning = meaning(&buffered[..length], self.notation, symbols);
                self.source.skip(length);
                meaning
            }
            None => {
                self.bare_word()?;
                meaning(&self.scratch, self.notation, symbols)
            }
        };
        match meaning {
            Ok(atom) => self.nodes.push(Node::Atom(atom)),
            Err(expected) => return self.source.expected(expected),
        }
        Ok(())
    }
}

/// The elements of a set, sorted by their texts.
fn sorted(set: Form<'_>, symbols: &Symbols) -> Vec<Node> {
    let mut items: Vec<Form<'_>> = set.items().into_iter().flatten().collect();
    items.sort_by_cached_key(|item| item.edn(symbols));
    items.iter().flat_map(|item| item.nodes()).copied().collect()
}

/// What a word stands for, or what was expected instead.
fn meaning(word: &[u8], notation: Notation, symbols: &mut Symbols) -> Result<Atom, String> {
    if let [b':', keyword @ ..] = word
        && let Some(recent) = symbols.recent(SymbolKind::Keyword, keyword)
    {
        return Ok(recent);
    }
    let text = std::str::from_utf8(word).map_err(|_| "UTF-8 text")?;
    Ok(match text {
        "nil" if notation == Notation::Edn => Atom::NIL,
        "null" if notation == Notation::Json => Atom::NIL,
        _ if text.starts_with(':') && text.len() > 1 => {
            symbols.intern(SymbolKind::Keyword, &text[1..])
        }
        _ => match text.trim_end_matches('N').parse::<i128>() {
            Ok(value) => symbols.integer(value),
            Err(_) if is_json_word(text) || notation == Notation::Edn => {
                symbols.intern(SymbolKind::Bare, text)
            }
            Err(_) => return Err(format!("a JSON value, found {text:?}")),
        },
    })
}

/// Whether JSON has this word without quotes: a number, true or false.
pub(crate) fn is_json_word(text: &str) -> bool {
    let digits = text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    matches!(text, "true" | "false") || digits && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The common case, without going through text: a number without sign and leading zeros, and its length.
#[inline]
fn small_integer(bytes: &[u8]) -> Option<(Atom, usize)> {
    let (value, count) = digits::leading(bytes);
    let is_small = (1..=digits::MOST).contains(&count) && (count == 1 || bytes[0] != b'0');
    is_small.then(|| Atom::int(value as i64)).flatten().map(|atom| (atom, count))
}
