//! Which levels does a history satisfy? Both families.
//!
//! Adya's and Elle's levels have no session order unless the name says so, and real time only where it says `strong` or
//! `strict`. Those of Biswas and Enea include session order in the commit order. A level holds if *some* version order
//! that agrees with what is known satisfies it; so "holds" and "fails" are both proofs, and everything else is
//! "unknown" with its reason. Monotonic atomic view means that whatever a transaction saw, its later reads see at least
//! that (the read-committed axiom of Biswas and Enea without sessions). Cursor stability means that no version lies
//! between the one that an update read and the one that it wrote.

use crate::analysis::Analysis;
use crate::axiomatic::weak::{self, Weak};
use crate::graph::{EdgeList, Kind};
pub use crate::level_verdict::LevelVerdict;
use crate::model::Workload;
use crate::orders::updates_fit;
use crate::polygraph::{Decision, Polygraph, Reason, Shape};
use crate::resolve::{Fault, INIT};
use crate::{consistent_view, lattice, replay};

/// Adya's and Elle's levels, weakest first.
pub const ADYA: [&str; 15] = [
    "read-uncommitted",
    "read-committed",
    "cursor-stability",
    "monotonic-atomic-view",
    "consistent-view",
    "repeatable-read",
    "snapshot-isolation",
    "serializable",
    "strong-session-read-uncommitted",
    "strong-session-read-committed",
    "strong-session-snapshot-isolation",
    "strong-session-serializable",
    "strong-read-uncommitted",
    "strong-read-committed",
    "strong-snapshot-isolation",
];

/// The strongest of them, under the name that the output uses.
pub const STRICT: &str = "strict-serializable";

/// The axiomatic levels, weakest first.
pub const AXIOMATIC: [&str; 6] =
    ["read-committed", "read-atomic", "causal", "prefix", "snapshot-isolation", "serializable"];

/// What a level of Adya's family consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    WriteOrder,
    ReadCommitted,
    CursorStability,
    AtomicView,
    ConsistentView,
    RepeatableRead,
    Snapshot,
    Serializable,
}

fn parts(level: &str) -> Option<(Base, bool, bool)> {
    let (rest, session, real_time) = if let Some(rest) = level.strip_prefix("strong-session-") {
        (rest, true, false)
    } else if let Some(rest) = level.strip_prefix("strong-").or(level.strip_prefix("strict-")) {
        (rest, false, true)
    } else {
        (level, false, false)
    };
    let base = match rest {
        "read-uncommitted" => Base::WriteOrder,
        "read-committed" => Base::ReadCommitted,
        "cursor-stability" => Base::CursorStability,
        "monotonic-atomic-view" => Base::AtomicView,
        "consistent-view" => Base::ConsistentView,
        "repeatable-read" => Base::RepeatableRead,
        "snapshot-isolation" => Base::Snapshot,
        "serializable" => Base::Serializable,
        _ => return None,
    };
    Some((base, session, real_time))
}

/// Decides one of Adya's and Elle's levels.
pub fn adya(analysis: &Analysis<'_>, level: &str) -> LevelVerdict {
    let Some((base, session, real_time)) = parts(level) else {
        return LevelVerdict::Unknown(format!("{level} is not decided"));
    };
    if analysis.is_serial_as_given(real_time) {
        return LevelVerdict::Holds;
    }
    if real_time && let Some(why) = analysis.contradicting_times() {
        let rest = level.split_once('-').map_or(level, |(_, rest)| rest);
        return match adya(analysis, &format!("strong-session-{rest}")) {
            LevelVerdict::Fails => LevelVerdict::Fails,
            _ => LevelVerdict::Unknown(why),
        };
    }
    let model = lattice::canonical(level).unwrap_or("serializable");
    let prohibited = lattice::prohibited_by(model);
    if analysis.scanned(&prohibited) {
        return LevelVerdict::Fails;
    }
    let verdict = decide(analysis, base, session, real_time);
    if verdict != LevelVerdict::Holds {
        return verdict;
    }
    if real_time && !analysis.history.has_real_time() {
        return LevelVerdict::Unknown("the history has no real time".to_owned());
    }
    settled(analysis)
}

/// `Holds`, unless reads had to be set aside.
fn settled(analysis: &Analysis<'_>) -> LevelVerdict {
    if analysis.resolved.ambiguous {
        return LevelVerdict::Unknown(
            "a value that was written more than once was read, so its writer is not known"
                .to_owned(),
        );
    }
    LevelVerdict::Holds
}

fn decide(analysis: &Analysis<'_>, base: Base, session: bool, real_time: bool) -> LevelVerdict {
    match base {
        Base::WriteOrder | Base::ReadCommitted | Base::AtomicView => {
            weak_graph(analysis, base, session, real_time)
        }
        Base::CursorStability => {
            let Analysis { history, resolved, .. } = analysis;
            if analysis.clash().is_some() || !updates_fit(history, resolved, analysis.derived()) {
                return LevelVerdict::Fails;
            }
            polygraph(analysis, Shape::WriteRead, session, real_time, false)
        }
        Base::ConsistentView => match decide(analysis, Base::CursorStability, session, real_time) {
            LevelVerdict::Holds => consistent_view::decide(analysis, session, real_time),
            other => other,
        },
        Base::RepeatableRead => polygraph(analysis, Shape::Serial, session, real_time, false),
        Base::Snapshot => polygraph(analysis, Shape::Snapshot, session, real_time, true),
        Base::Serializable => polygraph(analysis, Shape::Serial, session, real_time, true),
    }
}

/// Levels for which any linear extension of the edges is a version order.
fn weak_graph(analysis: &Analysis<'_>, base: Base, session: bool, real_time: bool) -> LevelVerdict {
    let mut edges = EdgeList::default();
    let mut possible = true;
    if analysis.orders_are_open() {
        // No write is known to follow another one: what is left is reads-from and the order edges.
        let plain = base == Base::ReadCommitted && !session && !real_time;
        if base == Base::WriteOrder || plain && analysis.resolved.leads_forward {
            return LevelVerdict::Holds;
        }
        open_edges(analysis, session, real_time, &mut edges);
    } else {
        analysis.edges(analysis.known(), session, real_time, |from, to, kind| match kind {
            Kind::Rw | Kind::RwPredicate => {}
            Kind::Wr | Kind::WrPredicate if base == Base::WriteOrder => {}
            _ => edges.push(from, to),
        });
    }
    if base == Base::AtomicView {
        possible &= !sees_initial_then_older(analysis);
        for order in weak::forced_orders(&analysis.context(), Weak::ReadCommitted) {
            if order.after == crate::model::NONE {
                possible = false;
            } else {
                edges.push(order.before, order.after);
            }
        }
    }
    LevelVerdict::of(possible && edges.are_acyclic(analysis.history.txns.len()))
}

/// Whether some transaction read the initial state, or another version of a key, and later something older.
fn sees_initial_then_older(analysis: &Analysis<'_>) -> bool {
    let Analysis { history, resolved, .. } = analysis;
    let writes = |txn: u32, key: u32| {
        history.ops[history.range(txn)].iter().any(|op| op.kind.is_write() && op.key == key)
    };
    let is_unborn = |at: &&crate::resolve::FaultAt| at.fault == Fault::UnbornRead;
    resolved.faults.iter().filter(is_unborn).any(|at| {
        let key = history.ops[at.op as usize].key;
        let start = history.range(resolved.op_txn[at.op as usize]).start;
        (start..at.op as usize).any(|before| {
            let seen = resolved.seen[before];
            seen.source() == INIT || seen.writer().is_some_and(|writer| writes(writer, key))
        })
    })
}

fn open_edges(analysis: &Analysis<'_>, session: bool, real_time: bool, edges: &mut EdgeList) {
    let context = analysis.context();
    for txn in context.included() {
        for read in context.reads(txn).filter(|read| read.from != crate::model::NONE) {
            edges.push(read.from, txn);
        }
    }
    if session {
        crate::dsg::session_edges(&analysis.sessions, |from, to| edges.push(from, to));
    }
    if real_time {
        crate::dsg::real_time_edges(analysis.history, &analysis.resolved, |from, to| {
            edges.push(from, to);
        });
    }
}

fn polygraph(
    analysis: &Analysis<'_>,
    shape: Shape,
    session: bool,
    real_time: bool,
    predicates: bool,
) -> LevelVerdict {
    if analysis.clash().is_some() {
        return LevelVerdict::Fails;
    }
    if !real_time && serial_with_sessions(analysis) {
        return LevelVerdict::Holds;
    }
    let inputs = analysis.inputs(analysis.derived(), session, real_time, predicates);
    verdict(analysis, Polygraph::new(inputs, shape).decide(&analysis.limits))
}

/// Whether a serial order exists that follows the sessions: real systems mostly satisfy it, it settles every level
/// without real time in both families, and it leaves the fewest choices where version orders are open.
fn serial_with_sessions(analysis: &Analysis<'_>) -> bool {
    *analysis.serial_with_sessions.get_or_init(|| {
        let Analysis { history, resolved, sessions, .. } = analysis;
        if history.predicates.is_empty()
            && replay::works(history, resolved, sessions, analysis.derived())
        {
            return true;
        }
        let inputs = analysis.inputs(analysis.derived(), true, false, true);
        Polygraph::new(inputs, Shape::Serial).decide(&analysis.limits) == Decision::Holds
    })
}

fn verdict(analysis: &Analysis<'_>, decision: Decision) -> LevelVerdict {
    match decision {
        Decision::Holds => LevelVerdict::Holds,
        Decision::Fails(reason) => {
            if reason != Reason::CertainCycle {
                analysis.note_reason(reason);
            }
            LevelVerdict::Fails
        }
        Decision::Unknown(why) => LevelVerdict::Unknown(why),
    }
}

/// Decides one of the axiomatic levels.
pub fn axiomatic(analysis: &Analysis<'_>, level: &str) -> LevelVerdict {
    if analysis.history.workload != Workload::Registers {
        return LevelVerdict::Unknown(
            "the axiomatic levels are for single reads and writes of unique values".to_owned(),
        );
    }
    if analysis.resolved.faults.iter().any(|at| breaks_axioms(analysis, at)) {
        return LevelVerdict::Fails;
    }
    if analysis.is_serial_as_given(false) {
        return LevelVerdict::Holds;
    }
    let verdict = match level {
        "read-committed" => LevelVerdict::of(weak::holds(
            &analysis.context(),
            Weak::ReadCommitted,
            analysis.threads,
        )),
        "read-atomic" => {
            LevelVerdict::of(weak::holds(&analysis.context(), Weak::ReadAtomic, analysis.threads))
        }
        "causal" => {
            LevelVerdict::of(weak::holds(&analysis.context(), Weak::Causal, analysis.threads))
        }
        "prefix" if analysis.clash().is_none() && serial_with_sessions(analysis) => {
            LevelVerdict::Holds
        }
        "prefix" => {
            let inputs = analysis.inputs(analysis.known(), true, false, false);
            verdict(analysis, Polygraph::new(inputs, Shape::Prefix).decide(&analysis.limits))
        }
        "snapshot-isolation" => polygraph(analysis, Shape::Snapshot, true, false, false),
        "serializable" => polygraph(analysis, Shape::Serial, true, false, false),
        _ => LevelVerdict::Unknown(format!("{level} is not decided")),
    };
    if verdict == LevelVerdict::Holds { settled(analysis) } else { verdict }
}

/// Faults that leave no reads-from relation to apply the axioms to.
fn breaks_axioms(analysis: &Analysis<'_>, at: &crate::resolve::FaultAt) -> bool {
    match at.fault {
        Fault::WrittenTwice => false,
        // Two reads that differ are left to the axioms; a read that ignores an own write is not.
        Fault::Internal => analysis.history.ops[at.other as usize].kind.is_write(),
        _ => true,
    }
}
