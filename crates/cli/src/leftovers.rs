//! What runs that were killed, or that lost their server, have left on a target: removed by the next command there.
//!
//! Only what carries our mark is looked at, and only what belongs to a process that has ended beyond doubt is removed
//! without being asked. Everything else is for `anchorite clean`.

use anchorite_drivers::{Marked, Owner, Target};

use crate::output::tell;

/// What became of leftovers.
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

/// Removes everything with our mark whose owner is as wanted. A server that cannot be asked has nothing to tell.
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
            "{count} that earlier runs left could not be removed, such as {name}: {error}"
        ));
    }
}
