//! Reads a `.case` file: plain SQL in which the comment in front of a statement names its session.
//!
//! Idea: header lines, then `/* name */ statement;`, repeated. `setup`, `check` and `teardown` (in upper or lower case)
//! are not sessions. A name consists of letters, digits, `_`, `-` and `.`.
//!
//! Rules beyond that:
//!
//! * Blank lines, `--` lines, `#` lines and block comments that are not names are allowed between statements; they are
//!   dropped, and a case is printed without them. Comments inside a statement belong to it.
//! * A comment that is a name at the start of a line always begins a new statement, except inside a BEGIN … END body:
//!   so a missing `;` is detected where it is missing.
//! * A file whose lines all end with CR LF is read as if they ended with LF. A byte order mark is skipped.
//! * The products disagree about backslashes, `#` and more (see [`crate::sql::scan`]). A statement is read in the
//!   dialects of the `targets` line, or in all of them; the earliest `;` that is followed by what may follow a
//!   statement wins. So `'a\'b'` and `'\'` both work, whatever follows them.
//!
//! Blind spot: a text made deliberately so that two dialects see different statements, each complete, is read as the
//! shorter one. `targets` settles it.

use std::borrow::Cow;

use super::error::{CaseError, Source};
use super::header::{self, HeaderLine, ParsedHeader};
use crate::sql::scan::is_blank;
use crate::sql::split::{Ending, statement_end};
use crate::sql::{Dialect, ScanError, Token, Tokens};
use crate::{Case, Product, Statement, Step};

impl Case {
    /// Reads the text of a `.case` file. `name` is the case's name, and the file's in an error.
    pub fn parse(name: &str, text: &str) -> Result<Self, CaseError> {
        let text = plain_line_ends(text.strip_prefix('\u{feff}').unwrap_or(text));
        let source = Source { file: name, text: &text };
        let ParsedHeader { header, end, session_level_offsets } = header::parse(source)?;
        let dialects = dialects_of(&header.targets);
        let mut parser = Parser { source, dialects, at: end };
        let mut case = Self { name: name.to_owned(), header, ..Self::default() };
        while let Some((session, statement)) = parser.next_statement()? {
            case.add(session, statement);
        }
        if case.steps.is_empty() {
            let expected = "at least one statement of a session, such as /* t1 */ SELECT 1;";
            return Err(source.error(text.len(), expected, "the end of the file"));
        }
        for ((session, _), at) in case.header.session_levels.iter().zip(session_level_offsets) {
            if !case.sessions.contains(session) {
                let expected = format!("a session of this file ({})", case.sessions.join(", "));
                return Err(source.error(at, expected, format!("`{session}`")));
            }
        }
        Ok(case)
    }

    /// Adds a statement of a session, or of a section like `setup`.
    pub(super) fn add(&mut self, name: &str, statement: Statement) {
        match name.to_lowercase().as_str() {
            "setup" => self.setup.push(statement),
            "check" => self.check.push(statement),
            "teardown" => self.teardown.push(statement),
            _ => {
                let known = self.sessions.iter().position(|session| session == name);
                let session = known.unwrap_or_else(|| {
                    self.sessions.push(name.to_owned());
                    self.sessions.len() - 1
                });
                self.steps.push(Step { session, statement });
            }
        }
    }
}

/// A Windows file with its line ends converted to LF. A CR LF in a file that also has plain LFs is part of a string and
/// stays.
fn plain_line_ends(text: &str) -> Cow<'_, str> {
    let newlines = text.matches('\n').count();
    if newlines > 0 && newlines == text.matches("\r\n").count() {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

fn dialects_of(targets: &[Product]) -> Vec<Dialect> {
    let wanted = |dialect: &Dialect| {
        targets.is_empty() || targets.iter().any(|product| product.dialect() == *dialect)
    };
    Dialect::ALL.into_iter().filter(wanted).collect()
}

/// The name in a comment like `/* t1 */`.
fn name_in(comment: &str) -> Option<&str> {
    let inner = comment.strip_prefix("/*")?.strip_suffix("*/")?.trim_matches(is_blank);
    let is_name_char = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!inner.is_empty() && inner.chars().all(is_name_char)).then_some(inner)
}

/// A block comment, and where it begins.
#[derive(Clone, Copy)]
struct Comment<'a> {
    text: &'a str,
    start: usize,
}

struct Parser<'a> {
    source: Source<'a>,
    dialects: Vec<Dialect>,
    at: usize,
}

impl<'a> Parser<'a> {
    /// The next session's name and statement; `None` at the end of the file.
    fn next_statement(&mut self) -> Result<Option<(&'a str, Statement)>, CaseError> {
        let Some(comment) = self.session_comment(self.at)? else { return Ok(None) };
        let text = self.source.text;
        let name = name_in(comment.text).unwrap_or_default();
        let behind = comment.start + comment.text.len();
        let start =
            behind + (text[behind..].len() - text[behind..].trim_start_matches(is_blank).len());
        let end = self.end_of(start, comment)?;
        if self.has_no_command(start, end) {
            let found = self.source.excerpt(start);
            return Err(self.source.error(
                start,
                format!("a statement after {}", comment.text),
                found,
            ));
        }
        self.at = end + 1;
        let sql = text[start..end].trim_end_matches(is_blank).to_owned();
        Ok(Some((name, Statement { sql, line: self.source.line(start) })))
    }

    /// Skips to the comment that names the next statement's session.
    fn session_comment(&self, from: usize) -> Result<Option<Comment<'a>>, CaseError> {
        let text = self.source.text;
        let mut remark = None;
        let mut at = from;
        loop {
            at += text[at..].len() - text[at..].trim_start_matches(is_blank).len();
            let rest = &text[at..];
            if rest.is_empty() {
                return Ok(None);
            }
            if rest.starts_with("--") || rest.starts_with('#') {
                let line = rest.lines().next().unwrap_or_default();
                self.refuse_late_header(at, line)?;
                at += line.len();
                continue;
            }
            if !rest.starts_with("/*") || rest.starts_with("/*!") || rest.starts_with("/*+") {
                return Err(self.nameless(at, remark));
            }
            let Some(end) = rest[2..].find("*/") else {
                let expected = "a closing */ for a comment that begins here";
                return Err(self.source.error(at, expected, "the end of the file"));
            };
            let comment = Comment { text: &rest[..end + 4], start: at };
            if name_in(comment.text).is_some() {
                return Ok(Some(comment));
            }
            at += comment.text.len();
            remark = Some(comment);
        }
    }

    fn nameless(&self, at: usize, remark: Option<Comment<'_>>) -> CaseError {
        let note = remark.map_or_else(String::new, |remark| {
            format!(" (`{}` is no name: a name is one word)", remark.text)
        });
        let expected = "a comment that names the session, such as /* t1 */";
        self.source.error(at, expected, self.source.excerpt(at) + &note)
    }

    fn refuse_late_header(&self, at: usize, line: &str) -> Result<(), CaseError> {
        match HeaderLine::read(line) {
            Some(header) if header.changes_the_run() => {
                let expected = "header lines only above the first statement";
                Err(self.source.error(at, expected, self.source.excerpt(at)))
            }
            _ => Ok(()),
        }
    }

    /// The byte offset of the `;` that ends the statement.
    fn end_of(&self, start: usize, comment: Comment<'a>) -> Result<usize, CaseError> {
        let mut ends = Vec::new();
        let mut first_error = None;
        for &dialect in &self.dialects {
            match self.end_in(dialect, start, comment) {
                Ok(end) => ends.push(end),
                Err(error) => drop(first_error.get_or_insert(error)),
            }
        }
        let whole = ends.iter().copied().filter(|end| self.a_statement_may_follow(end + 1)).min();
        whole.or(ends.into_iter().min()).ok_or_else(|| {
            first_error.unwrap_or_else(|| self.source.error(start, "a statement", "nothing"))
        })
    }

    fn end_in(
        &self,
        dialect: Dialect,
        start: usize,
        comment: Comment<'a>,
    ) -> Result<usize, CaseError> {
        let text = self.source.text;
        let mut next_session = None;
        let is_next_session = |token: &Token<'a>| {
            let line_start = text[..token.start].rfind('\n').map_or(0, |newline| newline + 1);
            let is_first = text[line_start..token.start].chars().all(is_blank);
            let stops = is_first && name_in(token.text).is_some();
            if stops {
                next_session = Some(Comment { text: token.text, start: token.start });
            }
            stops
        };
        let ending = statement_end(text, start, dialect, is_next_session)
            .map_err(|error| self.open_end(&error))?;
        match (ending, next_session) {
            (Ending::At(end), _) => Ok(end),
            (_, Some(next)) => Err(self.missing_end(start, comment, next)),
            (Ending::Missing { open_block: Some(block) }, None) => Err(self.source.error(
                block,
                "an END for the block that begins here, and a `;`",
                "the end of the file",
            )),
            (Ending::Missing { open_block: None }, None) => {
                let expected = "a `;` at the end of the statement that begins here";
                Err(self.source.error(start, expected, "the end of the file"))
            }
        }
    }

    fn missing_end(&self, start: usize, comment: Comment<'a>, next: Comment<'a>) -> CaseError {
        let expected = if start == next.start {
            format!("a statement after {}", comment.text)
        } else {
            format!("a `;` at the end of the statement of line {}", self.source.line(start))
        };
        self.source.error(next.start, expected, format!("the next one, `{}`", next.text))
    }

    fn open_end(&self, error: &ScanError) -> CaseError {
        let expected = format!("a closing {} for {} that begins here", error.closing, error.what);
        self.source.error(error.at, expected, "the end of the file")
    }

    /// Whether the text at this offset may follow a statement.
    fn a_statement_may_follow(&self, at: usize) -> bool {
        self.session_comment(at).is_ok()
    }

    fn has_no_command(&self, start: usize, end: usize) -> bool {
        let text = &self.source.text[..end];
        self.dialects.iter().all(|&dialect| {
            Tokens::new(text, start, dialect).all(|token| token.is_ok_and(|t| !t.is_significant()))
        })
    }
}
