//! The header lines of a case that carry conditions, and what can be wrong with them.
//!
//! Assumption: the model keeps header lines that it does not know in order, as key and value.

use anchorite_model::Case;

use crate::header::condition::Condition;

/// Why a header line of a case is not a condition, or not one of this case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// The text does not follow the grammar.
    #[error("case {case}: -- {key}: {text}: column {column}: expected {expected}, found {found}")]
    Syntax {
        /// The case's name; empty while the text is read on its own.
        case: String,
        /// The header line's key; empty while the text is read on its own.
        key: String,
        /// The value of the header line.
        text: String,
        /// Where in the value, 1-based, in characters.
        column: usize,
        /// What was expected there.
        expected: String,
        /// What was found there.
        found: String,
    },
    /// The text is well formed but does not fit the case.
    #[error("case {case}: -- {key}: {text}: {reason}")]
    Misfit {
        /// The case's name.
        case: String,
        /// The header line's key.
        key: String,
        /// The value of the header line.
        text: String,
        /// Why not.
        reason: String,
    },
    /// The case lacks a line that it must have.
    #[error("case {case}: it has no '-- {key}:' line")]
    Missing {
        /// The case's name.
        case: String,
        /// The key of the line.
        key: String,
    },
}

impl ConditionError {
    /// The same error, saying which line of which case it is about.
    #[must_use]
    pub fn of(mut self, case_name: &str, header_key: &str) -> Self {
        let (Self::Syntax { case, key, .. }
        | Self::Misfit { case, key, .. }
        | Self::Missing { case, key }) = &mut self;
        case_name.clone_into(case);
        header_key.clone_into(key);
        self
    }
}

/// The conditions of all `-- shows:` lines, each checked against the case.
pub fn shows(case: &Case) -> Result<Vec<Condition>, ConditionError> {
    values(case, "shows").map(|text| fitting(case, "shows", text)).collect()
}

/// The values of all header lines with this key.
pub fn values<'a>(case: &'a Case, key: &'a str) -> impl Iterator<Item = &'a str> {
    case.header.other.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
}

/// The error of a line that is well formed but does not fit.
pub fn misfit(case: &Case, key: &str, text: &str, reason: String) -> ConditionError {
    ConditionError::Misfit {
        case: case.name.clone(),
        key: key.to_owned(),
        text: text.to_owned(),
        reason,
    }
}

/// Reads a condition and checks that the case has what it refers to.
pub fn fitting(case: &Case, key: &str, text: &str) -> Result<Condition, ConditionError> {
    let condition: Condition =
        text.parse().map_err(|error: ConditionError| error.of(&case.name, key))?;
    match condition.misfit(case) {
        None => Ok(condition),
        Some(reason) => Err(ConditionError::Misfit {
            case: case.name.clone(),
            key: key.to_owned(),
            text: text.to_owned(),
            reason,
        }),
    }
}
