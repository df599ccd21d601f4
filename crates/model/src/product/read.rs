//! From the text of a descriptor to a [`Descriptor`], or to the line that is wrong.
//!
//! A descriptor that is `like` another inherits everything that it does not state itself: tables are merged key by key,
//! lists are replaced, except that its `error` rules come before the other's. Names, schemes and the sources of private
//! servers are never inherited.

use std::ops::Range;

use toml::{Table, Value};

use super::classes::ErrorClasses;
use super::descriptor::Descriptor;
use super::listed;

/// The existing drivers.
const DRIVERS: [&str; 4] = ["sqlite", "mysql", "postgres", "cockroach"];

/// What a descriptor does not inherit from the one that it is like.
const OWN: [&str; 5] = ["name", "aliases", "schemes", "claims", "like"];

/// Why a descriptor is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct DescriptorError {
    /// The file.
    pub file: String,
    /// The line, 1-based.
    pub line: usize,
    /// What is wrong and what was expected.
    pub reason: String,
}

struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

/// Reads a descriptor; it may refer to known ones, whose names are taken.
pub(super) fn read(
    file: &str,
    text: &str,
    known: &[&'static Descriptor],
) -> Result<Descriptor, DescriptorError> {
    let source = Source { file, text };
    // First on its own: only then does an error have a line number.
    let own: Descriptor = source.parse()?;
    let mut table: Table = source.parse()?;
    let mut whole = own;
    if let Some(like) = &whole.like {
        let other = known.iter().find(|other| other.name == *like).ok_or_else(|| {
            let names = listed(known.iter().map(|other| other.name.as_str()));
            source.at_key("like", format!("unknown product '{like}': expected {names}"))
        })?;
        let mut base = other.source.clone();
        OWN.into_iter().for_each(|key| drop(base.remove(key)));
        table = merged(base, table);
        // By way of its text: reading a table would compile all of this a second time.
        let merged: Result<Descriptor, _> = toml::from_str(&table.to_string());
        whole = merged.map_err(|error| source.at_key("like", error.message().to_owned()))?;
    }
    source.check(&whole, known)?;
    whole.classes = ErrorClasses::new(&whole.error, whole.other_errors_leave);
    whole.place = known.len();
    whole.source = table;
    Ok(whole)
}

/// The other's table, overridden by its own: see the top of this file.
fn merged(mut base: Table, own: Table) -> Table {
    for (key, value) in own {
        let value = match (base.remove(&key), value) {
            (Some(Value::Table(other)), Value::Table(own)) => Value::Table(merged(other, own)),
            (Some(Value::Array(other)), Value::Array(own)) if key == "error" => {
                Value::Array(own.into_iter().chain(other).collect())
            }
            (_, own) => own,
        };
        base.insert(key, value);
    }
    base
}

impl Source<'_> {
    fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, DescriptorError> {
        toml::from_str(self.text)
            .map_err(|error| self.error(error.span().unwrap_or(0..0), error.message().to_owned()))
    }

    fn check(
        &self,
        whole: &Descriptor,
        known: &[&'static Descriptor],
    ) -> Result<(), DescriptorError> {
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_:".contains(c))
        };
        if !is_name(&whole.name) {
            let reason = "expected name = \"...\", in lower case, with letters, digits, -, _ and :";
            return Err(self.at_key("name", reason.to_owned()));
        }
        let taken = |name: &String| {
            known.iter().any(|other| other.name == *name || other.aliases.contains(name))
        };
        if let Some(name) =
            std::iter::once(&whole.name).chain(&whole.aliases).find(|name| taken(name))
        {
            return Err(self.at_key("name", format!("there is a product '{name}' already")));
        }
        let schemes = known.iter().flat_map(|other| other.schemes.iter());
        if let Some(scheme) = schemes.into_iter().find(|scheme| whole.schemes.contains(scheme)) {
            return Err(self.at_key("schemes", format!("'{scheme}://' belongs to another product")));
        }
        if !DRIVERS.contains(&whole.driver.as_str()) {
            let reason = format!("unknown driver '{}': expected {}", whole.driver, listed(DRIVERS));
            return Err(self.at_key("driver", reason));
        }
        if whole.dialect.is_none() {
            let reason = "expected dialect = \"mysql\", \"postgres\" or \"sqlite\"".to_owned();
            return Err(self.at_key("dialect", reason));
        }
        let required = [
            ("title", &whole.title, "the name as its makers write it"),
            ("engine", &whole.engine, "the engine that products share bugs by"),
        ];
        for (key, value, meaning) in required {
            if value.is_empty() {
                return Err(self.at_key(key, format!("expected {key} = \"...\": {meaning}")));
            }
        }
        if whole.schemes.is_empty() && whole.driver != "sqlite" && !whole.name.contains(':') {
            let reason = "expected schemes = [\"...\"]: what URLs begin with".to_owned();
            return Err(self.at_key("schemes", reason));
        }
        Ok(())
    }

    /// An error about a key: at its line, or at the first where it is missing.
    fn at_key(&self, key: &str, reason: String) -> DescriptorError {
        let is_key = |line: &str| {
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        let line = self.text.lines().position(is_key).map_or(1, |line| line + 1);
        DescriptorError { file: self.file.to_owned(), line, reason }
    }

    fn error(&self, span: Range<usize>, reason: String) -> DescriptorError {
        let before = &self.text[..span.start.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        DescriptorError { file: self.file.to_owned(), line, reason }
    }
}
