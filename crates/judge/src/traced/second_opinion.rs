//! The dependencies compared with brute force: random versions, looks and matches, and every serial order tried.
//!
//! A serial order fits if the versions of each row follow it, if every returned version is the latest at its reader's
//! place, and if every row that was not returned is, at that place, in a version that the reader could have seen
//! without a match, or in a neighbour of one that does not match either.

use super::edges::{Dependencies, dependencies};
use super::looks::Look;
use super::matching::Matches;
use super::rows::{Row, Version, Versions};
use anchorite_check::graph::{Csr, EdgeList, is_acyclic};

/// How many random histories are compared.
const HISTORIES: u64 = 20_000;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

fn version(row: usize, writer: Option<usize>, before: Option<usize>, made: usize) -> Version {
    Version {
        row,
        values: None,
        is_gone: false,
        n: 0,
        writer,
        before,
        is_undone: false,
        sent: made,
        made,
    }
}

/// A row that begins before everything or is inserted, and is written by some transactions, each once.
fn add_row(versions: &mut Versions, random: &mut Random, transactions: usize) {
    let row = versions.rows.len();
    let is_initial = random.below(2) == 0;
    versions.rows.push(Row { table: row, is_initial });
    let mut order = Vec::new();
    if is_initial {
        versions.all.push(version(row, None, None, 0));
        order.push(versions.all.len() - 1);
    }
    let mut writers: Vec<usize> = (0..transactions).collect();
    for at in 1..=random.below(3) {
        let writer = writers.swap_remove(random.below(writers.len()));
        versions.all.push(version(row, Some(writer), order.last().copied(), at));
        order.push(versions.all.len() - 1);
    }
    if order.len() > 1 && random.below(3) == 0 {
        versions.all[order[order.len() - 1]].is_gone = true;
    }
    versions.orders.push(order);
}

/// A whole look at a random version of a row that its reader does not write. Each row has a table of its own: what a
/// look says about one row does not depend on others.
fn add_look(
    versions: &Versions,
    random: &mut Random,
    transactions: usize,
    looks: &mut Vec<Look>,
    matches: &mut Matches,
) {
    let (at, reader, row) =
        (looks.len(), random.below(transactions), random.below(versions.rows.len()));
    let order = &versions.orders[row];
    let end = 1 + random.below(4);
    let seen = order.iter().copied().filter(|id| versions.all[*id].sent < end);
    let seen: Vec<usize> = seen.collect();
    let unborn = usize::from(!versions.rows[row].is_initial);
    let is_own = order.iter().any(|id| versions.all[*id].writer == Some(reader));
    if is_own || unborn + seen.len() == 0 {
        return;
    }
    for id in order {
        matches.insert((at, *id), !versions.all[*id].is_gone && random.below(2) == 0);
    }
    let place = random.below(unborn + seen.len());
    let id = place.checked_sub(unborn).map(|place| seen[place]);
    looks.push(Look {
        reader,
        n: at + 1,
        table: row,
        found: id.filter(|id| matches[&(at, *id)]).into_iter().collect(),
        is_whole: true,
        is_partial: false,
        is_for_keys: false,
        like: None,
        by_write: false,
        is_blind: false,
        start: 0,
        end,
    });
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        all = all
            .iter()
            .flat_map(|order: &Vec<usize>| {
                (0..=order.len()).map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, next);
                    longer
                })
            })
            .collect();
    }
    all
}

struct History {
    versions: Versions,
    looks: Vec<Look>,
    matches: Matches,
}

impl History {
    fn matched(&self, look: usize, state: Option<usize>) -> bool {
        state.is_some_and(|id| self.matches[&(look, id)])
    }

    /// Whether a serial order gives every look what it saw.
    fn fits(&self, order: &[usize]) -> bool {
        let place = |transaction: usize| order.iter().position(|one| *one == transaction);
        let in_order = self.versions.orders.iter().all(|versions| {
            versions.is_sorted_by_key(|id| self.versions.all[*id].writer.map(place))
        });
        in_order && (0..self.looks.len()).all(|look| self.sees(look, &place))
    }

    fn sees(&self, at: usize, place: &dyn Fn(usize) -> Option<usize>) -> bool {
        let look = &self.looks[at];
        let is_before = |id: &&usize| {
            let writer = self.versions.all[**id].writer;
            writer.is_none_or(|writer| place(writer) < place(look.reader))
        };
        let latest = self.versions.orders[look.table].iter().rev().find(is_before).copied();
        match look.found.first() {
            Some(found) => latest == Some(*found),
            None => self.may_be(at, look.table, latest),
        }
    }

    /// Whether a row that was not returned may have been in this version, or next to one that it may have been in.
    fn may_be(&self, at: usize, row: usize, latest: Option<usize>) -> bool {
        let unborn = (!self.versions.rows[row].is_initial).then_some(None);
        let states: Vec<Option<usize>> = unborn
            .into_iter()
            .chain(self.versions.orders[row].iter().map(|id| Some(*id)))
            .collect();
        let same = |one: usize, other: usize| {
            (one.min(other)..=one.max(other)).all(|place| !self.matched(at, states[place]))
        };
        let now = states.iter().position(|state| *state == latest);
        let seen = (0..states.len()).filter(|place| {
            let sent = states[*place].map_or(0, |id| self.versions.all[id].sent);
            sent < self.looks[at].end && !self.matched(at, states[*place])
        });
        now.is_some_and(|now| seen.into_iter().any(|place| same(now, place)))
    }
}

fn has_cycle(found: &Dependencies, with_possible: bool, transactions: usize) -> bool {
    let possible = found.possible.iter().filter(|_| with_possible);
    let mut edges = EdgeList::default();
    for edge in found.certain.iter().chain(possible) {
        edges.push_kind(edge.from as u32, edge.to as u32, edge.kind as u8);
    }
    !is_acyclic(&Csr::new(transactions, &edges))
}

#[test]
fn cycles_agree_with_every_serial_order() {
    let (mut cyclic, mut acyclic, mut open) = (0, 0, 0);
    for seed in 0..HISTORIES {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
        let count = 2 + random.below(3);
        let (mut versions, mut looks, mut matches) =
            (Versions::default(), Vec::new(), Matches::new());
        for _ in 0..=random.below(3) {
            add_row(&mut versions, &mut random, count);
        }
        for _ in 0..=random.below(4) {
            add_look(&versions, &mut random, count, &mut looks, &mut matches);
        }
        let found = dependencies(&versions, &looks, &matches, &vec![true; count]);
        let history = History { versions, looks, matches };
        let explained = permutations(count).iter().any(|order| history.fits(order));
        match (has_cycle(&found, false, count), has_cycle(&found, true, count)) {
            (true, _) => {
                assert!(!explained, "seed {seed}: a cycle, but an order fits");
                cyclic += 1;
            }
            (false, false) => {
                assert!(explained, "seed {seed}: no cycle, and no order fits");
                acyclic += 1;
            }
            (false, true) => open += 1,
        }
    }
    // Each outcome occurs often enough to mean something.
    assert!(cyclic > 1_000 && acyclic > 1_000 && open > 100, "{cyclic}, {acyclic}, {open}");
}
