//! What is wrong with a text, and where.

use std::fmt;

/// A text that is not a case: where, what was expected there, and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseError {
    /// The file, or the name that the case was parsed under.
    pub file: String,
    /// Line, 1-based.
    pub line: usize,
    /// Column in characters, 1-based.
    pub column: usize,
    /// What was expected there.
    pub expected: String,
    /// What was found instead.
    pub found: String,
}

impl CaseError {
    /// The same error, shown with the path that the text was read from.
    #[must_use]
    pub fn in_file(mut self, path: &str) -> Self {
        path.clone_into(&mut self.file);
        self
    }
}

impl std::error::Error for CaseError {}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, expected, found } = self;
        write!(f, "{file}:{line}:{column}: expected {expected}, found {found}")
    }
}

/// A text with its positions, for the parsers of this crate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

/// How much of the text an error shows.
const EXCERPT_CHARS_MAX: usize = 24;

impl Source<'_> {
    /// The 1-based line of a byte offset.
    pub(crate) fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// An error at a byte offset.
    pub(crate) fn error(
        &self,
        at: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> CaseError {
        let line_start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        CaseError {
            file: self.file.to_owned(),
            line: self.line(at),
            column: 1 + self.text[line_start..at].chars().count(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The beginning of the line's rest at a byte offset, in quotes.
    pub(crate) fn excerpt(&self, at: usize) -> String {
        let rest = self.text[at..].lines().next().unwrap_or_default().trim_end();
        match rest.char_indices().nth(EXCERPT_CHARS_MAX) {
            _ if self.text[at..].is_empty() => "the end of the file".to_owned(),
            Some((end, _)) => format!("`{}…`", rest[..end].trim_end()),
            None => format!("`{rest}`"),
        }
    }
}
