//! Reads the files under `known/` and refuses, with file and line, what is incomplete or misspelt.

use std::ops::Range;
use std::path::Path;

use anchorite_model::{Case, Level, Product};
use serde::Deserialize;
use toml::Spanned;

use super::{Affected, KnownIssue, Status};

/// A file that is built into the program, with its case.
pub(super) struct BuiltIn {
    name: &'static str,
    text: &'static str,
    case: &'static str,
}

macro_rules! built_in {
    ($($name:literal),*) => {
        &[$(BuiltIn {
            name: concat!("known/", $name, ".toml"),
            text: include_str!(concat!("../../../../known/", $name, ".toml")),
            case: include_str!(concat!("../../../../cases/bugs/", $name, ".case")),
        }),*]
    };
}

/// The files of the repository.
pub(super) const BUILT_IN: &[BuiltIn] = built_in![
    "INNODB-MOVED-ENTRY",
    "MARIADB-PRUNED-UPDATE",
    "MDEV-26643",
    "MDEV-27992",
    "MYROCKS-APPLIED-TWICE",
    "MYROCKS-MOVED-KEY",
    "MYROCKS-SCAN-ENDS",
    "MYROCKS-STALE-PARTITION",
    "MYSQL-DEADLOCK-UNTOLD",
    "MYSQL-MOVED-BEHIND",
    "MYSQL-ORPHAN",
    "MYSQL-REPLACED-BEHIND",
    "PG-ON-CONFLICT-UNWATCHED",
    "TIDB-45677",
    "TIDB-CASCADED-CHILD",
    "TIDB-DELETED-PARENT",
    "TIDB-DIRTY-MAX",
    "TIDB-DUPLICATE-PARENT",
    "TIDB-MOVED-PARENT",
    "TIDB-ORPHAN",
    "TIDB-SNAPSHOT-INDEX"
];

impl BuiltIn {
    pub(super) fn read(&self) -> Result<KnownIssue, KnownError> {
        KnownIssue::parse(self.name, self.text, &mut |_| Ok(self.case.to_owned()))
    }
}

/// Why a file of known issues cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnownError {
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
    /// The file or folder cannot be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's words.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    name: Spanned<String>,
    title: String,
    url: Spanned<String>,
    status: Spanned<String>,
    tracker: Option<String>,
    #[serde(default)]
    levels: Vec<Spanned<String>>,
    causes: Vec<String>,
    vanishes: Vec<Spanned<String>>,
    case: Spanned<String>,
    affected: Vec<AffectedText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AffectedText {
    product: Spanned<String>,
    since: Spanned<String>,
    before: Option<Spanned<String>>,
}

impl KnownIssue {
    /// Reads the text of a file; `file` is its name in errors, `case` gives the text of the case that it names.
    pub fn parse(
        file: &str,
        text: &str,
        case: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, KnownError> {
        let source = Source { file, text };
        let parsed: FileText = toml::from_str(text).map_err(|error| {
            source.error(error.span().unwrap_or(0..0), error.message().to_owned())
        })?;
        let start = parsed.name.span();
        for (list, name) in [(parsed.causes.len(), "causes"), (parsed.vanishes.len(), "vanishes")] {
            if list == 0 {
                return Err(source.error(start, format!("expected {name} = [\"...\"]")));
            }
        }
        let status = source.status(&parsed.status)?;
        if parsed.tracker.is_none() && matches!(status, Status::Open | Status::Fixed) {
            let reason =
                format!("expected tracker = \"...\", since the issue is {}", status.name());
            return Err(source.error(parsed.status.span(), reason));
        }
        if parsed.affected.is_empty() {
            return Err(source.error(start, "expected at least one [[affected]]".into()));
        }
        let is_url = parsed.url.get_ref().strip_prefix("https://").is_some_and(|r| r.contains('/'));
        if !is_url {
            return Err(source.error(parsed.url.span(), "expected https://HOST/PAGE".into()));
        }
        let affected = parsed.affected.iter().map(|affected| {
            Ok(Affected {
                product: source.read::<Product>(&affected.product)?,
                since: source.read(&affected.since)?,
                before: affected.before.as_ref().map(|before| source.read(before)).transpose()?,
            })
        });
        let levels = parsed.levels.iter().map(|level| source.read::<Level>(level));
        Ok(Self {
            affected: affected.collect::<Result<_, _>>()?,
            levels: levels.collect::<Result<_, _>>()?,
            status,
            vanishes: parsed
                .vanishes
                .iter()
                .map(|edit| source.read(edit))
                .collect::<Result<_, _>>()?,
            case: source.case(&parsed.case, case)?,
            name: parsed.name.into_inner(),
            title: parsed.title,
            url: parsed.url.into_inner(),
            tracker: parsed.tracker,
            causes: parsed.causes,
        })
    }

    /// Reads a file; its case is named relative to the file.
    pub fn load(path: &Path) -> Result<Self, KnownError> {
        let file = path.display().to_string();
        let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| error.to_string());
        let text =
            read(path).map_err(|reason| KnownError::Unreadable { file: file.clone(), reason })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        Self::parse(&file, &text, &mut |case| {
            read(&folder.join(case)).map_err(|reason| format!("cannot read {case}: {reason}"))
        })
    }

    /// Reads every `.toml` file of a folder, by name.
    pub fn load_folder(folder: &Path) -> Result<Vec<Self>, KnownError> {
        let unreadable = |error: std::io::Error| KnownError::Unreadable {
            file: folder.display().to_string(),
            reason: error.to_string(),
        };
        let entries = std::fs::read_dir(folder).map_err(unreadable)?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
        paths.sort();
        paths.iter().map(|path| Self::load(path)).collect()
    }
}

/// The file that is being read.
#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn status(self, text: &Spanned<String>) -> Result<Status, KnownError> {
        let all = [Status::Open, Status::Fixed, Status::Intended, Status::Unreported];
        let found = all.into_iter().find(|status| status.name() == text.get_ref());
        found.ok_or_else(|| {
            let expected = "expected open, fixed, intended or unreported";
            self.error(text.span(), format!("unknown status '{}': {expected}", text.get_ref()))
        })
    }

    fn case(
        self,
        name: &Spanned<String>,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Case, KnownError> {
        let text = read(name.get_ref()).map_err(|reason| self.error(name.span(), reason))?;
        let stem = Path::new(name.get_ref()).file_stem().unwrap_or_default().to_string_lossy();
        Case::parse(&stem, &text)
            .map_err(|error| self.error(name.span(), error.in_file(name.get_ref()).to_string()))
    }

    fn read<T>(self, text: &Spanned<String>) -> Result<T, KnownError>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        text.get_ref().parse().map_err(|error: T::Err| self.error(text.span(), error.to_string()))
    }

    fn error(self, span: Range<usize>, reason: String) -> KnownError {
        let before = &self.text[..span.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        KnownError::Invalid { file: self.file.to_owned(), line, reason }
    }
}
