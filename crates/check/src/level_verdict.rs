//! What can be said about a level.

/// What can be said about a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LevelVerdict {
    /// The history satisfies it.
    Holds,
    /// The history does not satisfy it.
    Fails,
    /// It cannot be decided, and why.
    Unknown(String),
}

impl LevelVerdict {
    /// Holds or fails.
    pub fn of(holds: bool) -> LevelVerdict {
        if holds { LevelVerdict::Holds } else { LevelVerdict::Fails }
    }
}
