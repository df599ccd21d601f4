//! Values and names as one machine word each.
//!
//! Idea: most keys and values of recorded histories are small integers, so an [`Atom`] holds them
//! directly; everything else (keywords, strings, floats, big integers) is an index into a table of
//! [`Symbols`]. Assumption: two values are the same value when they are written the same way.
//! Blind spot: `1` and `1.0` are different values here.

use crate::hash::{WordMap, mix};

/// A key or a value: a small integer, nil, or an index into [`Symbols`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Atom(u64);

const SYMBOL: u64 = 1 << 63;
const PAYLOAD: u64 = SYMBOL - 1;

impl Atom {
    /// The absent value (`nil`, `null`, `?`).
    pub const NIL: Atom = Atom(u64::MAX);
    /// The largest integer that fits; the smallest is its negative minus one.
    pub const MAX_INT: i64 = (1 << 62) - 1;

    /// An integer, if it fits.
    #[inline]
    pub fn int(value: i64) -> Option<Atom> {
        (-Self::MAX_INT - 1..=Self::MAX_INT)
            .contains(&value)
            .then_some(Atom(value as u64 & PAYLOAD))
    }

    /// The integer that this atom holds.
    #[inline]
    pub fn as_int(self) -> Option<i64> {
        (self.0 & SYMBOL == 0).then_some(((self.0 << 1) as i64) >> 1)
    }

    /// Whether this is the absent value.
    #[inline]
    pub fn is_nil(self) -> bool {
        self == Self::NIL
    }

    fn symbol(index: u32) -> Atom {
        Atom(SYMBOL | u64::from(index))
    }

    fn as_symbol(self) -> Option<u32> {
        (self.0 & SYMBOL != 0 && !self.is_nil()).then_some((self.0 & PAYLOAD) as u32)
    }

    /// The bits, for hashing and for operations that store something else in the same field.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// The inverse of [`Atom::bits`].
    #[inline]
    pub(crate) fn from_bits(bits: u64) -> Atom {
        Atom(bits)
    }
}

/// Whether a text is a name that every notation can write without quotes.
pub fn is_plain_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// What kind of text a symbol is: decides how it is written back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolKind {
    /// An EDN keyword, without its colon.
    Keyword,
    /// A string.
    Text,
    /// A number that does not fit an [`Atom`], or any other bare word.
    Bare,
    /// A vector or a map, in EDN.
    Composite,
}

/// The table of all values that are not small integers.
#[derive(Default, Clone, Debug)]
pub struct Symbols {
    items: Vec<(SymbolKind, Box<str>)>,
    /// By kind, so that looking up needs no copy of the text.
    index: [WordMap<Box<str>, u32>; 4],
    /// Recently used short words, each in the slot given by its hash.
    recent: Vec<(u64, Atom)>,
}

/// Slots for short words; histories use about a dozen.
const RECENT: usize = 256;

/// A word of up to seven bytes with its kind and length, as a machine word that is never zero.
#[inline]
fn short(kind: SymbolKind, bytes: &[u8]) -> Option<u64> {
    let length = bytes.len();
    (length < 8).then(|| {
        let mut word = [0; 8];
        word[..length].copy_from_slice(bytes);
        word[7] = 1 + (kind as u8) * 8 + length as u8;
        u64::from_le_bytes(word)
    })
}

impl Symbols {
    /// The atom of this text.
    pub fn intern(&mut self, kind: SymbolKind, text: &str) -> Atom {
        if let Some(atom) = self.recent(kind, text.as_bytes()) {
            return atom;
        }
        let atom = self.look_up(kind, text);
        if let Some(word) = short(kind, text.as_bytes()) {
            self.recent.resize(RECENT, (0, Atom::NIL));
            self.recent[mix(word) as usize % RECENT] = (word, atom);
        }
        atom
    }

    /// The atom of a short text, if it was used recently.
    #[inline]
    pub(crate) fn recent(&self, kind: SymbolKind, text: &[u8]) -> Option<Atom> {
        let word = short(kind, text)?;
        let (known, atom) = self.recent.get(mix(word) as usize % RECENT)?;
        (*known == word).then_some(*atom)
    }

    fn look_up(&mut self, kind: SymbolKind, text: &str) -> Atom {
        if let Some(&found) = self.index[kind as usize].get(text) {
            return Atom::symbol(found);
        }
        let next = self.items.len() as u32;
        self.items.push((kind, text.into()));
        self.index[kind as usize].insert(text.into(), next);
        Atom::symbol(next)
    }

    /// The atom of an integer of any size.
    pub fn integer(&mut self, value: i128) -> Atom {
        i64::try_from(value)
            .ok()
            .and_then(Atom::int)
            .unwrap_or_else(|| self.intern(SymbolKind::Bare, &value.to_string()))
    }

    /// The text behind a symbol.
    pub fn get(&self, atom: Atom) -> Option<(SymbolKind, &str)> {
        let index = atom.as_symbol()?;
        self.items.get(index as usize).map(|(kind, text)| (*kind, &**text))
    }

    /// The value as a person would write it.
    pub fn show(&self, atom: Atom) -> String {
        if atom.is_nil() {
            return "nil".to_owned();
        }
        match (atom.as_int(), self.get(atom)) {
            (Some(value), _) => value.to_string(),
            (None, Some((SymbolKind::Text, text))) => format!("{text:?}"),
            (None, Some((_, text))) => text.to_owned(),
            (None, None) => "?".to_owned(),
        }
    }

    /// How many symbols there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether every value so far was a small integer or nil.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_survive_at_the_edges() {
        for value in [0, 1, -1, Atom::MAX_INT, -Atom::MAX_INT - 1] {
            assert_eq!(Atom::int(value).and_then(Atom::as_int), Some(value));
        }
        assert_eq!(Atom::int(i64::MAX), None);
        let mut symbols = Symbols::default();
        let big = symbols.integer(i128::from(u64::MAX));
        assert_eq!(big.as_int(), None);
        assert_eq!(symbols.show(big), u64::MAX.to_string());
        assert_ne!(symbols.intern(SymbolKind::Text, "x"), symbols.intern(SymbolKind::Keyword, "x"));
    }
}
