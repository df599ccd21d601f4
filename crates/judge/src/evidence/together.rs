//! Statements that were set free at once.
//!
//! Idea: a COMMIT may release several statements, and the order of their answers does not show which of them did its
//! work first. So every order is followed, as if they had been answered in it.

use anchorite_model::sql::StatementKind;
use anchorite_model::{Event, Outcome, Run};

use super::orders::Submissions;
use super::transactions::Transaction;

/// More orders than this are not followed.
const MOST_ORDERS: usize = 24;

/// The transactions with each order in which statements that were answered together may have done their work, the
/// observed one first; `None` = there are too many.
pub fn alternatives<'r>(
    run: &'r Run,
    transactions: &[Transaction<'r>],
) -> Option<Vec<Vec<Transaction<'r>>>> {
    let mut all = vec![transactions.to_vec()];
    for group in groups(run) {
        let orders = permutations(&group);
        if all.len() * orders.len() > MOST_ORDERS {
            return None;
        }
        let with = |known: &Vec<Transaction<'r>>| {
            orders.iter().map(|order| answered_in(known, &group, order)).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    Some(all)
}

/// The moments of answers that belong to one submission, except for that of a COMMIT or ROLLBACK that released them.
fn groups(run: &Run) -> Vec<Vec<usize>> {
    let submissions = Submissions::of(run);
    let did_work = |event: &&Event| match &event.outcome {
        Outcome::Resumed(_) => true,
        Outcome::Ok(_) => !StatementKind::of(&event.sql).ends_transaction(),
        // An error that ends a transaction lets go of what others wait for.
        Outcome::Error(error) => error.transaction_gone,
        Outcome::Blocked { .. } | Outcome::Skipped { .. } => false,
    };
    let mut moments: Vec<usize> =
        run.events.iter().filter(did_work).filter_map(|event| event.answered).collect();
    moments.sort_unstable();
    let same = |a: &usize, b: &usize| submissions.before(*a) == submissions.before(*b);
    moments.chunk_by(same).filter(|group| group.len() > 1).map(<[usize]>::to_vec).collect()
}

/// All orders of some things.
pub fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let shorter = permutations(rest);
    let insert = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, *first);
        order
    };
    let places = |order: Vec<usize>| (0..=order.len()).map(move |at| insert(&order, at));
    shorter.into_iter().flat_map(places).collect()
}

/// The transactions as if what was answered at the moments of `order` had been answered at those of `group`.
fn answered_in<'r>(
    transactions: &[Transaction<'r>],
    group: &[usize],
    order: &[usize],
) -> Vec<Transaction<'r>> {
    let moved = |moment: usize| {
        order.iter().position(|known| *known == moment).map_or(moment, |at| group[at])
    };
    let mut transactions = transactions.to_vec();
    for transaction in &mut transactions {
        transaction.ended = moved(transaction.ended);
        for statement in &mut transaction.statements {
            statement.end = moved(statement.end);
        }
    }
    transactions
}
