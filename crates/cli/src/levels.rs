//! `--level`: which levels to run at.

use std::str::FromStr;

use anchorite_drivers::{Target, TargetError};
use anchorite_model::Level;
use anchorite_model::level::UnknownLevel;

/// One `--level` argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelChoice {
    /// The target's own default.
    Default,
    /// Every level that the target has.
    All,
    /// This one.
    One(Level),
}

impl FromStr for LevelChoice {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_lowercase().as_str() {
            "default" => Ok(Self::Default),
            "all" => Ok(Self::All),
            _ => text.parse().map(Self::One),
        }
    }
}

/// The levels to set, in order; `None` = keep that of the case or the target. A level that the target does not have is
/// a usage error, reported before anything runs.
pub fn chosen(
    choices: &[LevelChoice],
    target: &dyn Target,
) -> Result<Vec<Option<Level>>, TargetError> {
    let available = target.levels();
    let mut levels = Vec::new();
    for choice in choices {
        match choice {
            LevelChoice::Default => levels.push(None),
            LevelChoice::All => levels.extend(available.iter().copied().map(Some)),
            LevelChoice::One(level) if available.contains(level) => levels.push(Some(*level)),
            LevelChoice::One(level) => {
                return Err(TargetError::unsupported(target.info(), *level, available));
            }
        }
    }
    if levels.is_empty() {
        levels.push(None);
    }
    Ok(levels)
}
