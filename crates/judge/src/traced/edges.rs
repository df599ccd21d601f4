//! The dependencies between committed transactions.
//!
//! Source: definitions 5.1 to 5.10 of the thesis, after Adya. For every row the versions stand in one order, the first
//! of them "not there yet" and the last one possibly "gone". A statement that returned a row saw that version; of a row
//! that it did not return it saw a version that does not match. Which of several neighbours without a match makes no
//! difference: the dependencies are on the write that took the row out of what matches, and on the next one that puts
//! it in. Where versions with and without a match alternate, it could be one of several, and then each of the
//! dependencies is only possible.
//!
//! Only what is certain is ever reported; what is possible decides whether a run without an anomaly passes.

use std::collections::{HashMap, HashSet};

use super::looks::Look;
use super::matching::Matches;
use super::rows::{VersionId, Versions};
use anchorite_check::graph::Kind;

/// A dependency.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edge {
    /// From this transaction …
    pub from: usize,
    /// … to this one, which came later.
    pub to: usize,
    /// What kind.
    pub kind: Kind,
    /// The row.
    pub row: usize,
    /// The look that it follows from; `None` for one write after another.
    pub look: Option<usize>,
    /// The version that was seen or replaced; `None` = not there yet.
    pub seen: Option<VersionId>,
    /// The version that was written, by the transaction that it leads to or comes from.
    pub wrote: VersionId,
    /// Whether a write or a locking read takes part.
    pub by_write: bool,
    /// A write that did not depend on what it replaced.
    pub is_blind: bool,
}

impl Edge {
    /// What kind of dependency it is, in a word.
    pub const fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Ww => "ww",
            Kind::Wr => "wr",
            Kind::Rw => "rw",
            Kind::WwPredicate => "ww-predicate",
            Kind::WrPredicate => "wr-predicate",
            Kind::RwPredicate => "rw-predicate",
            Kind::Session => "session",
            Kind::RealTime => "real-time",
        }
    }
}

/// A read of what does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirty {
    /// The look.
    pub look: usize,
    /// What it saw.
    pub seen: VersionId,
    /// Whether its writer committed, and had changed it again by then.
    pub is_intermediate: bool,
}

/// What follows from the looks.
#[derive(Debug, Clone, Default)]
pub struct Dependencies {
    /// What is certain.
    pub certain: Vec<Edge>,
    /// What is possible.
    pub possible: Vec<Edge>,
    /// Reads of what does not count.
    pub dirty: Vec<Dirty>,
    /// For each look and row that it did not return: the version that it saw, up to what makes no difference; only
    /// where it is certain.
    pub unmatched: Vec<(usize, usize, Option<VersionId>)>,
}

/// All dependencies; `committed` says of each transaction whether it did.
pub fn dependencies(
    versions: &Versions,
    looks: &[Look],
    matches: &Matches,
    committed: &[bool],
) -> Dependencies {
    let blind = looks.iter().filter(|look| look.by_write).map(|look| (look.n, look.is_blind));
    let mut finding = Finding {
        versions,
        looks,
        matches,
        committed,
        blind: blind.collect(),
        undone: undone(versions),
        known: HashSet::new(),
        found: Dependencies::default(),
    };
    finding.overwrites();
    for at in 0..looks.len() {
        finding.items(at);
        finding.conditions(at);
    }
    finding.found
}

fn undone(versions: &Versions) -> Vec<Vec<VersionId>> {
    let mut undone = vec![Vec::new(); versions.rows.len()];
    for (id, version) in versions.all.iter().enumerate().filter(|(_, one)| one.is_undone) {
        undone[version.row].push(id);
    }
    undone
}

struct Finding<'f> {
    versions: &'f Versions,
    looks: &'f [Look],
    matches: &'f Matches,
    committed: &'f [bool],
    /// Of each statement that wrote, whether that did not depend on what it replaced.
    blind: HashMap<usize, bool>,
    /// Of each row, the versions that were taken back.
    undone: Vec<Vec<VersionId>>,
    known: HashSet<(Edge, bool)>,
    found: Dependencies,
}

/// A version of a row, or that it is not there yet.
type State = Option<VersionId>;

impl Finding<'_> {
    fn writer(&self, state: State) -> Option<usize> {
        state.and_then(|id| self.versions.all[id].writer)
    }

    /// One version after another, and writes that did not see the version before theirs.
    fn overwrites(&mut self) {
        let mut found = Vec::new();
        for order in &self.versions.orders {
            for pair in order.windows(2) {
                let [first, second] = *pair else { continue };
                let (from, to) = (self.writer(Some(first)), self.writer(Some(second)));
                let row = self.versions.all[second].row;
                let replaced = self.versions.all[second].before;
                let (seen, look) = (Some(first), None);
                let edge = |from, to, kind, seen| {
                    let (wrote, by_write) = (second, true);
                    Edge { from, to, kind, row, look, seen, wrote, by_write, is_blind: true }
                };
                if let (Some(from), Some(to)) = (from, to)
                    && from != to
                {
                    let is_blind = self.is_blind(second) || replaced != seen;
                    found.push(Edge { is_blind, ..edge(from, to, Kind::Ww, seen) });
                    // It was made from an older version, as if it had been first.
                    if replaced != seen && self.writer(replaced) != Some(from) {
                        let wrote = first;
                        found.push(Edge { wrote, ..edge(to, from, Kind::Rw, replaced) });
                    }
                }
            }
        }
        self.found.certain.extend(found);
    }

    fn is_blind(&self, id: VersionId) -> bool {
        self.blind.get(&self.versions.all[id].n).copied().unwrap_or(true)
    }

    /// Dependencies through the versions that were returned or replaced.
    fn items(&mut self, at: usize) {
        let look = &self.looks[at];
        for &seen in &look.found {
            let version = &self.versions.all[seen];
            if version.writer == Some(look.reader) {
                continue;
            }
            let order = &self.versions.orders[version.row];
            let place = order.iter().position(|id| *id == seen);
            let later = |id: &&VersionId| self.versions.all[**id].writer == version.writer;
            let is_changed_again =
                place.is_some_and(|place| order[place + 1..].iter().any(|id| later(&id)));
            if place.is_none() || (is_changed_again && version.writer.is_some()) {
                let is_intermediate = place.is_some();
                self.found.dirty.push(Dirty { look: at, seen, is_intermediate });
            }
            // What a blind write replaced is of no importance to it beyond that it matched.
            if look.is_blind && look.by_write {
                continue;
            }
            let Some(place) = place else { continue };
            let next = order[place + 1..].iter().find(|id| !later(id)).copied();
            let seen = Some(seen);
            self.edge_from(at, seen, seen, Kind::Wr, true);
            self.edge_to(at, seen, next, Kind::Rw, true);
        }
    }

    /// Dependencies through what matches a condition.
    fn conditions(&mut self, at: usize) {
        let look = &self.looks[at];
        if !(look.is_whole || look.is_for_keys || look.is_partial) {
            return;
        }
        let in_table = |row: &usize| self.versions.rows[*row].table == look.table;
        let rows: Vec<usize> = (0..self.versions.rows.len()).filter(in_table).collect();
        for row in rows {
            let found = look.found.iter().find(|id| self.versions.all[**id].row == row).copied();
            if look.is_partial || !(look.is_whole || look.is_for_keys) {
                if look.is_partial {
                    let states = self.states(row);
                    self.unknown(at, &states, found);
                }
            } else {
                self.condition(at, row, found);
            }
        }
    }

    /// What a condition says about one row.
    fn condition(&mut self, at: usize, row: usize, found: Option<VersionId>) {
        let states = self.states(row);
        let look = &self.looks[at];
        let matching = |state: State| match state {
            None => Some(false),
            Some(id) => self.matches.get(&(at, id)).copied(),
        };
        let matched: Option<Vec<bool>> = states.iter().map(|state| matching(*state)).collect();
        let Some(matched) = matched else {
            return self.unknown(at, &states, found);
        };
        if found.is_some() && self.writer(found) == Some(look.reader) {
            return;
        }
        let own = states.iter().rposition(|state| {
            self.writer(*state) == Some(look.reader)
                && state.is_some_and(|id| self.versions.all[id].made < look.start)
        });
        let is_candidate = |place: usize| match (found, own) {
            (Some(found), _) => states[place] == Some(found),
            (None, Some(own)) => place >= own && self.may_see(at, states[place]),
            (None, None) => self.may_see(at, states[place]),
        };
        let candidates: Vec<usize> = (0..states.len())
            .filter(|place| is_candidate(*place))
            .filter(|place| found.is_some() || look.is_for_keys || !matched[*place])
            .collect();
        if candidates.is_empty() {
            self.missing(at, row);
        }
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for place in candidates {
            let first = (0..place).rev().take_while(|before| matched[*before] == matched[place]);
            let first = first.last().unwrap_or(place);
            let next = (place + 1..states.len()).find(|after| matched[*after] != matched[place]);
            let run = (first, next.unwrap_or(states.len()));
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
        let is_certain = runs.len() == 1;
        for (first, next) in runs {
            let state = states[first];
            // What it saw of its own write follows from that write.
            if found.is_none() && own.is_some_and(|own| first <= own) {
                continue;
            }
            if is_certain && found.is_none() {
                self.found.unmatched.push((at, row, state));
            }
            // The first version matches as nothing did before: that row being absent changes nothing.
            if first > 0 {
                self.edge_from(at, state, state, Kind::WrPredicate, is_certain);
            }
            let next = states.get(next).copied().flatten();
            self.edge_to(at, state, next, Kind::RwPredicate, is_certain);
        }
    }

    /// Every committed version matches, and the row was not returned: it saw one that was taken back.
    fn missing(&mut self, at: usize, row: usize) {
        let look = &self.looks[at];
        let explains = |id: &&VersionId| {
            let version = &self.versions.all[**id];
            let hides = version.is_gone || self.matches.get(&(at, **id)) == Some(&false);
            hides && version.writer != Some(look.reader) && version.sent < look.end
        };
        if look.is_for_keys || self.versions.passes_on {
            return;
        }
        if let Some(&seen) = self.undone[row].iter().find(explains) {
            self.found.dirty.push(Dirty { look: at, seen, is_intermediate: false });
        }
    }

    /// It may have seen any version that was there, or the one that was seen immediately before.
    fn unknown(&mut self, at: usize, states: &[State], found: Option<VersionId>) {
        let shown = self.looks[at].like.and_then(|like| self.shown(like, states));
        let later = if shown.is_some() { 1 } else { states.len() };
        for (place, state) in states.iter().enumerate() {
            let is_it = shown.is_none_or(|shown| shown == place);
            if found.is_some() || !is_it || !self.may_see(at, *state) {
                continue;
            }
            self.edge_from(at, *state, *state, Kind::WrPredicate, false);
            for next in states[place + 1..].iter().take(later) {
                self.edge_to(at, *state, *next, Kind::RwPredicate, false);
            }
        }
    }

    /// Which version of a row a look at all rows saw, if that is certain.
    fn shown(&self, like: usize, states: &[State]) -> Option<usize> {
        let look = &self.looks[like];
        let found = |state: &State| state.is_some_and(|id| look.found.contains(&id));
        states.iter().position(found).or_else(|| {
            let is_absent = |state: &State| state.is_none_or(|id| self.versions.all[id].is_gone);
            let absent =
                |place: &usize| is_absent(&states[*place]) && self.may_see(like, states[*place]);
            let mut places = (0..states.len()).filter(absent);
            places.next().filter(|_| places.next().is_none())
        })
    }

    /// What a row was, in order.
    fn states(&self, row: usize) -> Vec<State> {
        let unborn = (!self.versions.rows[row].is_initial).then_some(None);
        let versions = self.versions.orders[row].iter().map(|id| Some(*id));
        unborn.into_iter().chain(versions).collect()
    }

    /// Whether a version was there before the statement was answered.
    fn may_see(&self, at: usize, state: State) -> bool {
        state.is_none_or(|id| self.versions.all[id].sent < self.looks[at].end)
    }

    /// The reader came after the writer of a version.
    fn edge_from(&mut self, at: usize, seen: State, wrote: State, kind: Kind, certain: bool) {
        let look = &self.looks[at];
        let (Some(from), Some(wrote)) = (self.writer(wrote), wrote) else { return };
        self.push(
            Edge {
                from,
                to: look.reader,
                kind,
                row: self.versions.all[wrote].row,
                look: Some(at),
                seen,
                wrote,
                by_write: look.by_write,
                is_blind: false,
            },
            certain,
        );
    }

    /// The reader came before the writer of a later version.
    fn edge_to(&mut self, at: usize, seen: State, wrote: State, kind: Kind, certain: bool) {
        let look = &self.looks[at];
        let (Some(to), Some(wrote)) = (self.writer(wrote), wrote) else { return };
        self.push(
            Edge {
                from: look.reader,
                to,
                kind,
                row: self.versions.all[wrote].row,
                look: Some(at),
                seen,
                wrote,
                by_write: look.by_write,
                is_blind: false,
            },
            certain,
        );
    }

    fn push(&mut self, edge: Edge, certain: bool) {
        let both = [edge.from, edge.to];
        let counts = both.iter().all(|one| self.committed[*one]);
        if edge.from == edge.to || !counts {
            return;
        }
        let list = if certain { &mut self.found.certain } else { &mut self.found.possible };
        if self.known.insert((edge.clone(), certain)) {
            list.push(edge);
        }
    }
}
