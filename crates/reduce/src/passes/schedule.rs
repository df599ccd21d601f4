//! The schedule: as few switches between sessions as possible, transactions that begin late and end early.

use crate::draft::Draft;
use crate::search::{Search, Stop};

/// Moves single steps to their neighbours in the same session where that saves switches.
pub(super) fn calm(search: &mut Search<'_, '_>) -> Result<(), Stop> {
    loop {
        let taken = search.taken;
        for at in 0..search.best.lines.len() {
            for to in [behind_previous(&search.best, at), before_next(&search.best, at)] {
                if let Some(to) = to.filter(|to| *to != at) {
                    let mut candidate = search.best.clone();
                    let line = candidate.lines.remove(at);
                    candidate.lines.insert(to, line);
                    if search.offer(candidate)? {
                        break;
                    }
                }
            }
        }
        if search.taken == taken {
            return Ok(());
        }
    }
}

/// The position right after the previous step of its session; the beginning if it is the first.
fn behind_previous(draft: &Draft, at: usize) -> Option<usize> {
    let session = draft.lines[at].session;
    let previous = draft.lines[..at].iter().rposition(|line| line.session == session);
    Some(previous.map_or(0, |previous| previous + 1))
}

/// The position right before the next step of its session.
fn before_next(draft: &Draft, at: usize) -> Option<usize> {
    let session = draft.lines[at].session;
    let next = draft.lines[at + 1..].iter().position(|line| line.session == session)?;
    Some(at + next)
}
