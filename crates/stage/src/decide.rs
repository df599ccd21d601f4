//! Blocked, or still moving? The rule, as a pure function of what the server said.
//!
//! A look at the server is *stable* when every outstanding statement waits for a lock and following the waits-for edges
//! leads only to idle sessions of the case: an idle session does nothing until we submit something, so nothing can
//! change by itself. A cycle means that the server's deadlock error is about to arrive. An edge to a connection that is
//! not ours may vanish at any moment.
//!
//! Assumption: a waiter needs *all* of its blockers to go away, which holds for lock queues.

use std::collections::{HashMap, HashSet};

use anchorite_drivers::{ConnectionId, Wait};

/// What one look at the server means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// These outstanding statements are not waiting for a lock: their answers will arrive.
    Moving(Vec<ConnectionId>),
    /// All wait, and some for each other: one of these will get an error.
    Cycle(Vec<ConnectionId>),
    /// All wait, and some for these connections outside the case.
    Outsiders(Vec<ConnectionId>),
    /// All wait, and nothing will change until we submit something.
    Stable,
}

/// Judges one look. `outstanding` are the connections with an unanswered statement, `idle` those without.
pub fn judge(outstanding: &[ConnectionId], idle: &HashSet<ConnectionId>, waits: &[Wait]) -> Look {
    let edges: HashMap<ConnectionId, &[ConnectionId]> =
        waits.iter().map(|wait| (wait.waiter, wait.blockers.as_deref().unwrap_or(&[]))).collect();
    let moving: Vec<ConnectionId> =
        outstanding.iter().copied().filter(|id| !edges.contains_key(id)).collect();
    if !moving.is_empty() {
        return Look::Moving(moving);
    }
    let cycle: Vec<ConnectionId> =
        outstanding.iter().copied().filter(|id| reaches_itself(*id, &edges)).collect();
    if !cycle.is_empty() {
        return Look::Cycle(cycle);
    }
    let mut outsiders: Vec<ConnectionId> = outstanding
        .iter()
        .flat_map(|id| edges[id])
        .copied()
        .filter(|blocker| !idle.contains(blocker) && !edges.contains_key(blocker))
        .collect();
    outsiders.sort_unstable();
    outsiders.dedup();
    if outsiders.is_empty() { Look::Stable } else { Look::Outsiders(outsiders) }
}

fn reaches_itself(start: ConnectionId, edges: &HashMap<ConnectionId, &[ConnectionId]>) -> bool {
    let mut seen = HashSet::new();
    let mut next: Vec<ConnectionId> = edges[&start].to_vec();
    while let Some(id) = next.pop() {
        if id == start {
            return true;
        }
        if seen.insert(id) {
            next.extend(edges.get(&id).into_iter().copied().flatten());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(outstanding: &[u64], idle: &[u64], waits: &[(u64, Option<&[u64]>)]) -> Look {
        let waits: Vec<Wait> = waits
            .iter()
            .map(|(waiter, blockers)| Wait {
                waiter: *waiter,
                blockers: blockers.map(<[u64]>::to_vec),
                kind: String::new(),
            })
            .collect();
        judge(outstanding, &idle.iter().copied().collect(), &waits)
    }

    #[test]
    fn a_statement_that_does_not_wait_is_moving() {
        assert_eq!(look(&[1, 2], &[3], &[(1, Some(&[3]))]), Look::Moving(vec![2]));
    }

    #[test]
    fn a_chain_to_an_idle_session_is_stable() {
        assert_eq!(look(&[1, 2], &[3], &[(1, Some(&[3])), (2, Some(&[1, 3]))]), Look::Stable);
        assert_eq!(look(&[1], &[3], &[(1, None)]), Look::Stable);
    }

    #[test]
    fn a_cycle_names_only_its_members() {
        let waits: &[(u64, Option<&[u64]>)] =
            &[(1, Some(&[2])), (2, Some(&[3])), (3, Some(&[1])), (4, Some(&[1]))];
        assert_eq!(look(&[1, 2, 3, 4], &[], waits), Look::Cycle(vec![1, 2, 3]));
    }

    #[test]
    fn a_blocker_that_is_none_of_ours_is_an_outsider() {
        assert_eq!(look(&[1], &[3], &[(1, Some(&[9]))]), Look::Outsiders(vec![9]));
        // A blocker that is itself outstanding but not waiting makes the whole look unstable.
        assert_eq!(look(&[1, 2], &[3], &[(1, Some(&[2]))]), Look::Moving(vec![2]));
    }
}
