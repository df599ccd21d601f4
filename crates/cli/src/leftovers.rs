//! What killed runs, or runs that lost their server, left on a target: the next command there removes it.
//!
//! Only what carries our mark is considered, and only what belongs to a process that has certainly ended is removed
//! automatically. Everything else is left to `anchorite clean`.

use anchorite_drivers::{Marked, Owner, Target};

use crate::output::tell;

/// What happened to the leftovers.
#[derive(Debug, Default)]
pub struct Swept {
    /// Those that were removed.
    pub removed: Vec<Marked>,
    /// Those that could not be, with the reason.
    pub left: Vec<(Marked, String)>,
}

impl Swept {
    /// `46 databases`; `None` if nothing was removed.
    pub fn removed_told(&self) -> Option<String> {
        let (count, kind) = (self.removed.len(), self.removed.first()?.kind.name());
        Some(format!("{count} {kind}{}", if count == 1 { "" } else { "s" }))
    }
}

/// Removes everything with our mark for which `is_wanted` holds. A server that cannot be asked has no leftovers.
pub fn sweep(target: &dyn Target, is_wanted: impl Fn(&Marked) -> bool) -> Swept {
    let mut swept = Swept::default();
    for marked in target.marked().unwrap_or_default().into_iter().filter(is_wanted) {
        match target.remove_marked(&marked) {
            Ok(()) => swept.removed.push(marked),
            Err(error) => swept.left.push((marked, error.to_string())),
        }
    }
    swept
}

/// Removes what runs that have ended left, and says so.
pub fn sweep_ended(target: &dyn Target) {
    let swept = sweep(target, |marked| marked.owner == Owner::Ended);
    if let Some(removed) = swept.removed_told() {
        tell(&format!("removed {removed} that earlier runs had left on {}", target.info()));
    }
    if let Some((marked, error)) = swept.left.first() {
        let (count, name) = (swept.left.len(), &marked.name);
        tell(&format!(
            "leftovers of earlier runs could not be removed ({count}), such as {name}: {error}"
        ));
    }
}
