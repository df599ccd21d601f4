//! Where cases run fast: reused tables on the target, and on the second target, if there is one.

use anchorite_drivers::Target;
use anchorite_model::Pair;
use anchorite_stage::{Arena, RunOptions, StageError};

/// Reused tables on one target or two.
pub(super) struct Arenas<'t> {
    first: Arena<'t>,
    second: Option<Arena<'t>>,
}

impl<'t> Arenas<'t> {
    pub(super) fn new(
        target: &'t dyn Target,
        second: Option<&'t dyn Target>,
        options: &RunOptions,
    ) -> Result<Self, StageError> {
        let second = second.map(|second| Arena::new(second, options.clone())).transpose()?;
        Ok(Self { first: Arena::new(target, options.clone())?, second })
    }

    /// Both as one runner.
    pub(super) fn pair(&mut self) -> Pair<'_> {
        Pair::new(&mut self.first, self.second.as_mut())
    }
}
