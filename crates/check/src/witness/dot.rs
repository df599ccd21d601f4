//! Witnesses as Graphviz text.

use super::op_text;
use super::{Anomaly, kind_name};
use crate::graph::Kind;
use crate::model::{History, OpId};
use std::fmt::Write;

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Ww | Kind::WwPredicate => "#c0392b",
        Kind::Wr | Kind::WrPredicate => "#2471a3",
        Kind::Rw | Kind::RwPredicate => "#b9770e",
        Kind::Session => "#5d6d7e",
        Kind::RealTime => "#7d3c98",
    }
}

/// One graph per anomaly, as clusters of one picture.
pub fn render(history: &History, anomalies: &[Anomaly]) -> String {
    let mut out = String::from(
        "digraph anomalies {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n  \
         edge [fontname=\"sans-serif\", fontsize=10];\n",
    );
    for (number, anomaly) in anomalies.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{number} {{");
        let _ = writeln!(out, "    label=\"{}\";", quoted(anomaly.name));
        for &txn in &anomaly.transactions {
            let mut lines = vec![history.txn_name(txn)];
            for op in history.range(txn) {
                if anomaly.ops.contains(&(op as OpId)) {
                    lines.push(op_text(history, op as OpId));
                }
            }
            let label = quoted(&lines.join("\n"));
            let _ = writeln!(out, "    a{number}_{txn} [label=\"{label}\"];");
        }
        for step in &anomaly.steps {
            let _ = writeln!(
                out,
                "    a{number}_{} -> a{number}_{} [label=\"{}\", tooltip=\"{}\", color=\"{}\"];",
                step.from,
                step.to,
                kind_name(step.kind),
                quoted(&step.because),
                colour(step.kind)
            );
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}
