//! Whether random cases find a bug of the collection again, and if not, what they lack.
//!
//! ```text
//! -- rediscovered: mariadb 10.11.18 rc: hunt --oracle views    there, by this command
//! -- missing: generator: statements that call procedures       what no generated case has
//! -- missing: oracle: …                                        what nothing judges
//! ```
//!
//! Idea: a share of bugs that are found is worth something only if the others say why they are not. Source: hunts with
//! `--known none` and runs of stress on private servers. Blind spot: a generator that changes makes other cases of the
//! same seed; the line says that the bug was found, not that this seed finds it for ever.

use anchorite_model::Case;

use crate::header::lines::{ConditionError, misfit, values};
use crate::header::measurements::ProductLevels;

/// Where generated transactions found the bug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rediscovered {
    /// On which releases, at which levels.
    pub places: Vec<ProductLevels>,
    /// The same in the words of the header.
    pub at: String,
    /// By which command: `hunt` or `stress`, and its options.
    pub by: String,
}

/// A part of Anchorite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What makes cases.
    Generator,
    /// What judges them.
    Oracle,
}

impl Part {
    /// The word of headers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Oracle => "oracle",
        }
    }
}

/// What is not there, so that the bug is not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The part that lacks it.
    pub part: Part,
    /// What it lacks.
    pub what: String,
}

/// The `rediscovered` lines of a header.
pub(super) fn found(case: &Case) -> Result<Vec<Rediscovered>, ConditionError> {
    let read =
        |text| rediscovered(text).map_err(|reason| misfit(case, "rediscovered", text, reason));
    values(case, "rediscovered").map(read).collect()
}

fn rediscovered(text: &str) -> Result<Rediscovered, String> {
    let (places, by) = text.split_once(": ").ok_or("expected PLACES: COMMAND")?;
    let by = by.trim();
    if !["hunt", "stress"].iter().any(|word| by.split(' ').next() == Some(word)) {
        return Err(format!("'{by}' does not begin with hunt or stress"));
    }
    let at = places.to_owned();
    Ok(Rediscovered { places: ProductLevels::parse_list(places)?, at, by: by.to_owned() })
}

/// The `missing` lines of a header.
pub(super) fn missing(case: &Case) -> Result<Vec<Missing>, ConditionError> {
    let read = |text| lacking(text).map_err(|reason| misfit(case, "missing", text, reason));
    values(case, "missing").map(read).collect()
}

fn lacking(text: &str) -> Result<Missing, String> {
    let of = |part: Part| Some((part, text.strip_prefix(part.name())?.strip_prefix(": ")?));
    let found = [Part::Generator, Part::Oracle].into_iter().find_map(of);
    let (part, what) = found.ok_or("expected generator: WHAT, or oracle: WHAT")?;
    Ok(Missing { part, what: what.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchorite_model::Level;

    fn case(header: &str) -> Case {
        Case::parse("b", &format!("{header}\n/* t1 */ SELECT 1;\n")).expect("a case")
    }

    #[test]
    fn a_line_names_places_and_a_command() {
        let case = case("-- rediscovered: mariadb 10.11.18 ru rc: hunt --seed 1");
        let found = found(&case).expect("readable");
        assert_eq!(found[0].by, "hunt --seed 1");
        let levels = found[0].places[0].levels.as_deref();
        assert_eq!(levels, Some(&[Level::ReadUncommitted, Level::ReadCommitted][..]));
    }

    #[test]
    fn a_line_says_what_is_lacking() {
        let case = case("-- missing: generator: procedures\n-- missing: oracle: needless waits");
        let missing = missing(&case).expect("readable");
        let told: Vec<_> = missing.iter().map(|m| (m.part.name(), m.what.as_str())).collect();
        assert_eq!(told, [("generator", "procedures"), ("oracle", "needless waits")]);
    }

    #[test]
    fn other_lines_are_refused() {
        for bad in ["mariadb rc hunt", "mariadb rc: by hand", "mariadb: hunt"] {
            assert!(found(&case(&format!("-- rediscovered: {bad}"))).is_err(), "{bad}");
        }
        assert!(missing(&case("-- missing: time")).is_err());
    }
}
