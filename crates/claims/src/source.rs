//! A claims file while it is being read: its values, pages and sentences, and the positions of errors.

use std::ops::Range;

use toml::Spanned;

/// The placeholder in a URL for the version of the manual.
pub(crate) const VERSION: &str = "{version}";

/// Why a claims file is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimsError {
    /// The file contains something wrong, or lacks something.
    #[error("{file}:{line}: {reason}")]
    Invalid {
        /// The file.
        file: String,
        /// The line, 1-based.
        line: usize,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A descriptor names none.
    #[error(
        "the descriptor of {0} names no claims: expected claims = \"FILE.toml\", or the name of a product whose \
         claims hold for it too"
    )]
    Missing(String),
    /// The file cannot be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        reason: String,
    },
}

/// The file that is being read.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    pub(crate) fn url(self, text: &Spanned<String>) -> Result<String, ClaimsError> {
        let url = text.get_ref();
        let is_url = url.strip_prefix("https://").is_some_and(|rest| rest.contains('/'));
        if url.contains(VERSION) {
            let reason = format!("'{url}': {VERSION} needs manual = [...] at the top of the file");
            Err(self.error(text.span(), reason))
        } else if is_url {
            Ok(url.clone())
        } else {
            Err(self
                .error(text.span(), format!("'{url}' is not a page: expected https://HOST/PAGE")))
        }
    }

    pub(crate) fn sentence(self, text: &Spanned<String>) -> Result<String, ClaimsError> {
        let says = text.get_ref().split_whitespace().collect::<Vec<_>>().join(" ");
        if says.is_empty() {
            return Err(self.error(text.span(), "expected what the page says, in our words".into()));
        }
        Ok(says)
    }

    pub(crate) fn read<T>(self, text: &Spanned<String>) -> Result<T, ClaimsError>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        text.get_ref().parse().map_err(|error: T::Err| self.error(text.span(), error.to_string()))
    }

    pub(crate) fn error(self, span: Range<usize>, reason: String) -> ClaimsError {
        let before = &self.text[..span.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        ClaimsError::Invalid { file: self.file.to_owned(), line, reason }
    }

    pub(crate) fn one_of<T: Copy>(
        self,
        text: &Spanned<String>,
        words: &[(&str, T)],
    ) -> Result<T, ClaimsError> {
        let found = words.iter().find(|(word, _)| word == text.get_ref());
        found.map(|(_, value)| *value).ok_or_else(|| {
            let expected: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let reason =
                format!("unknown value '{}': expected {}", text.get_ref(), expected.join(", "));
            self.error(text.span(), reason)
        })
    }
}
