//! The brute-force judge: every level straight from its definition, by trying everything.
//!
//! Axiomatic levels: all total commit orders, the axioms of Biswas and Enea literally. Serializable: all
//! serial orders, executed. Snapshot isolation: in `snapshots`. The other levels: all version orders of all keys,
//! cycles by transitive closure.

use super::generate::{NOTHING, Tiny};

/// The writer of what was there before the initial state.
const OLDER: Option<usize> = Some(usize::MAX);

/// A committed transaction in the judge's terms.
pub struct Txn<'t> {
    pub tiny: &'t Tiny,
    /// Reads of other writers: key, writer (`None` for the initial state, [`OLDER`]), in program order.
    pub reads: Vec<(usize, Option<usize>)>,
    /// Keys written.
    pub writes: Vec<usize>,
}

#[derive(Clone, Copy, Default, Debug)]
pub struct Faults {
    /// Aborted, intermediate, thin-air or future read.
    pub g1: bool,
    /// A read that ignores an own write.
    pub own: bool,
    /// A read of something older than the initial state.
    pub older: bool,
    /// A read that differs from the transaction's own last operation on the key.
    pub internal: bool,
}

pub struct Judge<'t> {
    pub txns: Vec<Txn<'t>>,
    pub faults: Faults,
    pub keys: usize,
    /// Version order of every key, if it is given.
    pub fixed: Option<Vec<Vec<usize>>>,
}

/// What a transaction read from others and wrote, with the faults of its reads.
fn transaction<'t>(committed: &[&'t Tiny], me: usize, faults: &mut Faults) -> Txn<'t> {
    let tiny = committed[me];
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for (at, step) in tiny.steps.iter().enumerate() {
        if step.write {
            if !writes.contains(&step.key) {
                writes.push(step.key);
            }
            continue;
        }
        let before = tiny.steps[..at].iter().rev().find(|s| s.key == step.key);
        faults.internal |= before.is_some_and(|before| before.value != step.value);
        let own = tiny.steps[..at].iter().rev().find(|s| s.write && s.key == step.key);
        faults.own |= own.is_some_and(|own| own.value != step.value);
        if before.is_some_and(|before| before.write && before.value == step.value) {
            continue;
        }
        if step.value == 0 || step.value == NOTHING {
            faults.older |= step.value == NOTHING;
            reads.push((step.key, if step.value == 0 { None } else { OLDER }));
            continue;
        }
        let is_source =
            |s: &crate::generate::Step| s.write && s.key == step.key && s.value == step.value;
        match committed.iter().position(|other| other.steps.iter().any(is_source)) {
            None => faults.g1 = true,
            Some(writer) if writer == me => {
                faults.g1 |= tiny.steps[at..].iter().any(|s| s.write && s.value == step.value);
            }
            Some(writer) => {
                let last =
                    committed[writer].steps.iter().rev().find(|s| s.write && s.key == step.key);
                faults.g1 |= last.is_some_and(|s| s.value != step.value);
                reads.push((step.key, Some(writer)));
            }
        }
    }
    Txn { tiny, reads, writes }
}

/// The transactions that committed: those of unknown outcome if one that committed read from them.
fn committed(all: &[Tiny]) -> Vec<&Tiny> {
    let mut counts: Vec<bool> = all.iter().map(|tiny| !tiny.aborted && !tiny.unknown).collect();
    while let Some(more) = (0..all.len()).find(|&writer| {
        let read_by = |reader: &Tiny| {
            let reads = reader.steps.iter().filter(|step| !step.write);
            reads.into_iter().any(|step| all[writer].wrote(step.key, step.value))
        };
        let is_read =
            || (0..all.len()).any(|one| one != writer && counts[one] && read_by(&all[one]));
        all[writer].unknown && !counts[writer] && is_read()
    }) {
        counts[more] = true;
    }
    all.iter().zip(&counts).filter(|(_, counts)| **counts).map(|(tiny, _)| tiny).collect()
}

impl<'t> Judge<'t> {
    pub fn new(all: &'t [Tiny]) -> Judge<'t> {
        let committed = committed(all);
        let mut faults = Faults::default();
        let txns: Vec<Txn<'t>> =
            (0..committed.len()).map(|me| transaction(&committed, me, &mut faults)).collect();
        let keys = all.iter().flat_map(|t| t.steps.iter().map(|s| s.key + 1)).max().unwrap_or(0);
        Judge { txns, faults, keys, fixed: None }
    }

    pub fn session_before(&self, a: usize, b: usize) -> bool {
        a < b && self.txns[a].tiny.session == self.txns[b].tiny.session
    }

    pub fn real_time_before(&self, a: usize, b: usize) -> bool {
        // One of unknown outcome may have taken effect after its end.
        !self.txns[a].tiny.unknown && self.txns[a].tiny.end < self.txns[b].tiny.begin
    }

    /// Whether real time has two transactions of a session the other way round.
    pub fn times_contradict(&self) -> bool {
        let count = self.txns.len();
        let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
        pairs.into_iter().any(|(a, b)| self.session_before(a, b) && self.real_time_before(b, a))
    }

    /// Whether a given version order puts a write of `a` after one of `b`.
    pub fn must_follow(&self, a: usize, b: usize) -> bool {
        let place = |order: &[usize], txn| order.iter().position(|other| *other == txn);
        self.fixed.iter().flatten().any(|order| match (place(order, a), place(order, b)) {
            (Some(a), Some(b)) => a > b,
            _ => false,
        })
    }

    fn wr(&self, a: usize, b: usize) -> bool {
        self.txns[b].reads.iter().any(|read| read.1 == Some(a))
    }

    /// An axiomatic level: some total order of all transactions satisfies its axiom.
    pub fn axiomatic(&self, level: &str) -> bool {
        if self.faults.g1 || self.faults.own || self.faults.older {
            return false;
        }
        let count = self.txns.len();
        permutations(count, &mut |order| {
            let mut at = vec![0; count];
            for (position, txn) in order.iter().enumerate() {
                at[*txn] = position;
            }
            let co = |a: usize, b: usize| at[a] < at[b];
            let base = |a: usize, b: usize| self.session_before(a, b) || self.wr(a, b);
            let respects =
                (0..count).all(|a| (0..count).all(|b| a == b || !base(a, b) || co(a, b)));
            respects && self.axiom(level, &co, &base)
        })
    }

    fn axiom(
        &self,
        level: &str,
        co: &dyn Fn(usize, usize) -> bool,
        base: &dyn Fn(usize, usize) -> bool,
    ) -> bool {
        let count = self.txns.len();
        let hb = closure(count, base);
        for (t3, reader) in self.txns.iter().enumerate() {
            for (position, &(key, t1)) in reader.reads.iter().enumerate() {
                for (t2, past) in hb.iter().enumerate() {
                    if t2 == t3 || Some(t2) == t1 || !self.txns[t2].writes.contains(&key) {
                        continue;
                    }
                    let co_or_same = |a: usize, b: usize| a == b || co(a, b);
                    let before = match level {
                        "read-committed" => {
                            self.txns[t3].reads[..position].iter().any(|read| read.1 == Some(t2))
                        }
                        "read-atomic" => base(t2, t3),
                        "causal" => past[t3],
                        "prefix" => (0..count).any(|t4| co_or_same(t2, t4) && base(t4, t3)),
                        "snapshot-isolation" => {
                            let prefix = (0..count).any(|t4| co_or_same(t2, t4) && base(t4, t3));
                            let conflict = (0..count).any(|t4| {
                                let shared = self.txns[t4]
                                    .writes
                                    .iter()
                                    .any(|y| self.txns[t3].writes.contains(y));
                                t4 != t3 && shared && co_or_same(t2, t4) && co(t4, t3)
                            });
                            prefix || conflict
                        }
                        _ => co(t2, t3),
                    };
                    let allowed = t1.is_some_and(|t1| co(t2, t1));
                    if before && !allowed {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Serial execution: order edges are respected and every read sees the last write.
    pub fn serializable(&self, session: bool, real_time: bool) -> bool {
        if self.faults.g1 || self.faults.internal {
            return false;
        }
        permutations(self.txns.len(), &mut |order| {
            for (i, &a) in order.iter().enumerate() {
                for &b in &order[i + 1..] {
                    if session && self.session_before(b, a)
                        || real_time && self.real_time_before(b, a)
                        || self.must_follow(a, b)
                    {
                        return false;
                    }
                }
            }
            let mut current: Vec<Option<usize>> = vec![None; self.keys];
            order.iter().all(|&txn| {
                let fits = self.txns[txn].reads.iter().all(|(key, from)| current[*key] == *from);
                for &key in &self.txns[txn].writes {
                    current[key] = Some(txn);
                }
                fits
            })
        })
    }

    /// Levels defined by a graph: some version order of every key has no forbidden cycle.
    pub fn graph_level(&self, level: &str, session: bool, real_time: bool) -> bool {
        if level != "read-uncommitted" && self.faults.g1 {
            return false;
        }
        let mut orders: Vec<Vec<usize>> = Vec::new();
        self.version_orders(0, &mut orders, &mut |orders| {
            self.satisfies(level, session, real_time, orders)
        })
    }

    fn version_orders(
        &self,
        key: usize,
        orders: &mut Vec<Vec<usize>>,
        test: &mut dyn FnMut(&[Vec<usize>]) -> bool,
    ) -> bool {
        if let Some(fixed) = &self.fixed {
            return test(fixed);
        }
        if key == self.keys {
            return test(orders);
        }
        let writers: Vec<usize> =
            (0..self.txns.len()).filter(|t| self.txns[*t].writes.contains(&key)).collect();
        permutations(writers.len(), &mut |order| {
            orders.push(order.iter().map(|at| writers[*at]).collect());
            let found = self.version_orders(key + 1, orders, test);
            orders.pop();
            found
        })
    }

    fn satisfies(
        &self,
        level: &str,
        session: bool,
        real_time: bool,
        orders: &[Vec<usize>],
    ) -> bool {
        let count = self.txns.len();
        let place = |key: usize, txn: Option<usize>| place(orders, key, txn);
        let order = |a: usize, b: usize| {
            session && self.session_before(a, b) || real_time && self.real_time_before(a, b)
        };
        let ww = |a: usize, b: usize| {
            a != b
                && (0..self.keys).any(|key| {
                    self.txns[a].writes.contains(&key)
                        && self.txns[b].writes.contains(&key)
                        && place(key, Some(a)) < place(key, Some(b))
                })
        };
        let rw = |a: usize, b: usize| {
            a != b
                && self.txns[a].reads.iter().any(|&(key, from)| {
                    self.txns[b].writes.contains(&key) && place(key, from) < place(key, Some(b))
                })
        };
        let acyclic = |edges: &dyn Fn(usize, usize) -> bool| {
            let reach = closure(count, edges);
            (0..count).all(|t| !reach[t][t])
        };
        let flow = |a: usize, b: usize| ww(a, b) || self.wr(a, b) || order(a, b);
        match level {
            "read-uncommitted" => acyclic(&|a, b| ww(a, b) || order(a, b)),
            "read-committed" => acyclic(&flow),
            "monotonic-atomic-view" => acyclic(&flow) && self.is_monotonic(orders),
            "cursor-stability" => acyclic(&flow) && self.has_stable_cursors(orders),
            // The initial state is before all and after the reader.
            "consistent-view" | "repeatable-read" if self.faults.older => false,
            "consistent-view" => {
                let reach = closure(count, &flow);
                (0..count).all(|a| !reach[a][a])
                    && (0..count).all(|a| (0..count).all(|b| !(rw(a, b) && reach[b][a])))
            }
            "repeatable-read" => acyclic(&|a, b| flow(a, b) || rw(a, b)),
            _ => unreachable!("{level}"),
        }
    }

    /// Whatever a transaction saw, its later reads see at least that.
    fn is_monotonic(&self, orders: &[Vec<usize>]) -> bool {
        self.txns.iter().all(|txn| {
            (0..txn.reads.len()).all(|later| {
                txn.reads[..later].iter().all(|(_, seen)| {
                    let (key, from) = txn.reads[later];
                    let Some(seen) = *seen else { return from != OLDER };
                    Some(seen) == OLDER
                        || !self.txns[seen].writes.contains(&key)
                        || place(orders, key, Some(seen)) <= place(orders, key, from)
                })
            })
        })
    }

    /// Nobody writes between the version that a transaction read and the one that it wrote.
    fn has_stable_cursors(&self, orders: &[Vec<usize>]) -> bool {
        self.txns.iter().enumerate().all(|(t, txn)| {
            txn.reads.iter().all(|&(key, from)| {
                !txn.writes.contains(&key)
                    || place(orders, key, from) + 1 == place(orders, key, Some(t))
            })
        })
    }
}

/// Where the version of a transaction stands among those of a key, after the initial one and what is older.
fn place(orders: &[Vec<usize>], key: usize, txn: Option<usize>) -> usize {
    if txn == OLDER {
        return 0;
    }
    txn.map_or(1, |txn| 2 + orders[key].iter().position(|t| *t == txn).unwrap())
}

fn closure(count: usize, edges: &dyn Fn(usize, usize) -> bool) -> Vec<Vec<bool>> {
    let mut reach: Vec<Vec<bool>> =
        (0..count).map(|a| (0..count).map(|b| a != b && edges(a, b)).collect()).collect();
    for middle in 0..count {
        for a in 0..count {
            for b in 0..count {
                reach[a][b] |= reach[a][middle] && reach[middle][b];
            }
        }
    }
    reach
}

/// Calls `test` with every permutation until one satisfies it.
pub fn permutations(count: usize, test: &mut dyn FnMut(&[usize]) -> bool) -> bool {
    fn extend(
        order: &mut Vec<usize>,
        count: usize,
        test: &mut dyn FnMut(&[usize]) -> bool,
    ) -> bool {
        if order.len() == count {
            return test(order);
        }
        for next in 0..count {
            if order.contains(&next) {
                continue;
            }
            order.push(next);
            let found = extend(order, count, test);
            order.pop();
            if found {
                return true;
            }
        }
        false
    }
    extend(&mut Vec::new(), count, test)
}
