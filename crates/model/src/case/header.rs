//! The `-- key: value` lines at the top of a `.case` file.
//!
//! Idea: a header line is an SQL comment, so the file stays SQL that can be pasted. `title`, `level` and `targets`
//! occur once, `source` and `expect` any number of times, `level t2` once per session. Every other key is kept. A
//! comment that does not look like `-- key: value` (one word, a colon, a space) is just a comment.
//!
//! Assumption: the header ends at the first line that is neither blank nor a comment.

use super::error::{CaseError, Source};
use crate::sql::scan::is_blank;
use crate::{Header, Product};

/// A header, where it ends, and where its `level SESSION` lines are.
#[derive(Debug, Default)]
pub(super) struct ParsedHeader {
    pub(super) header: Header,
    /// Byte offset after the last header line.
    pub(super) end: usize,
    /// Byte offset of the session's name for each of [`Header::session_levels`].
    pub(super) session_level_offsets: Vec<usize>,
}

/// A comment that is a `key: value` line.
pub(super) struct HeaderLine<'a> {
    key: &'a str,
    /// `t2` of `level t2: …`.
    session: Option<&'a str>,
    value: &'a str,
}

impl<'a> HeaderLine<'a> {
    /// Reads a line; `None` if it is any other comment.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let comment = line.trim_matches(is_blank).strip_prefix("--")?;
        let (name, value) = comment.split_once(':')?;
        if !(value.is_empty() || value.starts_with(is_blank)) {
            return None;
        }
        let mut words = name.split(is_blank).filter(|word| !word.is_empty());
        let (key, session, rest) = (words.next()?, words.next(), words.next());
        let is_key = key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
        let session_fits = session.is_none() || key.eq_ignore_ascii_case("level");
        let value = value.trim_matches(is_blank);
        (is_key && session_fits && rest.is_none()).then_some(Self { key, session, value })
    }

    /// Whether the line changes how the case runs, so that it must not be overlooked.
    pub(super) fn changes_the_run(&self) -> bool {
        ["level", "targets"].iter().any(|key| self.key.eq_ignore_ascii_case(key))
    }
}

/// Reads the header at the top of the text.
pub(super) fn parse(source: Source<'_>) -> Result<ParsedHeader, CaseError> {
    let mut parsed = ParsedHeader::default();
    for line in source.text.split_inclusive('\n') {
        let content = line.trim_matches(is_blank);
        if !(content.is_empty() || content.starts_with("--") || content.starts_with('#')) {
            break;
        }
        if let Some(header_line) = HeaderLine::read(line) {
            let start = parsed.end;
            let offset_of = |part: &str| start + (part.as_ptr().addr() - line.as_ptr().addr());
            take(&mut parsed, &header_line, source, offset_of)?;
        }
        parsed.end += line.len();
    }
    Ok(parsed)
}

fn take(
    parsed: &mut ParsedHeader,
    line: &HeaderLine<'_>,
    source: Source<'_>,
    offset_of: impl Fn(&str) -> usize,
) -> Result<(), CaseError> {
    let header = &mut parsed.header;
    let key = line.key.to_lowercase();
    let at_value = offset_of(line.value);
    let is_known = matches!(key.as_str(), "title" | "source" | "level" | "targets" | "expect");
    if is_known && line.value.is_empty() {
        return Err(source.error(at_value, format!("a value after `{key}:`"), "nothing"));
    }
    let repeats = match key.as_str() {
        "title" => header.title.is_some(),
        "targets" => !header.targets.is_empty(),
        "level" => match line.session {
            Some(session) => header.session_levels.iter().any(|(name, _)| name == session),
            None => header.level.is_some(),
        },
        _ => false,
    };
    if repeats {
        let found = format!("another one, `{}`", line.value);
        return Err(source.error(offset_of(line.key), format!("only one `{key}` line"), found));
    }
    match (key.as_str(), line.session) {
        ("title", _) => header.title = Some(line.value.to_owned()),
        ("source", _) => header.source.push(line.value.to_owned()),
        ("expect", _) => header.expect.push(line.value.to_owned()),
        ("level", session) => {
            let level = line.value.parse().map_err(|_| {
                let expected = "a level (ru, rc, rr, si, ser or its full name)";
                source.error(at_value, expected, format!("`{}`", line.value))
            })?;
            match session {
                None => header.level = Some(level),
                Some(session) => {
                    header.session_levels.push((session.to_owned(), level));
                    parsed.session_level_offsets.push(offset_of(session));
                }
            }
        }
        ("targets", _) => header.targets = targets(line.value, source, offset_of)?,
        _ => header.other.push((line.key.to_owned(), line.value.to_owned())),
    }
    Ok(())
}

fn targets(
    value: &str,
    source: Source<'_>,
    offset_of: impl Fn(&str) -> usize,
) -> Result<Vec<Product>, CaseError> {
    let names = value.split(',').map(|name| name.trim_matches(is_blank));
    names
        .map(|name| {
            name.parse().map_err(|_| {
                let known: Vec<&str> = Product::all().into_iter().map(Product::name).collect();
                let known = known.join(", ");
                let expected = format!("product names separated by commas (of {known})");
                source.error(offset_of(name), expected, format!("`{name}`"))
            })
        })
        .collect()
}
