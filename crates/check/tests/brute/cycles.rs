//! The names of cycles: every kind of simple cycle that exists must be reported, or one that implies it.

use super::generate::{Random, Shape, Tiny, build_with, generate, version_orders};
use super::judge::Judge;
use super::show;
use anchorite_check::graph::cycles::{Anti, PATTERNS, Pattern};
use anchorite_check::lattice::implied_by;
use anchorite_check::report::{Options, judge};
use std::collections::BTreeSet;

/// How two transactions depend on each other; two may depend in several ways.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Edge {
    Ww,
    Wr,
    Rw,
    RealTime,
}

/// All edges, those of neighbouring versions only.
fn edges(judge: &Judge<'_>, orders: &[Vec<usize>]) -> Vec<(usize, usize, Edge)> {
    let count = judge.txns.len();
    let mut edges = Vec::new();
    for (reader, txn) in judge.txns.iter().enumerate() {
        for &(key, from) in &txn.reads {
            if let Some(writer) = from {
                edges.push((writer, reader, Edge::Wr));
            }
            let before = orders[key].iter().position(|one| Some(*one) == from);
            if let Some(&next) = orders[key].get(before.map_or(0, |at| at + 1)) {
                edges.push((reader, next, Edge::Rw));
            }
        }
    }
    for order in orders {
        edges.extend(order.windows(2).map(|pair| (pair[0], pair[1], Edge::Ww)));
    }
    let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
    let timed = pairs.filter(|(a, b)| judge.real_time_before(*a, *b));
    edges.extend(timed.map(|(a, b)| (a, b, Edge::RealTime)));
    edges.retain(|(a, b, _)| a != b);
    edges
}

/// Calls `visit` with the edges of every simple cycle.
fn cycles(edges: &[(usize, usize, Edge)], visit: &mut dyn FnMut(&[Edge])) {
    fn extend(
        edges: &[(usize, usize, Edge)],
        path: &mut Vec<usize>,
        kinds: &mut Vec<Edge>,
        visit: &mut dyn FnMut(&[Edge]),
    ) {
        for &(from, to, kind) in edges {
            if from != path[path.len() - 1] || to < path[0] {
                continue;
            }
            kinds.push(kind);
            if to == path[0] {
                visit(kinds);
            } else if !path.contains(&to) {
                path.push(to);
                extend(edges, path, kinds, visit);
                path.pop();
            }
            kinds.pop();
        }
    }
    for start in 0..edges.iter().map(|edge| edge.0 + 1).max().unwrap_or(0) {
        extend(edges, &mut vec![start], &mut Vec::new(), visit);
    }
}

fn fits(pattern: &Pattern, cycle: &[Edge]) -> bool {
    let count = |kind: Edge| cycle.iter().filter(|edge| **edge == kind).count();
    let anti = count(Edge::Rw);
    let touching = (0..cycle.len())
        .any(|at| cycle[at] == Edge::Rw && cycle[(at + 1) % cycle.len()] == Edge::Rw);
    let of_pattern = match pattern.anti {
        Anti::None => anti == 0 && (count(Edge::Wr) > 0) == pattern.wr,
        Anti::Single => anti == 1,
        Anti::NonAdjacent => anti > 1 && !touching,
        Anti::Multiple => anti > 1,
    };
    of_pattern && (count(Edge::RealTime) > 0) == pattern.name.ends_with("-realtime")
}

fn compare(txns: &[Tiny], orders: &[Vec<usize>]) {
    let brute = Judge::new(txns);
    let patterns = PATTERNS.iter().filter(|pattern| {
        let item = pattern.name.starts_with("G0") || pattern.name.starts_with("G1c");
        (item || pattern.name.contains("-item")) && !pattern.name.ends_with("-process")
    });
    let patterns: Vec<&Pattern> = patterns.collect();
    let mut expected: BTreeSet<&'static str> = BTreeSet::new();
    cycles(&edges(&brute, orders), &mut |cycle| {
        let fitting = patterns.iter().filter(|pattern| fits(pattern, cycle));
        expected.extend(fitting.map(|pattern| pattern.name));
    });
    let strict = anchorite_check::names::level("strict-serializable").unwrap();
    let options = Options { levels: vec![strict], all_levels: true, ..Options::default() };
    let history = build_with(txns, orders);
    let report = judge(&history, &options);
    let all = report.anomalies.iter().chain(&report.others).map(|anomaly| anomaly.name);
    let found: BTreeSet<&'static str> =
        all.filter(|name| patterns.iter().any(|pattern| pattern.name == *name)).collect();
    let told = || format!("expected {expected:?}, found {found:?}\n{}{orders:?}", show(txns));
    assert!(found.is_subset(&expected), "{}", told());
    for name in &expected {
        assert!(found.iter().any(|one| implied_by(one).contains(name)), "{name}: {}", told());
    }
}

#[test]
fn every_cycle_has_its_name() {
    let mut random = Random::new(11);
    let shape = Shape { txns: 5, keys: 2, sessions: 5, steps: 3, odd: 0 };
    for _ in 0..1_000 {
        let txns = generate(&mut random, shape);
        let orders = version_orders(&mut random, &txns, shape.keys);
        compare(&txns, &orders);
    }
}
