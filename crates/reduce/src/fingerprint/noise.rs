//! Which statements of a case in which a key moves only serve to make another one wait.
//!
//! Idea: a statement waits, a key moves meanwhile, and the statement misses its row. Signal is the one that waits and
//! the move. How the lock was taken for which it waits (an UPDATE, a DELETE, a failed INSERT), by whom (the one who
//! moves the key, or a third one), whether the one who moves it had to wait too, and whether the one that waits
//! would move a key itself, is noise.
//!
//! Assumption: the reducer has taken away whatever could go, so a statement that is left and moves no key is a lock.
//! Blind spot: a cause that needs both a moved key and what the lock's holder wrote looks like one that needs the
//! key alone. Statements that reach other rows (actions of foreign keys, subqueries, several tables) stay.

use std::collections::BTreeSet;

use super::Item;

/// Leaves the ones who move a key as one session, and of those who hold locks nothing.
pub(super) fn drop_mere_locks(sessions: &mut [Vec<Item>]) {
    let is_victim = |item: &Item| item.waits() && !item.moves_key();
    if sessions.iter().flatten().any(is_victim) {
        for item in sessions.iter_mut().flatten().filter(|item| item.moves_key()) {
            item.outcome.waits_for = None;
            item.words.forget_path();
        }
    }
    let waits = |items: &[Item]| items.iter().any(Item::waits);
    let free: Vec<usize> = (0..sessions.len()).filter(|at| !waits(&sessions[*at])).collect();
    let moves_key = |at: &usize| sessions[*at].iter().any(Item::moves_key);
    let somebody_waits = free.len() < sessions.len();
    let Some(mover) = free.iter().copied().find(moves_key).filter(|_| somebody_waits) else {
        return;
    };
    for at in &free {
        sessions[*at].retain(|item| !item.is_mere_lock());
    }
    let only_moves = |at: &usize| sessions[*at].iter().all(Item::moves_key);
    let movers: BTreeSet<usize> = free.iter().copied().filter(only_moves).collect();
    if movers.contains(&mover) {
        unite(sessions, &movers, mover);
        let victims = sessions.iter_mut().flatten().filter(|item| item.waits());
        victims.filter(|item| !item.words.reach_others()).for_each(|item| item.words.forget_keys());
    }
}

/// Makes one session of several.
fn unite(sessions: &mut [Vec<Item>], several: &BTreeSet<usize>, one: usize) {
    let mut items: Vec<Item> =
        several.iter().flat_map(|at| std::mem::take(&mut sessions[*at])).collect();
    items.sort_by_cached_key(|item| item.words.to_string());
    items.dedup();
    sessions[one] = items;
    let waits = sessions.iter_mut().flatten().filter_map(|item| item.outcome.waits_for.as_mut());
    for other in waits.flatten().filter(|other| several.contains(*other)) {
        *other = one;
    }
}

impl Item {
    const fn waits(&self) -> bool {
        self.outcome.waits_for.is_some()
    }

    /// Whether it moves a key, and not only tries to.
    fn moves_key(&self) -> bool {
        self.words.move_key() && self.outcome.fails.is_none()
    }

    /// Whether it touches nothing but its own rows, and moves no key.
    fn is_mere_lock(&self) -> bool {
        let locks = ["insert", "update", "delete", "replace", "locking select"];
        locks.contains(&self.kind) && !self.moves_key() && !self.words.reach_others()
    }
}
