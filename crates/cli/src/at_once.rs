//! Cases run several at once on one target; the order of results does not depend on timing.
//!
//! Idea: each case has its own schema, so they do not interfere. Some things are shared by the whole server (names of
//! advisory locks, CREATE INDEX CONCURRENTLY, which waits for everybody), so a case that uses them says `-- alone:` in
//! its header, and runs after the others.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anchorite_model::Case;

/// Does the work of each case, given by its place in the list. Work that says `true` is the last that is begun; what
/// was not begun then has no result.
pub fn at_once<T: Send>(
    cases: &[&Case],
    jobs: NonZeroUsize,
    work: &(dyn Fn(usize) -> (T, bool) + Sync),
) -> Vec<Option<T>> {
    let results: Vec<Mutex<Option<T>>> = cases.iter().map(|_| Mutex::default()).collect();
    let (alone, together): (Vec<usize>, Vec<usize>) =
        (0..cases.len()).partition(|index| needs_to_be_alone(cases[*index]));
    let is_over = AtomicBool::new(false);
    for (indices, at_once) in [(together, jobs.get()), (alone, 1)] {
        let next = AtomicUsize::new(0);
        let worker = || {
            while let Some(index) = indices.get(next.fetch_add(1, Ordering::Relaxed)) {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let (result, ends) = work(*index);
                if ends {
                    is_over.store(true, Ordering::Relaxed);
                }
                *results[*index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        };
        std::thread::scope(|scope| {
            (1..at_once.min(indices.len())).for_each(|_| drop(scope.spawn(worker)));
            worker();
        });
    }
    let unlocked =
        |result: Mutex<Option<T>>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().map(unlocked).collect()
}

/// Whether a case must not run alongside others on the same server: its `-- alone:` line says why.
fn needs_to_be_alone(case: &Case) -> bool {
    case.header.other.iter().any(|(key, _)| key == "alone")
}
