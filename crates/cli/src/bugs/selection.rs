//! Which bugs: a regular expression and filters.

use anchorite_judge::BugKind;
use anchorite_model::Product;
use anchorite_report::bugs::{Bug, Status};
use clap::Args;
use regex::{Regex, RegexBuilder};

use crate::exit::BadInput;
use crate::levels::LevelChoice;

/// A regular expression may not become larger than this when it is compiled.
const PATTERN_SIZE_MAX: usize = 1 << 20;

/// The bugs that a command is about.
#[derive(Debug, Args)]
pub struct Selection {
    /// A regular expression that a bug's name, another of its names, or its title contains; default: every bug
    pattern: Option<String>,
    /// Only bugs whose case is written for this product; repeatable
    #[arg(long, value_name = "PRODUCT")]
    product: Vec<Product>,
    /// Only bugs of this kind: isolation, serializability, transactional-logic, locking, crash or
    /// not-transactional; repeatable
    #[arg(long, value_name = "KIND")]
    kind: Vec<BugKind>,
    /// Only bugs with this status: live, gone, documented, unseen; repeatable
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<Status>,
    /// Only bugs of this level, and, where bugs are run, only at this level: ru, rc, rr, si, ser; repeatable
    #[arg(long = "level", value_name = "LEVEL")]
    pub level: Vec<LevelChoice>,
}

fn status(text: &str) -> Result<Status, String> {
    let known = Status::ALL.into_iter().find(|status| status.name() == text);
    let names = || Status::ALL.map(Status::name).join(", ");
    known.ok_or_else(|| format!("expected one of {}", names()))
}

impl Selection {
    /// The bugs that fit; none is a mistake.
    pub fn of<'b>(&self, all: &'b [Bug]) -> Result<Vec<&'b Bug>, BadInput> {
        let pattern = self.pattern.as_deref().map(compiled).transpose()?;
        let fits = |bug: &&Bug| {
            pattern.as_ref().is_none_or(|pattern| is_named(bug, pattern)) && self.fits(bug)
        };
        let chosen: Vec<&Bug> = all.iter().filter(fits).collect();
        match chosen.is_empty() {
            true => Err(BadInput("no bug of the collection fits".to_owned())),
            false => Ok(chosen),
        }
    }

    fn fits(&self, bug: &Bug) -> bool {
        let level = |choice: &LevelChoice| match choice {
            LevelChoice::All | LevelChoice::Default => true,
            LevelChoice::One(level) => bug.concerns(*level),
        };
        let any = |is_empty: bool, fits: bool| is_empty || fits;
        any(self.product.is_empty(), self.product.iter().any(|product| bug.is_for(*product)))
            && any(self.kind.is_empty(), self.kind.contains(&bug.lines.kind))
            && any(self.status.is_empty(), self.status.contains(&bug.status()))
            && any(self.level.is_empty(), self.level.iter().any(level))
    }
}

/// The bug of this name, else those that the expression fits.
pub fn named<'b>(pattern: &str, all: &'b [Bug]) -> Result<Vec<&'b Bug>, BadInput> {
    if let Some(bug) = all.iter().find(|bug| bug.id().eq_ignore_ascii_case(pattern)) {
        return Ok(vec![bug]);
    }
    let expression = compiled(pattern)?;
    let chosen: Vec<&Bug> = all.iter().filter(|bug| is_named(bug, &expression)).collect();
    match chosen.is_empty() {
        true => Err(BadInput(format!("no bug of the collection is called '{pattern}'"))),
        false => Ok(chosen),
    }
}

fn compiled(pattern: &str) -> Result<Regex, BadInput> {
    let mut builder = RegexBuilder::new(pattern);
    let expression = builder.case_insensitive(true).size_limit(PATTERN_SIZE_MAX).build();
    expression.map_err(|error| BadInput(format!("'{pattern}' is no regular expression: {error}")))
}

fn is_named(bug: &Bug, pattern: &Regex) -> bool {
    let mut names =
        [bug.id(), bug.title()].into_iter().chain(bug.lines.also.iter().map(String::as_str));
    names.any(|name| pattern.is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{FromArgMatches, Parser};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        selection: Selection,
    }

    fn chosen(words: &[&str]) -> Result<Vec<String>, BadInput> {
        let words = ["bugs"].into_iter().chain(words.iter().copied());
        let matches = <Line as clap::CommandFactory>::command().get_matches_from(words);
        let line = Line::from_arg_matches(&matches).expect("good arguments");
        let all = super::super::collection::bugs().expect("the collection");
        Ok(line.selection.of(&all)?.iter().map(|bug| bug.id().to_owned()).collect())
    }

    #[test]
    fn filters_and_patterns_narrow_the_list() {
        let names = chosen(&["^mdev-2799"]).expect("two bugs");
        assert_eq!(names, ["MDEV-27992", "MDEV-27992-uncommitted"]);
        assert_eq!(chosen(&["TIDB-34110"]).expect("by another name"), ["MYSQL-107066"]);
        let locking = chosen(&["--kind", "locking", "--product", "tidb"]).expect("some");
        assert!(locking.contains(&"TIDB-37653".to_owned()), "{locking:?}");
        assert!(!locking.contains(&"MDEV-18044".to_owned()), "{locking:?}");
        let live = chosen(&["--status", "live", "--level", "rc"]).expect("some");
        assert!(live.contains(&"MDEV-27992".to_owned()), "{live:?}");
        assert!(chosen(&["no such bug"]).is_err());
        assert!(chosen(&["(["]).is_err());
    }
}
