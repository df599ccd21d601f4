//! Random orders in which the statements of several sessions are submitted.
//!
//! Idea: in a uniform merge most transactions miss each other, so in half of the orders all transactions begin early
//! and end late; some run one transaction between two statements of another.

use crate::Weights;
use crate::random::Random;

/// The session of each step. `lengths` are the sessions' numbers of statements; `explicit` says which sessions have
/// statements that begin and end their transaction.
pub(crate) fn any_order(
    weights: &Weights,
    random: &mut Random,
    lengths: &[usize],
    explicit: &[bool],
) -> Vec<usize> {
    let weights = &weights.schedule;
    let form = random.weighted(&[
        (weights.uniform, "uniform"),
        (weights.open_together, "together"),
        (weights.nested, "nested"),
    ]);
    match form {
        "together" => open_together(random, lengths, explicit),
        "nested" => nested(random, lengths),
        _ => uniform(random, lengths),
    }
}

/// Every merge is equally likely.
fn uniform(random: &mut Random, lengths: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> =
        lengths.iter().enumerate().flat_map(|(session, length)| vec![session; *length]).collect();
    random.shuffle(&mut order);
    order
}

/// All BEGINs, then everything else, then all COMMITs.
fn open_together(random: &mut Random, lengths: &[usize], explicit: &[bool]) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..lengths.len()).filter(|session| explicit[*session]).collect();
    let middle: Vec<usize> = lengths
        .iter()
        .zip(explicit)
        .map(|(length, explicit)| if *explicit { length - 2 } else { *length })
        .collect();
    random.shuffle(&mut ends);
    let mut order = ends.clone();
    order.extend(uniform(random, &middle));
    random.shuffle(&mut ends);
    order.extend(ends);
    order
}

/// One session runs without interruption somewhere inside the merge of the others.
fn nested(random: &mut Random, lengths: &[usize]) -> Vec<usize> {
    let inner = random.below(lengths.len());
    let mut others = lengths.to_vec();
    others[inner] = 0;
    let mut order = uniform(random, &others);
    let place = random.below(order.len() + 1);
    order.splice(place..place, vec![inner; lengths[inner]]);
    order
}

/// Merges further sessions into a fixed order.
pub(crate) fn merge(random: &mut Random, order: Vec<usize>, more: Vec<usize>) -> Vec<usize> {
    let (mut left, mut right) = (order.into_iter().peekable(), more.into_iter().peekable());
    let mut merged = Vec::new();
    while left.peek().is_some() || right.peek().is_some() {
        let takes_left = random.below(left.len() + right.len()) < left.len();
        merged.extend(if takes_left { left.next() } else { right.next() });
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn every_order_has_every_statement() {
        let mut random = Random::new(1, Purpose::Play, 1);
        let weights = Weights::default();
        for _ in 0..200 {
            let mut order = any_order(&weights, &mut random, &[4, 1, 3], &[true, false, true]);
            order.sort_unstable();
            assert_eq!(order, [0, 0, 0, 0, 1, 2, 2, 2]);
        }
    }

    #[test]
    fn a_merge_keeps_both_orders() {
        let mut random = Random::new(1, Purpose::Play, 1);
        let merged = merge(&mut random, vec![0, 1, 0, 1], vec![3, 2, 2, 3]);
        let part = |low: usize| -> Vec<usize> {
            merged.iter().copied().filter(|session| *session / 2 == low).collect()
        };
        assert_eq!((part(0), part(1)), (vec![0, 1, 0, 1], vec![3, 2, 2, 3]));
    }
}
