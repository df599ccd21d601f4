//! The serial orders that may explain a run.
//!
//! Idea: a serial order must keep each session's order, and what finished before something else began must come first.
//! Where the claim says that everything a write examines stays locked until the end, the writers are in commit order.
//! Transactions that only read may be anywhere in between, unless what they read also stays locked. Autocommit
//! statements that one COMMIT released at the same moment answer in an order that does not show which came first, so
//! both orders count.

use anchorite_claims::{ReadPlace, SerialOrder, WriteClaims};
use anchorite_model::Run;

use super::transactions::Transaction;

/// The most orders that are tried (five transactions have at most 120).
pub const MOST_ORDERS: usize = 120;

/// The orders, as lists of indices, nearest to the order of the ends first; and whether these are all.
pub fn orders(
    run: &Run,
    transactions: &[&Transaction<'_>],
    claims: &WriteClaims,
    is_free: &dyn Fn(&Transaction<'_>, &Transaction<'_>) -> bool,
) -> (Vec<Vec<usize>>, bool) {
    let count = transactions.len();
    let submissions = Submissions::of(run);
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
            && !is_free(first, second)
            && submissions.before(first.ended) != submissions.before(second.ended);
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

/// The moments at which statements were sent. What is answered between two of them was caused by the first one.
pub struct Submissions(Vec<usize>);

impl Submissions {
    /// Those of a run.
    pub fn of(run: &Run) -> Self {
        let mut sent: Vec<usize> = run.events.iter().filter_map(|event| event.sent).collect();
        sent.sort_unstable();
        sent.dedup();
        Self(sent)
    }

    /// How many statements had been sent by this moment: the number of the last one.
    pub fn before(&self, moment: usize) -> usize {
        self.0.partition_point(|sent| *sent <= moment)
    }
}
