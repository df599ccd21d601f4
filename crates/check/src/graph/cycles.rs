//! Finds the shortest cycle of a given type inside a component.
//!
//! Idea: a type of anomaly is a pattern of edge kinds (how many rw, may they touch, is a session or
//! real-time edge needed). A breadth-first search over (transaction, what was used so far) from one
//! edge that the pattern needs back to its source gives the shortest cycle through that edge; the
//! best over all such edges is the witness. Deterministic: edges are tried in order.
//! Source: Elle's cycle search; Adya's definitions of G0, G1c, G-single, G2.
//! Limit: [`WORK`] steps per type and component; existence is decided elsewhere, this only names.

use super::{Csr, Kind, REAL_TIME, RW, SESSION, WR, WW};

/// Steps that one search may take.
pub const WORK: u64 = 20_000_000;

/// How rw edges may appear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anti {
    /// Not at all.
    None,
    /// Exactly once.
    Single,
    /// At least twice, never two in a row.
    NonAdjacent,
    /// At least twice.
    Multiple,
}

/// The pattern of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The anomaly.
    pub name: &'static str,
    /// How rw edges may appear.
    pub anti: Anti,
    /// Whether wr edges may be used, and one must if there is no rw.
    pub wr: bool,
    /// Whether predicate rw edges may be used.
    pub predicate: bool,
    /// Kind of edge that must appear besides data dependencies: [`SESSION`], [`REAL_TIME`] or 0.
    pub extra: u8,
}

const fn pattern(name: &'static str, anti: Anti, predicate: bool, extra: u8) -> Pattern {
    Pattern { name, anti, wr: true, predicate, extra }
}

/// All patterns, worst first: data alone, then with session order, then with real time.
pub const PATTERNS: [Pattern; 24] = [
    Pattern { name: "G0", anti: Anti::None, wr: false, predicate: true, extra: 0 },
    pattern("G1c", Anti::None, true, 0),
    pattern("G-single-item", Anti::Single, false, 0),
    pattern("G-single", Anti::Single, true, 0),
    pattern("G-nonadjacent-item", Anti::NonAdjacent, false, 0),
    pattern("G-nonadjacent", Anti::NonAdjacent, true, 0),
    pattern("G2-item", Anti::Multiple, false, 0),
    pattern("G2", Anti::Multiple, true, 0),
    Pattern { name: "G0-process", anti: Anti::None, wr: false, predicate: true, extra: SESSION },
    pattern("G1c-process", Anti::None, true, SESSION),
    pattern("G-single-item-process", Anti::Single, false, SESSION),
    pattern("G-single-process", Anti::Single, true, SESSION),
    pattern("G-nonadjacent-item-process", Anti::NonAdjacent, false, SESSION),
    pattern("G-nonadjacent-process", Anti::NonAdjacent, true, SESSION),
    pattern("G2-item-process", Anti::Multiple, false, SESSION),
    pattern("G2-process", Anti::Multiple, true, SESSION),
    Pattern { name: "G0-realtime", anti: Anti::None, wr: false, predicate: true, extra: REAL_TIME },
    pattern("G1c-realtime", Anti::None, true, REAL_TIME),
    pattern("G-single-item-realtime", Anti::Single, false, REAL_TIME),
    pattern("G-single-realtime", Anti::Single, true, REAL_TIME),
    pattern("G-nonadjacent-item-realtime", Anti::NonAdjacent, false, REAL_TIME),
    pattern("G-nonadjacent-realtime", Anti::NonAdjacent, true, REAL_TIME),
    pattern("G2-item-realtime", Anti::Multiple, false, REAL_TIME),
    pattern("G2-realtime", Anti::Multiple, true, REAL_TIME),
];

/// A cycle: each entry is a transaction and the kind of edge to the next one; the last one leads back.
pub type Cycle = Vec<(u32, u8)>;

/// A component with its edges, several between two transactions where there are several relations.
pub struct Component {
    /// The transactions, sorted.
    pub nodes: Vec<u32>,
    out: Vec<Vec<(u32, u8)>>,
}

/// Which relation explains a pair that has several, best first.
pub type Priority = [u8; 8];

impl Component {
    /// Restricts a graph to a component. With a `priority` only the first of several edges between two transactions
    /// stays, as in Elle; without, all of them are followed: a cycle may need any of them.
    pub fn new(graph: &Csr, nodes: Vec<u32>, priority: Option<&Priority>) -> Component {
        let place = |kind: u8, priority: &Priority| priority.iter().position(|one| *one == kind);
        let rank = |kind: u8| match priority {
            Some(priority) => place(kind, priority).unwrap_or(8),
            None => usize::from(kind),
        };
        let out = nodes
            .iter()
            .map(|&node| {
                let mut edges: Vec<(u32, u8)> = graph
                    .out(node)
                    .filter(|(to, _)| *to != node)
                    .filter_map(|(to, kind)| Some((nodes.binary_search(&to).ok()? as u32, kind)))
                    .collect();
                edges.sort_by_key(|(to, kind)| (*to, rank(*kind)));
                edges.dedup_by(|a, b| a.0 == b.0 && (priority.is_some() || a.1 == b.1));
                edges
            })
            .collect();
        Component { nodes, out }
    }

    /// The shortest cycle that fits the pattern and passes a transaction, which is given by its number in the graph.
    pub fn find_through(&self, pattern: &Pattern, node: u32) -> Option<Cycle> {
        let from = self.nodes.binary_search(&node).ok()? as u32;
        let mut search = Search::new(self, pattern);
        let mut best: Option<Cycle> = None;
        for &(to, kind) in &self.out[from as usize] {
            let limit = best.as_ref().map_or(usize::MAX, Vec::len);
            if kind & search.allowed() != 0
                && let Some(cycle) = search.through(from, to, kind, limit)
            {
                best = Some(cycle);
            }
        }
        best
    }

    /// The shortest cycle that fits the pattern, among those found within the limit.
    pub fn find(&self, pattern: &Pattern) -> Option<Cycle> {
        Search::new(self, pattern).run()
    }
}

const STATES: usize = 20;

/// What a path has used so far.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    /// Number of rw edges, up to two.
    anti: u8,
    last_anti: bool,
    wr: bool,
    extra: bool,
}

impl State {
    fn index(self) -> usize {
        let anti = match (self.anti, self.last_anti) {
            (0, _) => 0,
            (1, last) => 1 + usize::from(last),
            (_, last) => 3 + usize::from(last),
        };
        anti * 4 + usize::from(self.wr) * 2 + usize::from(self.extra)
    }
}

struct Search<'c> {
    component: &'c Component,
    pattern: &'c Pattern,
    seen: Vec<u32>,
    round: u32,
    work: u64,
}

impl<'c> Search<'c> {
    fn new(component: &'c Component, pattern: &'c Pattern) -> Search<'c> {
        let seen = vec![0; component.nodes.len() * STATES];
        Search { component, pattern, seen, round: 0, work: 0 }
    }

    fn allowed(&self) -> u8 {
        let mut mask = WW | self.pattern.extra;
        mask |= if self.pattern.wr { WR } else { 0 };
        mask |= if self.pattern.anti == Anti::None { 0 } else { RW };
        mask & if self.pattern.predicate { 0xff } else { !(Kind::RwPredicate as u8) }
    }

    /// The kinds of edge that every cycle of the pattern has: the search starts with one of them.
    fn anchor(&self) -> u8 {
        match (self.pattern.extra, self.pattern.anti, self.pattern.wr) {
            (0, Anti::None, false) => WW,
            (0, Anti::None, true) => WR,
            (0, _, _) => RW,
            (extra, _, _) => extra,
        }
    }

    fn step(&self, state: State, kind: u8) -> Option<State> {
        let is_anti = kind & RW != 0;
        let adjacent = is_anti && state.last_anti;
        if is_anti && self.pattern.anti == Anti::Single && state.anti == 1
            || adjacent && self.pattern.anti == Anti::NonAdjacent
        {
            return None;
        }
        Some(State {
            anti: (state.anti + u8::from(is_anti)).min(2),
            last_anti: is_anti,
            wr: state.wr || kind & WR != 0,
            extra: state.extra || kind & self.pattern.extra != 0,
        })
    }

    fn accepts(&self, state: State, first_kind: u8) -> bool {
        let touching = state.last_anti && first_kind & RW != 0;
        let anti = match self.pattern.anti {
            Anti::None => state.wr || !self.pattern.wr,
            Anti::Single => state.anti == 1,
            Anti::NonAdjacent => state.anti == 2 && !touching,
            Anti::Multiple => state.anti == 2,
        };
        anti && (self.pattern.extra == 0 || state.extra)
    }

    fn run(&mut self) -> Option<Cycle> {
        let anchor = self.anchor() & self.allowed();
        let mut best: Option<Cycle> = None;
        for from in 0..self.component.nodes.len() as u32 {
            for at in 0..self.component.out[from as usize].len() {
                let (to, kind) = self.component.out[from as usize][at];
                if kind & anchor == 0 {
                    continue;
                }
                let limit = best.as_ref().map_or(usize::MAX, Vec::len);
                if let Some(cycle) = self.through(from, to, kind, limit) {
                    best = Some(cycle);
                }
                if best.as_ref().is_some_and(|cycle| cycle.len() == 2) || self.work > WORK {
                    return best;
                }
            }
        }
        best
    }

    /// The shortest cycle through one edge, if it is shorter than `limit`.
    fn through(&mut self, from: u32, to: u32, kind: u8, limit: usize) -> Option<Cycle> {
        self.round += 1;
        let none = State { anti: 0, last_anti: false, wr: false, extra: false };
        let start = self.step(none, kind)?;
        // Node, state, kind of the edge that led here, index of the entry it came from, length.
        let mut queue: Vec<(u32, State, u8, u32, u32)> = vec![(to, start, kind, u32::MAX, 1)];
        let mut at = 0;
        while at < queue.len() {
            let (node, state, _, _, length) = queue[at];
            if node == from && self.accepts(state, kind) {
                let cycle = self.trace(&queue, at, from);
                if cycle.is_some() {
                    return cycle;
                }
            }
            if length as usize + 1 < limit && node != from {
                for &(next, kind) in &self.component.out[node as usize] {
                    if kind & self.allowed() == 0 {
                        continue;
                    }
                    let Some(after) = self.step(state, kind) else { continue };
                    let slot = &mut self.seen[next as usize * STATES + after.index()];
                    if *slot != self.round {
                        *slot = self.round;
                        queue.push((next, after, kind, at as u32, length + 1));
                    }
                    self.work += 1;
                }
            }
            at += 1;
        }
        None
    }

    /// The cycle that ends at an entry, unless it passes a transaction twice.
    fn trace(&self, queue: &[(u32, State, u8, u32, u32)], end: usize, from: u32) -> Option<Cycle> {
        let mut reversed = Vec::new();
        let mut at = end;
        loop {
            let (_, _, kind, parent, _) = queue[at];
            if parent == u32::MAX {
                reversed.push((from, kind));
                break;
            }
            at = parent as usize;
            reversed.push((queue[at].0, kind));
        }
        reversed.reverse();
        let mut nodes: Vec<u32> = reversed.iter().map(|step| step.0).collect();
        nodes.sort_unstable();
        let simple = nodes.windows(2).all(|pair| pair[0] != pair[1]);
        simple.then(|| {
            reversed
                .iter()
                .map(|(node, kind)| (self.component.nodes[*node as usize], *kind))
                .collect()
        })
    }
}
