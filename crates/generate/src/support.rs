//! What a target rejects, as a small text file per target.
//!
//! Idea: the generator's grammar is a base that every product understands, plus options that have names
//! ([`crate::feature`]). A [`Support`] lists the names that a target rejects, one per line; everything else is used.
//! Names that are no longer known are kept, so that an old file stays readable.

use std::collections::BTreeSet;
use std::fmt;

/// The names of the options that a target rejects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Support {
    rejected: BTreeSet<String>,
}

impl Support {
    /// Rejects these and accepts everything else.
    pub fn without<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { rejected: names.into_iter().map(str::to_owned).collect() }
    }

    /// Whether the option may be used.
    pub fn has(&self, name: &str) -> bool {
        !self.rejected.contains(name)
    }

    /// The rejected names, sorted.
    pub fn rejected(&self) -> impl Iterator<Item = &str> {
        self.rejected.iter().map(String::as_str)
    }

    /// Reads what [`Support`] prints: one name per line, `#` begins a remark.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        Self::without(lines.filter(|line| !line.is_empty()))
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# What the target rejects, one name per line.")?;
        self.rejected.iter().try_for_each(|name| writeln!(f, "{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_read() {
        let support = Support::without(["replace", "for-share"]);
        assert_eq!(Support::parse(&support.to_string()), support);
        assert!(!support.has("replace") && support.has("for-update"));
        assert_eq!(Support::parse("  replace # no\n\n"), Support::without(["replace"]));
    }
}
