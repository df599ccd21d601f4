//! When the snapshots of transactions may have been taken.
//!
//! Idea: a transaction's snapshot is that of its first statement that looks at rows. Where a vendor documents that it
//! is taken as late as possible, a first statement that waits may take it at its beginning or after any commit until
//! its end; which of them it was shows only in what the statements did. So every choice is followed.

use anchorite_claims::WriteView;

use crate::evidence::transactions::{Performed, Transaction};

/// More choices than this are not followed, and the run is not judged.
const MOST_CHOICES: usize = 32;

/// Every choice of snapshots, a moment for each of the transactions; `None` = there are too many.
pub(super) fn choices(committed: &[&Transaction<'_>], sees: WriteView) -> Option<Vec<Vec<usize>>> {
    let mut choices = vec![Vec::new()];
    for transaction in committed {
        let moments = match transaction.first_look() {
            Some(first) if sees == WriteView::LateSnapshot => late(first, committed),
            Some(first) => vec![first.start],
            None => vec![transaction.began],
        };
        let extended = choices.iter().flat_map(|chosen: &Vec<usize>| {
            moments.iter().map(move |moment| chosen.iter().copied().chain([*moment]).collect())
        });
        choices = extended.collect();
        if choices.len() > MOST_CHOICES {
            return None;
        }
    }
    Some(choices)
}

/// The beginning of a statement, and the commits while it ran.
fn late(first: &Performed<'_>, committed: &[&Transaction<'_>]) -> Vec<usize> {
    let commits = committed.iter().map(|other| other.ended);
    let mut moments: Vec<usize> =
        commits.filter(|moment| (first.start..first.end).contains(moment)).collect();
    moments.sort_unstable();
    moments.insert(0, first.start);
    moments
}
