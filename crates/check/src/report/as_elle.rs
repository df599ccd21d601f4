//! The report that Elle would give: same inference, same names, same `not`.

use super::Report;
use super::anomalies::{DATA_FIRST, cycles, grouped};
use crate::analysis::Analysis;
use crate::elle::{Sources, infer};
use crate::graph::cycles::Priority;
use crate::graph::{Csr, EdgeList, Kind, RW};
use crate::hash::WordMap;
use crate::lattice;
use crate::levels::LevelVerdict;
use crate::model::{OpKind, Outcome, Workload};
use crate::predicates::PredicateEdges;
use crate::resolve::INIT;
use crate::scans::{Scan, UNBORN_READ};
use crate::witness::{Anomaly, Explainer};
use std::collections::BTreeSet;

/// Elle's options.
#[derive(Clone, Debug, Default)]
pub struct ElleOptions {
    /// Levels expected to hold, by canonical name.
    pub models: Vec<&'static str>,
    /// Further anomalies that are not wanted.
    pub anomalies: Vec<&'static str>,
    /// Where version orders of registers may come from.
    pub sources: Sources,
}

/// Elle explains a register pair by wr first.
const REGISTER_PRIORITY: Priority = [
    Kind::Wr as u8,
    Kind::WrPredicate as u8,
    Kind::Ww as u8,
    Kind::WwPredicate as u8,
    Kind::Rw as u8,
    Kind::RwPredicate as u8,
    Kind::Session as u8,
    Kind::RealTime as u8,
];

/// Anomalies that make a result unknown instead of invalid.
const META: &str = "empty-transaction-graph";

/// Fills anomalies, `valid` and `not` as Elle does.
pub(super) fn fill(report: &mut Report, analysis: &Analysis<'_>, options: &ElleOptions) {
    let wanted: BTreeSet<&'static str> = options.anomalies.iter().copied().collect();
    let mut prohibited = lattice::implying(&wanted);
    for model in &options.models {
        prohibited.extend(lattice::prohibited_by(model));
    }
    let mentions = |suffix: &str| prohibited.iter().any(|name| name.ends_with(suffix));
    let real_time = mentions("-realtime");
    let session = !real_time && mentions("-process");
    let found = find(analysis, options, session, real_time);
    let names: BTreeSet<&'static str> = found.iter().map(|anomaly| anomaly.name).collect();
    let (shown, others): (Vec<Anomaly>, Vec<Anomaly>) = found
        .into_iter()
        .partition(|anomaly| prohibited.contains(anomaly.name) || anomaly.name == META);
    report.valid = if shown.iter().any(|anomaly| anomaly.name != META) {
        LevelVerdict::Fails
    } else if shown.is_empty() {
        LevelVerdict::Holds
    } else {
        LevelVerdict::Unknown("no two transactions depend on each other".to_owned())
    };
    report.not = if shown.is_empty() { Vec::new() } else { lattice::boundary(&names) };
    report.asked = options.models.clone();
    report.anomalies = shown;
    report.others = others;
}

fn find(
    analysis: &Analysis<'_>,
    options: &ElleOptions,
    session: bool,
    real_time: bool,
) -> Vec<Anomaly> {
    let history = analysis.history;
    let registers = history.workload == Workload::Registers;
    let orders = analysis.known();
    let mut edges = EdgeList::default();
    let mut given = WordMap::default();
    let mut cyclic = Vec::new();
    if registers {
        let mut inferred = infer(history, &analysis.sessions, &options.sources);
        edges.append(&mut inferred.edges);
        given = inferred.because;
        cyclic = inferred.cyclic;
        order_edges(analysis, session, real_time, &mut edges);
    } else {
        analysis.edges(orders, session, real_time, |from, to, kind| {
            edges.push_kind(from, to, kind as u8);
        });
    }
    let explainer = Explainer::new(history, &analysis.resolved, orders).with_edges(given);
    let mut scans = analysis.scans();
    scans.retain(|scan| elle_sees(analysis, scan));
    if scans.iter().any(|scan| scan.name == UNBORN_READ) {
        let after = after_initial(analysis, &edges);
        let reader = |scan: &Scan| analysis.resolved.op_txn[scan.ops[0] as usize];
        scans.retain(|scan| scan.name != UNBORN_READ || after[reader(scan) as usize]);
    }
    let mut found = grouped(&explainer, &scans);
    if !cyclic.is_empty() {
        let because = cyclic.iter().map(|(key, values, source)| {
            let shown: Vec<String> =
                values.iter().map(|value| history.symbols.show(*value)).collect();
            format!(
                "{} took the values {} in a circle ({source})",
                history.key_name(*key),
                shown.join(", ")
            )
        });
        let because = because.collect();
        found.push(bare("cyclic-versions", because));
    }
    if edges.is_empty() && scans.iter().all(|scan| scan.name != UNBORN_READ) {
        found.push(bare(META, vec!["no two transactions depend on each other".to_owned()]));
    }
    let graph = Csr::new(history.txns.len(), &edges);
    let priority = if registers { &REGISTER_PRIORITY } else { &DATA_FIRST };
    for (pattern, cycle) in cycles(&graph, Some(priority), session, real_time) {
        found.push(explainer.anomaly(pattern.name, &cycle));
    }
    found
}

/// Which transactions the operation that made the initial state precedes, by data and without an anti-dependency.
fn after_initial(analysis: &Analysis<'_>, edges: &EdgeList) -> Vec<bool> {
    let Analysis { history, resolved, .. } = analysis;
    let mut after = vec![false; history.txns.len()];
    let orders = analysis.known();
    let mut queue = PredicateEdges::new(history, resolved, orders).of_initial();
    let has_value = |op: usize| !history.initial_value(history.ops[op].key).is_nil();
    let touches = |op: usize| resolved.source(op) == INIT || history.ops[op].kind.is_write();
    let items = (0..history.ops.len()).filter(|op| has_value(*op) && touches(*op));
    queue.extend(items.map(|op| resolved.op_txn[op]));
    let graph = Csr::new(history.txns.len(), edges);
    while let Some(txn) = queue.pop() {
        if !resolved.included[txn as usize] || std::mem::replace(&mut after[txn as usize], true) {
            continue;
        }
        queue.extend(graph.out(txn).filter(|(_, kind)| kind & RW == 0).map(|(to, _)| to));
    }
    after
}

fn order_edges(analysis: &Analysis<'_>, session: bool, real_time: bool, edges: &mut EdgeList) {
    if session {
        crate::dsg::session_edges(&analysis.sessions, |from, to| {
            edges.push_kind(from, to, Kind::Session as u8);
        });
    }
    if real_time {
        crate::dsg::real_time_edges(analysis.history, &analysis.resolved, |from, to| {
            edges.push_kind(from, to, Kind::RealTime as u8);
        });
    }
}

fn bare(name: &'static str, because: Vec<String>) -> Anomaly {
    Anomaly {
        name,
        also: Vec::new(),
        steps: Vec::new(),
        transactions: Vec::new(),
        ops: Vec::new(),
        because,
    }
}

/// Whether Elle has this scan, too.
fn elle_sees(analysis: &Analysis<'_>, scan: &Scan) -> bool {
    let history = analysis.history;
    let registers = history.workload == Workload::Registers;
    let reader = analysis.resolved.op_txn[scan.ops[0] as usize] as usize;
    let committed = history.txns[reader].outcome == Outcome::Committed;
    match scan.name {
        "internal" | "future-read" | "G1a" | "G1b" if !committed => false,
        "thin-air-read" | "written-twice" => false,
        "future-read" => !registers,
        "internal" if registers => {
            // Elle treats a nil that was read before as "nothing known".
            let before = history.ops[scan.ops[1] as usize];
            before.kind != OpKind::Read || !before.value.is_nil()
        }
        _ => true,
    }
}
