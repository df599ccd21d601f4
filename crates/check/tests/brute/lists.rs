//! Tiny histories of lists, with transactions that were undone or may have been.
//!
//! Every key has an order in which the surviving appends took place; a read sees a beginning of it, and one that
//! follows an own append that element after it. A last transaction reads everything, so the order is known, and the
//! judge for single values applies: a list stands for its last element.

use super::compare_adya;
use super::generate::{Random, Step, Tiny};
use super::judge::Judge;
use anchorite_check::analysis::Analysis;
use anchorite_check::model::{Atom, History, HistoryBuilder, OpKind, Workload};
use anchorite_check::polygraph::Limits;

const KEYS: usize = 2;

/// A transaction with the list behind each of its reads.
struct Listed {
    tiny: Tiny,
    lists: Vec<Vec<i64>>,
}

/// Who appended to a key and survived, in order: value and transaction.
type Survivors = Vec<(i64, usize)>;

fn generate(random: &mut Random) -> (Vec<Listed>, Vec<Survivors>) {
    let count = 1 + random.below(4);
    let mut survivors: Vec<Survivors> = vec![Vec::new(); KEYS];
    let mut all: Vec<Listed> = Vec::new();
    for txn in 0..count {
        let (aborted, unknown) = (random.chance(20), random.chance(40));
        let survives = !aborted && (!unknown || random.chance(50));
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..1 + random.below(4) {
            let key = random.below(KEYS);
            let write = random.chance(50) && !steps.iter().any(|s| s.write && s.key == key);
            let value = if write { (txn * KEYS + key + 1) as i64 } else { 0 };
            if write && survives {
                let at = survivors[key].len() - random.below(2).min(survivors[key].len());
                survivors[key].insert(at, (value, txn));
            }
            steps.push(Step { key, write, value });
        }
        let session = random.below(3);
        let (begin, end) = (0, 0);
        let tiny = Tiny { session, aborted, unknown: unknown && !aborted, begin, end, steps };
        all.push(Listed { tiny, lists: Vec::new() });
    }
    for (txn, listed) in all.iter_mut().enumerate() {
        fill_reads(random, txn, listed, &survivors);
    }
    let lists: Vec<Vec<i64>> =
        survivors.iter().map(|order| order.iter().map(|entry| entry.0).collect()).collect();
    let last = |list: &Vec<i64>| list.last().copied().unwrap_or(0);
    let read = |(key, list)| Step { key, write: false, value: last(list) };
    let steps = lists.iter().enumerate().map(read).collect();
    let reader = Tiny { session: 7, aborted: false, unknown: false, begin: 0, end: 0, steps };
    all.push(Listed { tiny: reader, lists });
    (all, survivors)
}

fn fill_reads(random: &mut Random, txn: usize, listed: &mut Listed, survivors: &[Survivors]) {
    for at in 0..listed.tiny.steps.len() {
        let step = listed.tiny.steps[at];
        let order = &survivors[step.key];
        let mut list: Vec<i64> = Vec::new();
        let own = listed.tiny.steps[..at].iter().find(|s| s.write && s.key == step.key);
        let others = order.iter().take_while(|entry| entry.1 != txn).map(|entry| entry.0);
        match own {
            _ if step.write => {}
            Some(own) => {
                // A survivor saw all that is before its element, one that was undone any beginning.
                let survives = order.iter().any(|entry| entry.1 == txn);
                let most = others.clone().count();
                list.extend(others.take(if survives { most } else { random.below(most + 1) }));
                list.push(own.value);
            }
            None => list.extend(others.take(random.below(order.len() + 1))),
        }
        if !step.write {
            listed.tiny.steps[at].value = list.last().copied().unwrap_or(0);
        }
        listed.lists.push(list);
    }
}

fn build(all: &[Listed]) -> History {
    let int = |value: i64| Atom::int(value).unwrap();
    let mut builder = HistoryBuilder::new();
    builder.set_workload(Workload::ListAppend);
    for (label, Listed { tiny, lists }) in all.iter().enumerate() {
        let session = builder.session(int(tiny.session as i64));
        builder.begin(session, label as i64, tiny.outcome(), (tiny.begin, tiny.end));
        for (step, list) in tiny.steps.iter().zip(lists) {
            let key = builder.key(int(step.key as i64));
            if step.write {
                builder.push(OpKind::Append, key, int(step.value)).unwrap();
            } else {
                let list: Vec<Atom> = list.iter().map(|value| int(*value)).collect();
                builder.push_list(key, &list).unwrap();
            }
        }
    }
    builder.finish()
}

#[test]
fn lists_with_undone_and_doubtful_transactions() {
    let mut random = Random::new(10);
    for _ in 0..1_000 {
        let (all, survivors) = generate(&mut random);
        let mut txns: Vec<Tiny> = all.iter().map(|listed| listed.tiny.clone()).collect();
        for (_, survivor) in survivors.iter().flatten() {
            // The last transaction read its element, though maybe not as the last one of a list.
            txns[*survivor].unknown = false;
        }
        let history = build(&all);
        let mut judge = Judge::new(&txns);
        judge.keys = KEYS;
        let place = |key: usize, value: i64| {
            judge.txns.iter().position(|txn| txn.tiny.wrote(key, value)).expect("it was read")
        };
        let fixed = survivors.iter().enumerate().map(|(key, order)| {
            order.iter().map(|entry| place(key, entry.0)).collect::<Vec<usize>>()
        });
        judge.fixed = Some(fixed.collect());
        compare_adya(&txns, &judge, &Analysis::new(&history, None, Limits::default()));
    }
}
