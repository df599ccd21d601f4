//! The serial orders that may explain a run.
//!
//! Idea: a serial order must keep each session's order, and what was finished before something else began. Where
//! the claim says that everything a write looks at stays locked until the end, the writers' order is that of
//! their commits. Transactions that only read may stand anywhere between, unless what they read stays locked too.
//! Autocommit statements that one COMMIT set free at the same moment answer in an order that says nothing
//! about who came first, so both orders count.

use std::collections::HashSet;

use anchorite_claims::{ReadPlace, SerialOrder, WriteClaims};
use anchorite_model::{Event, Outcome, Run};

use super::transactions::Transaction;

/// More orders than this are not tried (five transactions have at most 120).
pub const MOST_ORDERS: usize = 120;

/// The orders, as lists of indices, nearest to the order of the ends first; and whether these are all.
pub fn orders(
    run: &Run,
    transactions: &[&Transaction<'_>],
    claims: &WriteClaims,
    is_free: &dyn Fn(&Transaction<'_>) -> bool,
) -> (Vec<Vec<usize>>, bool) {
    let count = transactions.len();
    let batches = batches(run);
    let holds_locks = |transaction: &Transaction<'_>| {
        transaction.is_writer()
            || (claims.reads == ReadPlace::Locked && transaction.begin.is_some())
    };
    let must_precede = |a: usize, b: usize| {
        let (first, second) = (transactions[a], transactions[b]);
        let sequential = first.ended < second.began
            || (first.session == second.session && first.ended < second.ended);
        let by_commit = claims.order == SerialOrder::Commit
            && holds_locks(first)
            && holds_locks(second)
            && first.ended < second.ended
            && !is_free(second)
            && batches.get(first.ended) != batches.get(second.ended);
        sequential || by_commit
    };
    let predecessors: Vec<Vec<usize>> = (0..count)
        .map(|b| (0..count).filter(|&a| a != b && must_precede(a, b)).collect())
        .collect();
    let mut found = Vec::new();
    let complete = extend(&predecessors, &mut Vec::new(), &mut found);
    (found, complete)
}

/// All linear extensions, depth first; false if there are too many.
fn extend(
    predecessors: &[Vec<usize>],
    prefix: &mut Vec<usize>,
    found: &mut Vec<Vec<usize>>,
) -> bool {
    if prefix.len() == predecessors.len() {
        found.push(prefix.clone());
        return true;
    }
    for next in 0..predecessors.len() {
        let ready = !prefix.contains(&next)
            && predecessors[next].iter().all(|before| prefix.contains(before));
        if ready {
            if found.len() >= MOST_ORDERS {
                return false;
            }
            prefix.push(next);
            let complete = extend(predecessors, prefix, found);
            prefix.pop();
            if !complete {
                return false;
            }
        }
    }
    true
}

/// For each event the number of the submission that brought it about: answers of statements that had waited
/// came because of another one.
pub fn batches(run: &Run) -> Vec<usize> {
    let mut batch = 0;
    let mut waited = HashSet::new();
    let batch_of = |event: &Event| {
        let had_waited = match event.outcome {
            Outcome::Blocked { .. } => !waited.insert(event.n),
            _ => waited.contains(&event.n),
        };
        batch += usize::from(!had_waited);
        batch
    };
    run.events.iter().map(batch_of).collect()
}
