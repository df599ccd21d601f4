//! What the page's lanes and the separate picture have in common: which statement waits, until when, and for whom.

use anchorite_model::{Blocker, Event, Outcome};

use crate::entries::Entry;

/// Lanes beyond this many share colours.
pub(crate) const COLOURS: usize = 6;

/// Whether the entry begins or continues a wait.
pub(crate) fn waits(entry: &Entry<'_>) -> bool {
    entry.event().is_some_and(|event| matches!(event.outcome, Outcome::Blocked { .. }))
}

/// The entry with which a wait ends, and whether something queues meanwhile.
pub(crate) fn wait_end(entries: &[Entry<'_>], i: usize) -> (Option<usize>, bool) {
    let entry = &entries[i];
    let next = entries[i + 1..].iter().position(|other| other.n == entry.n).map(|at| i + 1 + at);
    let meanwhile = &entries[i + 1..next.unwrap_or(entries.len())];
    (next, meanwhile.iter().any(|other| other.session == entry.session))
}

/// Whom the statement waits for, if it is a session of the case.
pub(crate) fn blocking_session(event: &Event) -> Option<usize> {
    let Outcome::Blocked { by, .. } = &event.outcome else { return None };
    by.iter().find_map(|blocker| match blocker {
        Blocker::Session(session) => Some(*session),
        Blocker::Outside(_) | Blocker::Prepared(_) => None,
    })
}
