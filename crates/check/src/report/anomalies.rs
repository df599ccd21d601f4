//! Looks for anomalies in the certain dependencies.

use super::Report;
use crate::analysis::Analysis;
use crate::axiomatic::weak::{Forced, Weak, forced_orders};
use crate::graph::cycles::{Component, Cycle, PATTERNS, Pattern, Priority};
use crate::graph::{Csr, EdgeList, Kind, REAL_TIME, SESSION, components};
use crate::lattice;
use crate::levels::{LevelVerdict, STRICT};
use crate::model::{NONE, Workload};
use crate::names::Asked;
use crate::polygraph::Reason;
use crate::scans::Scan;
use crate::witness::{Anomaly, Explainer};
use std::collections::BTreeSet;

/// Our own names for violations of the axiomatic levels.
pub(super) const OURS: [&str; 3] = ["non-monotonic-read", "fractured-read", "causal-violation"];

/// Which relation explains two transactions that have several in Elle's reports: data before order.
pub(super) const DATA_FIRST: Priority = [
    Kind::Ww as u8,
    Kind::WwPredicate as u8,
    Kind::Wr as u8,
    Kind::WrPredicate as u8,
    Kind::Rw as u8,
    Kind::RwPredicate as u8,
    Kind::Session as u8,
    Kind::RealTime as u8,
];

/// All anomalies: scans, cycles, and forced orders of the weak axiomatic levels.
pub(super) fn find(analysis: &Analysis<'_>, asked: &[Asked], report: &Report) -> Vec<Anomaly> {
    let orders = match analysis.history.workload {
        Workload::ListAppend => analysis.known(),
        _ => analysis.derived(),
    };
    let explainer = Explainer::new(analysis.history, &analysis.resolved, orders);
    let mut found = grouped(&explainer, &analysis.scans());
    let fails = |name: &str| {
        report.levels.iter().any(|entry| entry.0 == name && entry.1 == LevelVerdict::Fails)
    };
    let asks = |prefix: &str| asked.iter().any(|level| level.name.starts_with(prefix));
    // Whether an order is what makes some level fail that would hold without it.
    let matters = |strong: &str, plain: &str| {
        ["read-uncommitted", "read-committed", "snapshot-isolation", "serializable"]
            .iter()
            .any(|base| fails(&format!("{strong}{base}")) && !fails(&format!("{plain}{base}")))
    };
    let session_matters = matters("strong-session-", "");
    let axiomatic_fails = report.axiomatic.iter().any(|entry| entry.1 == LevelVerdict::Fails);
    let real_time = asks("strong-read")
        || asks("strong-snapshot")
        || asks("strict-")
        || matters("strong-", "strong-session-")
        || fails(STRICT) && !fails("strong-session-serializable");
    let real_time = real_time && analysis.contradicting_times().is_none();
    let session = !real_time
        && (asks("strong-session-")
            || session_matters
            || axiomatic_fails && !fails("serializable"));
    let mut edges = EdgeList::default();
    analysis.edges(orders, session, real_time, |from, to, kind| {
        edges.push_kind(from, to, kind as u8);
    });
    let graph = Csr::new(analysis.history.txns.len(), &edges);
    for (pattern, cycle) in cycles(&graph, None, session, real_time) {
        if !found.iter().any(|anomaly| anomaly.name == pattern.name) {
            found.push(explainer.anomaly(pattern.name, &cycle));
        }
    }
    found.extend(weak_anomaly(analysis, &explainer, report));
    found.sort_by_key(|anomaly| rank(anomaly.name));
    found
}

/// Scans come first, then cycles, worst first.
fn rank(name: &str) -> usize {
    PATTERNS.iter().position(|pattern| pattern.name == name).map_or(0, |at| at + 1)
}

/// One anomaly per kind of scan.
pub(super) fn grouped(explainer: &Explainer<'_>, scans: &[&Scan]) -> Vec<Anomaly> {
    let names: BTreeSet<&'static str> = scans.iter().map(|scan| scan.name).collect();
    names
        .into_iter()
        .map(|name| {
            let of_name: Vec<&Scan> =
                scans.iter().copied().filter(|scan| scan.name == name).collect();
            explainer.scanned(name, &of_name)
        })
        .collect()
}

/// The worst cycles of every component, skipping types that a found one implies.
pub(super) fn cycles(
    graph: &Csr,
    priority: Option<&Priority>,
    session: bool,
    real_time: bool,
) -> Vec<(&'static Pattern, Cycle)> {
    let mut found: Vec<(&'static Pattern, Cycle)> = Vec::new();
    for nodes in components(graph, 0) {
        let component = Component::new(graph, nodes, priority);
        let mut redundant: BTreeSet<&'static str> = BTreeSet::new();
        for pattern in &PATTERNS {
            let applies = match pattern.extra {
                SESSION => session,
                REAL_TIME => real_time,
                _ => true,
            };
            if !applies || redundant.contains(pattern.name) {
                continue;
            }
            if let Some(cycle) = component.find(pattern) {
                redundant.extend(lattice::implied_by(pattern.name));
                let shorter = |known: &Cycle| cycle.len() < known.len();
                match found.iter_mut().find(|entry| entry.0.name == pattern.name) {
                    Some(entry) if shorter(&entry.1) => entry.1 = cycle,
                    Some(_) => {}
                    None => found.push((pattern, cycle)),
                }
            }
        }
    }
    found
}

/// Read committed, read atomic or causal of the axiomatic family: the reads that contradict each other.
fn weak_anomaly(
    analysis: &Analysis<'_>,
    explainer: &Explainer<'_>,
    report: &Report,
) -> Option<Anomaly> {
    let fails = |name: &str| {
        report.axiomatic.iter().any(|entry| entry.0 == name && entry.1 == LevelVerdict::Fails)
    };
    let (level, name) = if fails("read-committed") {
        (Weak::ReadCommitted, "non-monotonic-read")
    } else if fails("read-atomic") {
        (Weak::ReadAtomic, "fractured-read")
    } else if fails("causal") {
        (Weak::Causal, "causal-violation")
    } else {
        return None;
    };
    let forced = forced_orders(&analysis.context(), level);
    let (steps, transactions) = forced_cycle(analysis, &forced)?;
    let history = analysis.history;
    let mut because = Vec::new();
    let mut ops = Vec::new();
    for (from, to, why) in &steps {
        let before = history.txn_name(*from);
        match why {
            Some(order) => {
                let read = history.ops[order.op as usize];
                let reader = history.txn_name(analysis.resolved.op_txn[order.op as usize]);
                let key = history.key_name(read.key);
                let value = crate::witness::value_text(history, order.op);
                let after = if *to == NONE {
                    "the initial state".to_owned()
                } else {
                    history.txn_name(*to)
                };
                because.push(format!(
                    "{before} < {after}, because {reader} knew {before}, which writes {key} too, and yet \
                     read {key} = {value} from {after}"
                ));
                ops.push(order.op);
            }
            None => {
                let wr = analysis.context().reads(*to).any(|read| read.from == *from);
                let kind = if wr { Kind::Wr } else { Kind::Session };
                let step = explainer.anomaly(name, &vec![(*from, kind as u8), (*to, 0)]);
                because.extend(step.because.into_iter().take(1));
            }
        }
    }
    Some(Anomaly { name, also: Vec::new(), steps: Vec::new(), transactions, ops, because })
}

type ForcedStep = (u32, u32, Option<Forced>);

/// A cycle of base and forced orders, or an order before the initial state.
fn forced_cycle(analysis: &Analysis<'_>, forced: &[Forced]) -> Option<(Vec<ForcedStep>, Vec<u32>)> {
    if let Some(order) = forced.iter().find(|order| order.after == NONE) {
        let reader = analysis.resolved.op_txn[order.op as usize];
        return Some((vec![(order.before, NONE, Some(*order))], vec![order.before, reader]));
    }
    let mut edges = EdgeList::default();
    for (from, to, _) in analysis.context().base_edges().iter() {
        edges.push_kind(from, to, SESSION);
    }
    for order in forced {
        edges.push_kind(order.before, order.after, Kind::Ww as u8);
    }
    let graph = Csr::new(analysis.history.txns.len(), &edges);
    let nodes = components(&graph, 0).into_iter().next()?;
    let component = Component::new(&graph, nodes, None);
    let pattern = Pattern {
        name: "G0",
        anti: crate::graph::cycles::Anti::None,
        wr: false,
        predicate: true,
        extra: 0,
    };
    let mixed = Pattern { extra: SESSION, ..pattern };
    let cycle = component.find(&mixed).or_else(|| component.find(&pattern))?;
    let steps = (0..cycle.len())
        .map(|at| {
            let (from, kind) = cycle[at];
            let to = cycle[(at + 1) % cycle.len()].0;
            let why = forced
                .iter()
                .find(|order| kind == Kind::Ww as u8 && order.before == from && order.after == to);
            (from, to, why.copied())
        })
        .collect();
    Some((steps, cycle.iter().map(|step| step.0).collect()))
}

/// "A cycle exists": a level fails, but only because every order of some writes leads to a cycle.
pub(super) fn existence(analysis: &Analysis<'_>, asked: &[Asked], report: &Report) -> Vec<Anomaly> {
    let history = analysis.history;
    asked
        .iter()
        .filter(|level| {
            let table = if level.adya { &report.levels } else { &report.axiomatic };
            table.iter().any(|entry| entry.0 == level.name && entry.1 == LevelVerdict::Fails)
        })
        .map(|level| {
            let mut transactions = Vec::new();
            let sentence = match analysis.reason() {
                Some(Reason::Contradiction(question)) => {
                    let key = history.key_name(question.key);
                    let (a, b) = (question.a_last, question.b_last);
                    transactions.extend([a, b]);
                    let (a, b) = (history.txn_name(a), history.txn_name(b));
                    format!(
                        "{a} and {b} both write {key}, and each order of the two closes a cycle with \
                         dependencies that are certain"
                    )
                }
                Some(Reason::NoAssignment { questions }) => format!(
                    "the order of {questions} pairs of writes is open, and every choice closes a cycle"
                ),
                _ => "the dependencies that are certain have a cycle".to_owned(),
            };
            let name = crate::names::cycle_exists(level.name);
            let because = vec![sentence];
            Anomaly { name, also: Vec::new(), steps: Vec::new(), transactions, ops: Vec::new(), because }
        })
        .collect()
}
