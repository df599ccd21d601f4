//! The dependencies compared with brute force: random versions, looks and matches, and every serial order tried.
//!
//! A serial order fits if the versions of each row follow it, if every returned version is the latest at its reader's
//! place, and if every row that was not returned is, at that place, in a version that the reader could have seen
//! without a match, or in a neighbour of one that does not match either.
//!
//! At weaker levels less is demanded of an order: at repeatable read conditions may miss what was written after they
//! were asked, at read committed every read may. Under snapshot isolation a transaction has two places, one for what it
//! reads and one for what it writes, and nobody writes a row between both who did not come before.

use anchorite_check::graph::{Csr, EdgeList, RW, is_acyclic};
use anchorite_claims::Anomaly;
use anchorite_model::Level;

use super::cycles::sightings;
use super::edges::{Dependencies, dependencies};
use super::looks::Look;
use super::matching::Matches;
use super::rows::{Row, Version, Versions};

/// How many random histories are compared.
const HISTORIES: u64 = 6_000;

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

    /// Whether the versions of each row follow one another in this order.
    fn is_in_order(&self, place: &dyn Fn(usize) -> usize) -> bool {
        self.versions.orders.iter().all(|versions| {
            versions.is_sorted_by_key(|id| self.versions.all[*id].writer.map(place))
        })
    }

    /// Whether a serial order gives every look what it may see at a level.
    fn fits(&self, order: &[usize], level: Level) -> bool {
        let place = |transaction: usize| {
            order.iter().position(|one| *one == transaction).unwrap_or(usize::MAX)
        };
        let before = |writer: usize, reader: usize| place(writer) < place(reader);
        let all_see = || (0..self.looks.len()).all(|look| self.sees(look, &before, level));
        self.is_in_order(&place) && all_see()
    }

    /// The same for snapshots: `order` has every transaction twice, first its snapshot, then its end.
    fn fits_snapshots(&self, order: &[usize]) -> bool {
        let begins =
            |one: usize| order.iter().position(|other| *other == one).unwrap_or(usize::MAX);
        let ends = |one: usize| order.iter().rposition(|other| *other == one).unwrap_or(usize::MAX);
        let before = |writer: usize, reader: usize| ends(writer) < begins(reader);
        let one_by_one = self.versions.orders.iter().all(|versions| {
            let writers = versions.iter().filter_map(|id| self.versions.all[*id].writer);
            let writers: Vec<usize> = writers.collect();
            writers.windows(2).all(|pair| before(pair[0], pair[1]))
        });
        let all_see =
            || (0..self.looks.len()).all(|look| self.sees(look, &before, Level::Serializable));
        one_by_one && all_see()
    }

    fn sees(&self, at: usize, before: &dyn Fn(usize, usize) -> bool, level: Level) -> bool {
        let look = &self.looks[at];
        let order = &self.versions.orders[look.table];
        let is_before = |id: &&usize| {
            let writer = self.versions.all[**id].writer;
            writer.is_none_or(|writer| before(writer, look.reader))
        };
        let latest = order.iter().rev().find(is_before).copied();
        let place = |id: usize| order.iter().position(|one| *one == id);
        match look.found.first() {
            Some(found) if level == Level::ReadCommitted => latest.and_then(place) >= place(*found),
            Some(found) => latest == Some(*found),
            None => self.may_be(at, look.table, latest, level),
        }
    }

    /// Whether a row that was not returned may have been in this version, or next to one that it may have been in;
    /// below serializability, also in a later one.
    fn may_be(&self, at: usize, row: usize, latest: Option<usize>, level: Level) -> bool {
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
        let is_later = |now: usize, seen: usize| level != Level::Serializable && now > seen;
        let mut seen = seen.into_iter();
        now.is_some_and(|now| seen.any(|place| same(now, place) || is_later(now, place)))
    }
}

/// The orders in which each transaction stands twice.
fn twice(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..2 * count {
        let longer = |order: &Vec<usize>| {
            let order = order.clone();
            (0..count).filter_map(move |next| {
                let is_left = order.iter().filter(|one| **one == next).count() < 2;
                is_left.then(|| order.iter().copied().chain([next]).collect())
            })
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Whether there is a cycle in which no two anti-dependencies follow one another.
fn has_cycle_of_snapshots(found: &Dependencies, with_possible: bool, transactions: usize) -> bool {
    let possible = found.possible.iter().filter(|_| with_possible);
    let mut edges = EdgeList::default();
    for edge in found.certain.iter().chain(possible) {
        let (from, to) = (2 * edge.from as u32, 2 * edge.to as u32);
        // The second node of a transaction has been reached by an anti-dependency.
        if edge.kind as u8 & RW != 0 {
            edges.push_kind(from, to + 1, edge.kind as u8);
        } else {
            edges.push_kind(from, to, edge.kind as u8);
            edges.push_kind(from + 1, to, edge.kind as u8);
        }
    }
    !is_acyclic(&Csr::new(2 * transactions, &edges))
}

/// Whether what the dependencies form is forbidden at a level.
fn is_forbidden(
    found: &Dependencies,
    with_possible: bool,
    transactions: usize,
    level: Level,
) -> bool {
    let seen = sightings(found, with_possible, transactions);
    seen.iter().any(|(anomaly, ..)| match level {
        Level::ReadCommitted => matches!(anomaly, Anomaly::G0 | Anomaly::G1c),
        Level::RepeatableRead => !matches!(anomaly, Anomaly::Pmp | Anomaly::G2),
        _ => true,
    })
}

/// A random history of so many transactions.
fn random_history(seed: u64, most: usize) -> (History, Dependencies, usize) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
    let count = 2 + random.below(most - 1);
    let (mut versions, mut looks, mut matches) = (Versions::default(), Vec::new(), Matches::new());
    for _ in 0..=random.below(3) {
        add_row(&mut versions, &mut random, count);
    }
    for _ in 0..=random.below(4) {
        add_look(&versions, &mut random, count, &mut looks, &mut matches);
    }
    let found = dependencies(&versions, &looks, &matches, &vec![true; count]);
    (History { versions, looks, matches }, found, count)
}

/// How often each outcome occurred.
#[derive(Debug, Default)]
struct Outcomes {
    cyclic: usize,
    acyclic: usize,
    open: usize,
}

impl Outcomes {
    /// Compares what is certain and what is possible with whether an order explains the history.
    fn compare(&mut self, place: &str, certain: bool, possible: bool, explained: bool) {
        match (certain, possible) {
            (true, _) => {
                assert!(!explained, "{place}: a cycle, but an order fits");
                self.cyclic += 1;
            }
            (false, false) => {
                assert!(explained, "{place}: no cycle, and no order fits");
                self.acyclic += 1;
            }
            (false, true) => self.open += 1,
        }
    }
}

#[test]
fn cycles_agree_with_every_serial_order() {
    for level in [Level::Serializable, Level::RepeatableRead, Level::ReadCommitted] {
        let mut outcomes = Outcomes::default();
        for seed in 0..HISTORIES {
            let (history, found, count) = random_history(seed, 4);
            let explained = permutations(count).iter().any(|order| history.fits(order, level));
            let forbidden = |possible| is_forbidden(&found, possible, count, level);
            let place = format!("{level}, seed {seed}");
            outcomes.compare(&place, forbidden(false), forbidden(true), explained);
        }
        // Each outcome occurs often enough to mean something; what is only possible hardly matters at weak levels.
        let least = if level == Level::Serializable { 50 } else { 0 };
        assert!(outcomes.cyclic > 20 && outcomes.acyclic > 1_000, "{level}: {outcomes:?}");
        assert!(outcomes.open >= least, "{level}: {outcomes:?}");
    }
}

#[test]
fn cycles_agree_with_every_order_of_snapshots() {
    let orders: Vec<Vec<Vec<usize>>> = (0..=3).map(twice).collect();
    let mut outcomes = Outcomes::default();
    for seed in 0..HISTORIES / 2 {
        let (history, found, count) = random_history(seed, 3);
        let explained = orders[count].iter().any(|order| history.fits_snapshots(order));
        let forbidden = |possible| has_cycle_of_snapshots(&found, possible, count);
        outcomes.compare(&format!("seed {seed}"), forbidden(false), forbidden(true), explained);
    }
    assert!(
        outcomes.cyclic > 100 && outcomes.acyclic > 1_000 && outcomes.open > 20,
        "{outcomes:?}"
    );
}
