//! The anomalies that dependencies form, with a sentence for each step.
//!
//! Idea: the cycles are those that `anchorite check` looks for, by the same code. Cycles of plain reads are looked for
//! first, because vendors promise less about what writes and locking reads see. A cycle with one `rw` is a lost update
//! if both of its steps are about one row and what was written last does not depend on what it replaced.

use std::collections::BTreeSet;

use anchorite_check::graph::cycles::{Component, PATTERNS, Pattern, Priority};
use anchorite_check::graph::{Csr, EdgeList, Kind, RW, components};
use anchorite_check::lattice;
use anchorite_check::witness::kind_of;
use anchorite_claims::Anomaly;
use anchorite_model::Dependency;
use anchorite_model::sql::{Dialect, literal};

use super::Traced;
use super::edges::{Dependencies, Dirty, Edge};
use super::rows::VersionId;

/// An anomaly with its proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Which, as claims name it.
    pub anomaly: Anomaly,
    /// Its name among cycles (`G-single-item`, `G-nonadjacent`).
    pub shape: &'static str,
    /// Whether a write or a locking read takes part.
    pub by_write: bool,
    /// The steps of the cycle; none for a read of what does not count.
    pub steps: Vec<Edge>,
    /// The same as data.
    pub cycle: Vec<Dependency>,
    /// A sentence for each.
    pub because: Vec<String>,
}

/// Which relation explains a pair that has several: data before order.
const DATA_FIRST: Priority = [
    Kind::Ww as u8,
    Kind::WwPredicate as u8,
    Kind::Wr as u8,
    Kind::WrPredicate as u8,
    Kind::Rw as u8,
    Kind::RwPredicate as u8,
    Kind::Session as u8,
    Kind::RealTime as u8,
];

/// The shapes of cycles and their claims; those with session order and real time are not looked for.
fn shapes() -> impl Iterator<Item = &'static Pattern> {
    PATTERNS.iter().filter(|pattern| pattern.extra == 0)
}

/// The anomalies that these dependencies form, the worst first.
pub fn sightings(
    dependencies: &Dependencies,
    with_possible: bool,
    transactions: usize,
) -> Vec<(Anomaly, &'static str, bool, Vec<Edge>)> {
    let mut edges: Vec<&Edge> = dependencies.certain.iter().collect();
    if with_possible {
        edges.extend(&dependencies.possible);
    }
    let mut found: Vec<(Anomaly, &'static str, bool, Vec<Edge>)> = Vec::new();
    for plain in [true, false] {
        let chosen: Vec<&Edge> =
            edges.iter().copied().filter(|edge| !plain || !edge.by_write).collect();
        for (shape, steps) in cycles(&chosen, transactions) {
            let anomaly = named(shape, &steps);
            let by_write = steps.iter().any(|edge| edge.by_write);
            if !found.iter().any(|(known, ..)| *known == anomaly) {
                found.push((anomaly, shape, by_write, steps));
            }
        }
    }
    found
}

fn cycles(edges: &[&Edge], transactions: usize) -> Vec<(&'static str, Vec<Edge>)> {
    let mut list = EdgeList::default();
    for edge in edges {
        list.push_kind(edge.from as u32, edge.to as u32, edge.kind as u8);
    }
    let graph = Csr::new(transactions, &list);
    let mut found: Vec<(&'static str, Vec<Edge>)> = Vec::new();
    for nodes in components(&graph, 0) {
        let component = Component::new(&graph, nodes, Some(&DATA_FIRST));
        let mut redundant: BTreeSet<&'static str> = BTreeSet::new();
        for pattern in shapes().filter(|pattern| pattern.name != "G-nonadjacent-item") {
            if redundant.contains(pattern.name) {
                continue;
            }
            let Some(cycle) = component.find(pattern) else { continue };
            redundant.extend(lattice::implied_by(pattern.name));
            let next = cycle.iter().map(|step| step.0).cycle().skip(1);
            let steps = cycle.iter().zip(next).filter_map(|(&(from, kind), to)| {
                let is_it = |edge: &&&Edge| {
                    (edge.from as u32, edge.to as u32, edge.kind) == (from, to, kind_of(kind))
                };
                let all = edges.iter().filter(is_it);
                all.min_by_key(|edge| edge.by_write).map(|edge| (*edge).clone())
            });
            let steps: Vec<Edge> = steps.collect();
            if !found.iter().any(|(known, _)| *known == pattern.name) {
                found.push((pattern.name, steps));
            }
        }
    }
    found
}

/// What claims call a cycle.
fn named(shape: &str, steps: &[Edge]) -> Anomaly {
    let before: Vec<&Edge> = steps.iter().filter(|edge| edge.kind as u8 & RW != 0).collect();
    let by_condition = before.iter().any(|edge| edge.kind == Kind::RwPredicate);
    let same_row = steps.iter().all(|edge| edge.row == steps[0].row);
    let is_lost = |edge: &Edge| edge.kind == Kind::Ww && edge.is_blind;
    match before.len() {
        0 if shape == "G0" => Anomaly::G0,
        0 => Anomaly::G1c,
        1 if steps.len() == 2 && same_row && !by_condition && steps.iter().any(is_lost) => {
            Anomaly::P4
        }
        1 if by_condition => Anomaly::Pmp,
        1 => Anomaly::GSingle,
        _ if by_condition => Anomaly::G2,
        _ => Anomaly::G2Item,
    }
}

impl Traced<'_> {
    /// All anomalies that are certain, with their proofs.
    pub fn sightings(&self, dialect: Dialect) -> Vec<Sighting> {
        let mut found: Vec<Sighting> = Vec::new();
        for dirty in &self.dependencies.dirty {
            let anomaly = if dirty.is_intermediate { Anomaly::G1b } else { Anomaly::G1a };
            if !found.iter().any(|known| known.anomaly == anomaly) {
                found.push(Sighting {
                    anomaly,
                    shape: anomaly.name(),
                    by_write: self.looks[dirty.look].by_write,
                    steps: Vec::new(),
                    cycle: Vec::new(),
                    because: vec![self.dirty_told(dirty, dialect)],
                });
            }
        }
        let cycles = sightings(self.dependencies, false, self.transactions.len());
        found.extend(cycles.into_iter().map(|(anomaly, shape, by_write, steps)| {
            let because = steps.iter().map(|edge| self.told(edge, dialect)).collect();
            let cycle = steps.iter().map(|edge| self.dependency(edge)).collect();
            Sighting { anomaly, shape, by_write, steps, cycle, because }
        }));
        found
    }

    /// The anomalies that would be there if every possible dependency were one.
    pub fn possible(&self) -> Vec<(Anomaly, bool)> {
        let all = sightings(self.dependencies, true, self.transactions.len());
        all.into_iter().map(|(anomaly, _, by_write, _)| (anomaly, by_write)).collect()
    }

    fn name(&self, transaction: usize) -> &str {
        &self.transactions[transaction].name
    }

    /// A version in words.
    pub fn version_told(&self, id: VersionId, dialect: Dialect) -> String {
        let version = &self.versions.all[id];
        let table = &self.versions.tables[self.versions.rows[version.row].table];
        let shown = if version.is_gone {
            version.before.and_then(|before| self.versions.all[before].values.as_ref())
        } else {
            version.values.as_ref()
        };
        let Some((_, values)) = shown.and_then(|values| values.split_last()) else {
            return format!("a row of {table}");
        };
        let told: Vec<String> = values.iter().map(|value| literal(value, dialect)).collect();
        format!("({}) of {table}", told.join(", "))
    }

    fn dirty_told(&self, dirty: &Dirty, dialect: Dialect) -> String {
        let look = &self.looks[dirty.look];
        let version = &self.versions.all[dirty.seen];
        let writer = version.writer.map_or("the set-up", |writer| self.name(writer));
        let wrote = if version.is_gone { "deleted" } else { "wrote" };
        let became = match (dirty.is_intermediate, version.is_undone) {
            (true, _) => "changed again before it committed",
            _ => "never committed",
        };
        format!(
            "{} of {} saw {}, which {writer} {wrote} in step {} and {became}",
            self.case.told(look.n),
            self.name(look.reader),
            self.version_told(dirty.seen, dialect),
            self.case.of(version.n)
        )
    }

    /// A dependency as data: by the numbers of the original statements.
    fn dependency(&self, edge: &Edge) -> Dependency {
        let wrote = self.versions.all[edge.wrote].n;
        let other = match edge.look {
            Some(look) => self.looks[look].n,
            None => edge.seen.map_or(wrote, |seen| self.versions.all[seen].n),
        };
        let is_later = matches!(edge.kind, Kind::Wr | Kind::WrPredicate);
        let (from, to) = if is_later { (wrote, other) } else { (other, wrote) };
        Dependency {
            from: self.name(edge.from).to_owned(),
            to: self.name(edge.to).to_owned(),
            kind: edge.kind_name().to_owned(),
            from_step: self.case.of(from),
            to_step: self.case.of(to),
        }
    }

    /// A dependency in a sentence.
    pub fn told(&self, edge: &Edge, dialect: Dialect) -> String {
        let wrote = &self.versions.all[edge.wrote];
        let version = self.version_told(edge.wrote, dialect);
        let (from, to) = (self.name(edge.from), self.name(edge.to));
        let written = self.case.of(wrote.n);
        let by = if wrote.is_gone { "deleted" } else { "wrote" };
        let reader = edge.look.map(|at| self.case.told(self.looks[at].n)).unwrap_or_default();
        let seen = edge.seen.map(|id| self.version_told(id, dialect));
        let because = match edge.kind {
            Kind::Ww => format!(
                "step {written} of {to} {by} {version} after {}",
                seen.map_or_else(String::new, |seen| format!("{from} had written {seen}"))
            ),
            Kind::Wr => {
                format!("{reader} of {to} saw {version}, which step {written} of {from} wrote")
            }
            Kind::WrPredicate if wrote.is_gone => format!(
                "{reader} of {to} did not find {version} any more, which step {written} of {from} deleted"
            ),
            Kind::WrPredicate => format!(
                "what matched in {reader} of {to} had been changed by step {written} of {from}, which wrote \
                 {version}"
            ),
            Kind::RwPredicate => match seen {
                None => format!(
                    "{reader} of {from} did not find {version}, which step {written} of {to} wrote"
                ),
                Some(seen) => format!(
                    "step {written} of {to} {by} {version}, which changed what matched in {reader} of {from}: \
                     it had seen {seen}"
                ),
            },
            _ => {
                let saw = seen.unwrap_or_else(|| "no such row".to_owned());
                let saw = match edge.look {
                    Some(_) => format!("{reader} of {from} saw {saw}"),
                    None => format!("what {from} wrote was made from {saw}"),
                };
                let change = if wrote.is_gone {
                    "deleted".to_owned()
                } else {
                    format!("replaced by {version}")
                };
                format!("{saw}, which step {written} of {to} {change}")
            }
        };
        format!("{from} before {to}: {because}")
    }
}
