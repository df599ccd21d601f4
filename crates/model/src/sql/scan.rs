//! Cuts SQL text into tokens.
//!
//! Idea: only what hides or shows a `;` matters: comments, quotes, dollar quotes, words. Everything else is a
//! [`TokenKind::Symbol`] of one character. Tokens cover the text without gaps.
//!
//! Source: the lexical chapters of the MySQL, PostgreSQL and SQLite manuals. They contradict each other, so each family
//! is a separate [`Dialect`]:
//!
//! | text | MySQL, MariaDB, TiDB | PostgreSQL, CockroachDB | SQLite |
//! | --- | --- | --- | --- |
//! | `\` before a quote in `'…'` or `"…"` | escapes it | nothing, but escapes in `E'…'` | nothing |
//! | `#` | comment to the end of the line | an operator | a symbol |
//! | `--x` | two minus signs; a comment needs a blank after `--` | comment | comment |
//! | `/* /* */ */` | ends at the first `*/` | nests | ends at the first `*/` |
//! | `[it's]` | symbols | symbols | a quoted name |
//! | `$$…$$`, `$tag$…$tag$` | dollar quote | dollar quote | dollar quote |
//!
//! Doubled quotes (`'it''s'`) and backtick names are common to all. `E'…'` escapes in every family, because
//! it means nothing else in any of them.
//!
//! Blind spots: MySQL's `ANSI_QUOTES` and `NO_BACKSLASH_ESCAPES` modes; the text inside `/*! … */` is one
//! token, so a string in it must not contain `*/`; PostgreSQL operators with a backtick in them.

use super::Dialect;
/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Blanks and line ends.
    Space,
    /// A comment to the end of its line, without the line end.
    LineComment,
    /// `/* … */`
    BlockComment,
    /// `/*! … */` or `/*+ … */`: a comment that some product executes or obeys.
    Hint,
    /// `'…'` or `E'…'`, in MySQL's reading also `"…"`.
    String,
    /// A name in backticks, double quotes or (SQLite) brackets.
    QuotedName,
    /// `$tag$ … $tag$`
    DollarQuote,
    /// A keyword, a name, a variable (`@x`) or a parameter (`$1`).
    Word,
    /// Starts with a digit.
    Number,
    /// `;`
    Semicolon,
    /// Any other single character.
    Symbol,
}

/// A piece of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// Its text.
    pub text: &'a str,
    /// Byte offset of its first character.
    pub start: usize,
}

impl Token<'_> {
    /// Byte offset after its last character.
    pub const fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is neither blank nor a comment. A hint counts: it may be all that a statement has.
    pub const fn is_significant(&self) -> bool {
        !matches!(self.kind, TokenKind::Space | TokenKind::LineComment | TokenKind::BlockComment)
    }

    /// Whether it is this keyword, in any case.
    pub fn is_word(&self, keyword: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(keyword)
    }

    /// Whether it is this symbol.
    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }
}

/// Something that begins but never ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} has no end")]
pub struct ScanError {
    /// Byte offset of its first character.
    pub at: usize,
    /// What it is, for people: `a string`.
    pub what: &'static str,
    /// What would end it: `'`, `*/`, `$tag$`.
    pub closing: String,
}

/// The tokens of a text in one dialect's reading. Ends after the first error.
#[derive(Debug, Clone)]
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
    dialect: Dialect,
}

impl<'a> Tokens<'a> {
    /// Starts at the byte offset `at` of `text`.
    pub const fn new(text: &'a str, at: usize, dialect: Dialect) -> Self {
        Self { text, at, dialect }
    }

    fn token_at(&self, first: char) -> Result<(TokenKind, usize), ScanError> {
        let rest = &self.text[self.at..];
        let second = rest[first.len_utf8()..].chars().next();
        match (first, second) {
            ('-', Some('-')) if self.dashes_are_a_comment(rest) => {
                Ok((TokenKind::LineComment, line_length(rest)))
            }
            ('#', _) if self.dialect == Dialect::Mysql => {
                Ok((TokenKind::LineComment, line_length(rest)))
            }
            ('/', Some('*')) => self.block_comment(rest),
            ('\'', _) => self.quoted(0, '\'', self.dialect == Dialect::Mysql),
            ('e' | 'E', Some('\'')) => self.quoted(1, '\'', true),
            ('"', _) => self.quoted(0, '"', self.dialect == Dialect::Mysql),
            ('`', _) => self.quoted(0, '`', false),
            ('[', _) if self.dialect == Dialect::Sqlite => {
                self.until(rest, "]", 1, TokenKind::QuotedName, "a quoted name")
            }
            ('$', _) => match dollar_tag(rest) {
                Some(tag) => {
                    self.until(rest, tag, tag.len(), TokenKind::DollarQuote, "a dollar quote")
                }
                None => Ok((TokenKind::Word, word_length(rest, 1))),
            },
            (';', _) => Ok((TokenKind::Semicolon, 1)),
            ('@', Some(c)) if is_word_char(c) || c == '@' => {
                Ok((TokenKind::Word, word_length(rest, if c == '@' { 2 } else { 1 })))
            }
            (c, _) if c.is_ascii_digit() => Ok((TokenKind::Number, word_length(rest, 1))),
            (c, _) if is_word_char(c) => Ok((TokenKind::Word, word_length(rest, c.len_utf8()))),
            (c, _) if is_blank(c) => {
                Ok((TokenKind::Space, rest.find(|c| !is_blank(c)).unwrap_or(rest.len())))
            }
            (c, _) => Ok((TokenKind::Symbol, c.len_utf8())),
        }
    }

    fn dashes_are_a_comment(&self, rest: &str) -> bool {
        self.dialect != Dialect::Mysql || rest[2..].chars().next().is_none_or(char::is_whitespace)
    }

    fn block_comment(&self, rest: &str) -> Result<(TokenKind, usize), ScanError> {
        let kind = match rest.as_bytes().get(2) {
            Some(b'!' | b'+') => TokenKind::Hint,
            _ => TokenKind::BlockComment,
        };
        if self.dialect != Dialect::Postgres {
            return self.until(rest, "*/", 2, kind, "a comment");
        }
        let mut depth = 1;
        let mut at = 2;
        while depth > 0 {
            let Some(next) = rest[at..].find(['/', '*']) else {
                return Err(self.unterminated("a comment", "*/"));
            };
            at += next;
            let (change, length) = match &rest.as_bytes()[at..] {
                [b'/', b'*', ..] => (1, 2),
                [b'*', b'/', ..] => (-1, 2),
                _ => (0, 1),
            };
            depth += change;
            at += length;
        }
        Ok((kind, at))
    }

    /// A quoted thing whose quote is doubled inside, and (if `escapes`) may also follow a backslash.
    fn quoted(
        &self,
        prefix: usize,
        quote: char,
        escapes: bool,
    ) -> Result<(TokenKind, usize), ScanError> {
        let is_string = quote == '\'' || (quote == '"' && self.dialect == Dialect::Mysql);
        let (kind, what) = if is_string {
            (TokenKind::String, "a string")
        } else {
            (TokenKind::QuotedName, "a quoted name")
        };
        let rest = &self.text[self.at..];
        let mut chars = rest.char_indices().skip(prefix + 1).peekable();
        while let Some((at, c)) = chars.next() {
            if escapes && c == '\\' {
                chars.next();
            } else if c == quote && chars.next_if(|&(_, next)| next == quote).is_none() {
                return Ok((kind, at + 1));
            }
        }
        let closing = match quote {
            '\'' => "'",
            '"' => "\"",
            _ => "`",
        };
        Err(self.unterminated(what, closing))
    }

    fn until(
        &self,
        rest: &str,
        closing: &str,
        opening_length: usize,
        kind: TokenKind,
        what: &'static str,
    ) -> Result<(TokenKind, usize), ScanError> {
        match rest[opening_length..].find(closing) {
            Some(at) => Ok((kind, opening_length + at + closing.len())),
            None => Err(self.unterminated(what, closing)),
        }
    }

    fn unterminated(&self, what: &'static str, closing: &str) -> ScanError {
        ScanError { at: self.at, what, closing: closing.to_owned() }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Result<Token<'a>, ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.text[self.at..].chars().next()?;
        let start = self.at;
        match self.token_at(first) {
            Ok((kind, length)) => {
                self.at += length;
                Some(Ok(Token { kind, text: &self.text[start..self.at], start }))
            }
            Err(error) => {
                self.at = self.text.len();
                Some(Err(error))
            }
        }
    }
}

/// What separates tokens: ASCII only, because some servers treat other spaces as letters.
pub(crate) const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

fn word_length(rest: &str, from: usize) -> usize {
    let end = rest[from..].find(|c: char| !is_word_char(c) && c != '$');
    end.map_or(rest.len(), |end| from + end)
}

fn line_length(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

/// `$$` or `$tag$` at the start of `rest`; a tag does not start with a digit (`$1` is a parameter).
fn dollar_tag(rest: &str) -> Option<&str> {
    let end = rest[1..].find('$')? + 1;
    let tag = &rest[1..end];
    let is_tag = !tag.starts_with(|c: char| c.is_ascii_digit()) && tag.chars().all(is_word_char);
    is_tag.then(|| &rest[..=end])
}

#[cfg(test)]
mod tests {
    use super::TokenKind::{
        BlockComment, DollarQuote, Hint, LineComment, Number, QuotedName, Semicolon, String,
        Symbol, Word,
    };
    use super::*;

    type Expected<'a> = &'a [(TokenKind, &'a str)];

    fn significant(text: &str, dialect: Dialect) -> Vec<(TokenKind, &str)> {
        Tokens::new(text, 0, dialect)
            .map(|token| token.expect("the text has no open end"))
            .filter(|token| token.kind != TokenKind::Space)
            .map(|token| (token.kind, token.text))
            .collect()
    }

    #[test]
    fn common_tokens_are_the_same_in_every_dialect() {
        let table: &[(&str, Expected<'_>)] = &[
            ("'it''s; ok';", &[(String, "'it''s; ok'"), (Semicolon, ";")]),
            ("''''", &[(String, "''''")]),
            ("e'a\\'b'", &[(String, "e'a\\'b'")]),
            ("`a``;b`", &[(QuotedName, "`a``;b`")]),
            ("$$ ; $x$ $$", &[(DollarQuote, "$$ ; $x$ $$")]),
            ("$é$;'$é$", &[(DollarQuote, "$é$;'$é$")]),
            ("$1+$2", &[(Word, "$1"), (Symbol, "+"), (Word, "$2")]),
            ("a$b$c", &[(Word, "a$b$c")]),
            ("@@x @y", &[(Word, "@@x"), (Word, "@y")]),
            ("1e5", &[(Number, "1e5")]),
            ("-- a;b\nc", &[(LineComment, "-- a;b"), (Word, "c")]),
            ("/* ;' */x", &[(BlockComment, "/* ;' */"), (Word, "x")]),
            ("/*! a; */ /*+ b */", &[(Hint, "/*! a; */"), (Hint, "/*+ b */")]),
            ("größe", &[(Word, "größe")]),
        ];
        for (text, expected) in table {
            for dialect in Dialect::ALL {
                assert_eq!(&significant(text, dialect), expected, "{text} as {dialect:?}");
            }
        }
    }

    #[test]
    fn what_the_dialects_read_differently() {
        let table: &[(&str, Dialect, Expected<'_>)] = &[
            (r"'a\'b'", Dialect::Mysql, &[(String, r"'a\'b'")]),
            (r"'\' x", Dialect::Postgres, &[(String, r"'\'"), (Word, "x")]),
            (r"'\' x", Dialect::Sqlite, &[(String, r"'\'"), (Word, "x")]),
            (r"'\\' x", Dialect::Mysql, &[(String, r"'\\'"), (Word, "x")]),
            ("\"a;b\"", Dialect::Mysql, &[(String, "\"a;b\"")]),
            ("\"a;b\"", Dialect::Postgres, &[(QuotedName, "\"a;b\"")]),
            ("5--1", Dialect::Mysql, &[(Number, "5"), (Symbol, "-"), (Symbol, "-"), (Number, "1")]),
            ("5--1", Dialect::Postgres, &[(Number, "5"), (LineComment, "--1")]),
            ("5#1;", Dialect::Mysql, &[(Number, "5"), (LineComment, "#1;")]),
            (
                "5#1;",
                Dialect::Postgres,
                &[(Number, "5"), (Symbol, "#"), (Number, "1"), (Semicolon, ";")],
            ),
            ("/*/**/x", Dialect::Mysql, &[(BlockComment, "/*/**/"), (Word, "x")]),
            (
                "/*/* ;*/ / * */x",
                Dialect::Postgres,
                &[(BlockComment, "/*/* ;*/ / * */"), (Word, "x")],
            ),
            ("[it's]", Dialect::Sqlite, &[(QuotedName, "[it's]")]),
        ];
        for (text, dialect, expected) in table {
            assert_eq!(&significant(text, *dialect), expected, "{text} as {dialect:?}");
        }
    }

    #[test]
    fn open_ends_are_reported_where_they_began() {
        let table = [
            ("a 'b", 2, "a string", "'"),
            ("a `b", 2, "a quoted name", "`"),
            ("a /* b", 2, "a comment", "*/"),
            ("a $t$ b $$", 2, "a dollar quote", "$t$"),
        ];
        for (text, at, what, closing) in table {
            for dialect in Dialect::ALL {
                let error = Tokens::new(text, 0, dialect).find_map(Result::err);
                assert_eq!(error, Some(ScanError { at, what, closing: closing.to_owned() }));
            }
        }
    }
}
