//! Dependencies between committed transactions, and the anomalies that their cycles represent.
//!
//! Source: Adya's direct serialization graph. `ww`: one overwrote what the other wrote; `wr`: one read what the other
//! wrote; `rw`: one read what the other then overwrote, or did not see what the other made match its condition. A cycle
//! of `ww` alone is G0, with `wr` G1c, with one `rw` G-single (PMP where a condition was involved), with more G2-item
//! or G2. A lost update (P4, Berenson) is a G-single whose two edges are about one row, and whose last write did not
//! read what it overwrote: if it did, nothing is lost.
//!
//! Every edge is proved by rows: [`Observation::seen`] lists everything that a statement can have seen, and all of it
//! must agree.

use anchorite_claims::Anomaly;

use super::history::History;
use super::observation::{Observation, Proof, Seen};
use crate::evidence::transactions::Transaction;

/// The longest cycle that is looked for.
const LENGTH_MAX: usize = 4;

/// An anomaly with its proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenAnomaly {
    /// Which.
    pub anomaly: Anomaly,
    /// Whether a write or a locking read takes part: vendors promise less about what these see.
    pub by_write: bool,
    /// Why, a sentence for each fact.
    pub because: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    WriteWrite,
    WriteRead,
    ReadWrite,
    /// A `ReadWrite` of a row that the condition had not matched.
    Predicate,
}

#[derive(Debug, Clone)]
struct Edge {
    from: usize,
    to: usize,
    kind: Kind,
    row: usize,
    by_write: bool,
    /// A `WriteWrite` that read nothing of what it overwrote.
    blind: bool,
    because: String,
}

/// Follows the dependencies.
pub struct Graph<'a> {
    history: &'a History,
    transactions: &'a [Transaction<'a>],
    edges: Vec<Edge>,
}

impl<'a> Graph<'a> {
    /// The dependencies of the committed transactions.
    pub fn of(history: &'a History, transactions: &'a [Transaction<'a>]) -> Self {
        let mut graph = Self { history, transactions, edges: Vec::new() };
        graph.overwrites();
        for observation in &history.observations {
            if transactions[observation.reader].committed && history.is_sure_of(observation.row) {
                graph.edges.extend(graph.read_from(observation));
                graph.edges.extend(graph.read_before(observation));
            }
        }
        graph
    }

    /// Reads of what was rolled back, or later overwritten by its own writer.
    pub fn dirty_reads(&self) -> Vec<SeenAnomaly> {
        let mut found: Vec<SeenAnomaly> = Vec::new();
        let committed = |observation: &&Observation| {
            self.transactions[observation.reader].committed
                && self.history.is_sure_of(observation.row)
        };
        for observation in self.history.observations.iter().filter(committed) {
            let Some((writer, version)) = self.writer(observation) else { continue };
            let is_intermediate = |seen: &Seen| match seen {
                Seen::Unborn => false,
                Seen::Version(index) => {
                    let mut later =
                        self.history.installed(observation.row).filter(|(v, _)| v > index);
                    later.any(|(_, version)| version.writer == Some(writer))
                }
            };
            let (anomaly, became) = if !self.transactions[writer].committed {
                (Anomaly::G1a, "was rolled back")
            } else if observation.seen.iter().all(is_intermediate) {
                (Anomaly::G1b, "changed it again before it committed")
            } else {
                continue;
            };
            let because = vec![
                format!("{} {}", self.saw(observation), self.origin(writer, version)),
                format!("{} {became}", self.name(writer)),
            ];
            if !found.iter().any(|known| known.anomaly == anomaly) {
                found.push(SeenAnomaly { anomaly, by_write: observation.by_write, because });
            }
        }
        found
    }

    /// The anomalies that are cycles, each once, with the shortest proof.
    pub fn cycles(&self) -> Vec<SeenAnomaly> {
        let mut found: Vec<SeenAnomaly> = Vec::new();
        for length in 2..=LENGTH_MAX {
            for start in 0..self.transactions.len() {
                self.extend(&mut vec![start], length, &mut found);
            }
        }
        found
    }

    /// Extends a path from its last transaction; a cycle begins at its smallest index.
    fn extend(&self, path: &mut Vec<usize>, length: usize, found: &mut Vec<SeenAnomaly>) {
        let Some(last) = path.last().copied() else { return };
        if path.len() == length {
            self.close(path, found);
            return;
        }
        for next in path[0] + 1..self.transactions.len() {
            if !path.contains(&next) && self.edges.iter().any(|e| (e.from, e.to) == (last, next)) {
                path.push(next);
                self.extend(path, length, found);
                path.pop();
            }
        }
    }

    /// Names the cycle that a path forms, for every choice of its strongest edges.
    fn close(&self, path: &[usize], found: &mut Vec<SeenAnomaly>) {
        let ends = path.iter().copied().zip(path.iter().copied().cycle().skip(1));
        let choices: Vec<Vec<&Edge>> = ends.map(|(from, to)| self.strongest(from, to)).collect();
        let mut cycles: Vec<Vec<&Edge>> = vec![Vec::new()];
        for choice in &choices {
            cycles = cycles
                .iter()
                .flat_map(|cycle| {
                    choice.iter().map(move |edge| [cycle.as_slice(), &[*edge]].concat())
                })
                .collect();
        }
        cycles.iter().for_each(|cycle| note(cycle, found));
    }

    /// The most significant edges from one transaction to another: what was written or seen takes precedence over what
    /// was not yet, and a row that was seen over one that was missed.
    fn strongest(&self, from: usize, to: usize) -> Vec<&Edge> {
        let rank = |edge: &Edge| match edge.kind {
            Kind::WriteWrite | Kind::WriteRead => 0,
            Kind::ReadWrite => 1,
            Kind::Predicate => 2,
        };
        let edges = || self.edges.iter().filter(|edge| (edge.from, edge.to) == (from, to));
        let best = edges().map(rank).min();
        let mut chosen: Vec<&Edge> = Vec::new();
        for edge in edges().filter(|edge| Some(rank(edge)) == best) {
            let alike = |known: &&&Edge| {
                (known.kind, known.row, known.by_write) == (edge.kind, edge.row, edge.by_write)
            };
            if !chosen.iter().any(|known| alike(&known)) {
                chosen.push(edge);
            }
        }
        // Plain reads prove most.
        chosen.sort_by_key(|edge| edge.by_write);
        chosen
    }

    fn name(&self, transaction: usize) -> &str {
        &self.transactions[transaction].name
    }

    /// `step 3 of t1 saw`, and for a write what shows it.
    fn saw(&self, observation: &Observation) -> String {
        let step = format!("step {} of {}", observation.n, self.name(observation.reader));
        match observation.proof {
            Proof::Rows => format!("{step} saw"),
            Proof::Count => format!("the count of {step} shows that it saw"),
            Proof::Made(_) => format!("what {step} wrote shows that it saw"),
        }
    }

    /// `(1, 11), which t2 wrote in step 4`, or that a row was deleted.
    fn origin(&self, writer: usize, version: usize) -> String {
        let (name, n) = (self.name(writer), self.history.versions[version].n);
        match self.history.versions[version].values {
            Some(_) => format!("{}, which {name} wrote in step {n}", self.history.told(version)),
            None => format!("that a row was gone, which {name} deleted in step {n}"),
        }
    }

    /// The writer of what a observation saw, if it is another transaction and certain.
    fn writer(&self, observation: &Observation) -> Option<(usize, usize)> {
        let mut found = None;
        for seen in &observation.seen {
            let Seen::Version(index) = seen else { return None };
            let writer = self.history.versions[*index].writer?;
            if found.is_some_and(|(known, _)| known != writer) {
                return None;
            }
            found = Some((writer, *index));
        }
        found.filter(|(writer, _)| *writer != observation.reader)
    }

    fn overwrites(&mut self) {
        let rows = self.history.versions.iter().map(|version| version.row + 1).max().unwrap_or(0);
        for row in (0..rows).filter(|row| self.history.is_sure_of(*row)) {
            let chain: Vec<_> = self.history.installed(row).collect();
            for pair in chain.windows(2) {
                let [(before, first), (_, second)] = pair else { continue };
                let (Some(from), Some(to)) = (first.writer, second.writer) else { continue };
                if from != to {
                    let because = format!(
                        "step {} of {} overwrote {}",
                        second.n,
                        self.name(to),
                        self.origin(from, *before)
                    );
                    let (kind, blind) = (Kind::WriteWrite, self.history.is_blind(second));
                    self.edges.push(Edge { from, to, kind, row, by_write: true, blind, because });
                }
            }
        }
    }

    fn read_from(&self, observation: &Observation) -> Option<Edge> {
        let (from, version) = self.writer(observation)?;
        self.transactions[from].committed.then_some(())?;
        let to = observation.reader;
        let because = format!("{} {}", self.saw(observation), self.origin(from, version));
        let (row, by_write, kind) = (observation.row, observation.by_write, Kind::WriteRead);
        Some(Edge { from, to, kind, row, by_write, blind: false, because })
    }

    /// The transaction that made the next version of what a observation saw.
    fn read_before(&self, observation: &Observation) -> Option<Edge> {
        let mut next = None;
        for seen in &observation.seen {
            let successor = self.successor(observation.row, *seen)?;
            if next.is_some_and(|known| known != successor) {
                return None;
            }
            next = Some(successor);
        }
        let index = next?;
        let version = &self.history.versions[index];
        let to = version.writer.filter(|writer| *writer != observation.reader)?;
        let (reader, writer) = (self.name(observation.reader), self.name(to));
        let (kind, because) = if observation.returned {
            let Seen::Version(saw) = observation.seen[0] else { return None };
            let change = if version.values.is_some() { "changed" } else { "deleted" };
            let told = self.history.told(saw);
            let because = format!(
                "{} {told}, which {writer} {change} in step {}",
                self.saw(observation),
                version.n
            );
            (Kind::ReadWrite, because)
        } else {
            // Only a version that matches would have made a difference.
            self.history.matches(version, observation.filter.as_ref())?.then_some(())?;
            let because = format!(
                "step {} of {reader} did not see {}",
                observation.n,
                self.origin(to, index)
            );
            (Kind::Predicate, because)
        };
        let (from, row, by_write) = (observation.reader, observation.row, observation.by_write);
        Some(Edge { from, to, kind, row, by_write, blind: false, because })
    }

    /// The next version of a row by another transaction.
    fn successor(&self, row: usize, seen: Seen) -> Option<usize> {
        let mut chain = self.history.installed(row);
        match seen {
            Seen::Unborn => chain.next().map(|(index, _)| index),
            Seen::Version(saw) => {
                let writer = self.history.versions[saw].writer;
                let mut later = chain.filter(|(index, _)| *index > saw);
                later.find(|(_, version)| version.writer != writer).map(|(index, _)| index)
            }
        }
    }
}

/// Gives a cycle its name, if it has not been seen yet.
fn note(edges: &[&Edge], found: &mut Vec<SeenAnomaly>) {
    let count = |kind: Kind| edges.iter().filter(|edge| edge.kind == kind).count();
    let predicates = count(Kind::Predicate);
    let reads_before = count(Kind::ReadWrite) + predicates;
    let same_row = edges.iter().all(|edge| edge.row == edges[0].row);
    let blind = edges.iter().all(|edge| edge.kind != Kind::WriteWrite || edge.blind);
    let pair = (count(Kind::ReadWrite), count(Kind::WriteWrite));
    let is_lost_update = edges.len() == 2 && pair == (1, 1) && same_row && blind;
    let anomaly = match reads_before {
        0 if count(Kind::WriteRead) == 0 => Anomaly::G0,
        0 => Anomaly::G1c,
        1 if is_lost_update => Anomaly::P4,
        1 if predicates == 1 => Anomaly::Pmp,
        1 => Anomaly::GSingle,
        _ if predicates > 0 => Anomaly::G2,
        _ => Anomaly::G2Item,
    };
    if found.iter().any(|known| known.anomaly == anomaly) {
        return;
    }
    let by_write = edges.iter().any(|edge| edge.by_write);
    let because = edges.iter().map(|edge| edge.because.clone()).collect();
    found.push(SeenAnomaly { anomaly, by_write, because });
}
