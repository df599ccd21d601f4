//! Sentences for dependencies and scans.

use super::{Anomaly, Step, kind_of};
use crate::graph::Kind;
use crate::graph::cycles::Cycle;
use crate::hash::WordMap;
use crate::model::{History, KeyId, ListRef, NONE, OpId, OpKind, TxnId};
use crate::orders::Orders;
use crate::predicates::PredicateEdges;
use crate::resolve::{INIT, Resolved, UNBORN};
use crate::scans::Scan;

/// Finds the operations behind edges.
pub struct Explainer<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    orders: &'a Orders,
    /// Edges that were inferred elsewhere, with their operations.
    given: WordMap<(TxnId, TxnId, u8), (OpId, OpId)>,
}

/// An operation's value as text.
pub fn value_text(history: &History, op: OpId) -> String {
    let what = history.ops[op as usize];
    match what.kind {
        OpKind::ReadList => {
            let list = history.lists.get(what.key, ListRef::from_atom(what.value));
            let items: Vec<String> = list.iter().map(|item| history.symbols.show(*item)).collect();
            format!("[{}]", items.join(" "))
        }
        OpKind::ReadUnknown => "?".to_owned(),
        OpKind::Delete => "nothing".to_owned(),
        OpKind::ReadPredicate => "rows".to_owned(),
        _ => history.symbols.show(what.value),
    }
}

/// One operation, as in `x = 3` or `x := 3`.
pub fn op_text(history: &History, op: OpId) -> String {
    let what = history.ops[op as usize];
    let value = value_text(history, op);
    if let Some(sql) = history.op_text(op) {
        return format!("{sql} → {value}");
    }
    let key = history.key_name(what.key);
    match what.kind {
        OpKind::Read | OpKind::ReadList | OpKind::ReadUnknown => format!("read {key} = {value}"),
        OpKind::Write => format!("write {key} := {value}"),
        OpKind::Append => format!("append {value} to {key}"),
        OpKind::Insert => format!("insert {key} := {value}"),
        OpKind::Delete => format!("delete {key}"),
        OpKind::ReadPredicate => {
            let read = &history.predicates[what.value.bits() as usize];
            let rows: Vec<String> = read
                .matched
                .iter()
                .map(|(key, value)| {
                    format!("{} = {}", history.key_name(*key), history.symbols.show(*value))
                })
                .collect();
            format!("read rows {{{}}}", rows.join(", "))
        }
    }
}

impl<'a> Explainer<'a> {
    /// An explainer for edges that follow from version orders.
    pub fn new(history: &'a History, resolved: &'a Resolved, orders: &'a Orders) -> Self {
        Explainer { history, resolved, orders, given: WordMap::default() }
    }

    /// Adds edges whose operations are known already.
    pub fn with_edges(mut self, edges: WordMap<(TxnId, TxnId, u8), (OpId, OpId)>) -> Self {
        self.given = edges;
        self
    }

    /// Turns a cycle into an anomaly.
    pub fn anomaly(&self, name: &'static str, cycle: &Cycle) -> Anomaly {
        let steps: Vec<Step> = cycle
            .iter()
            .enumerate()
            .map(|(at, &(from, kind))| {
                let to = cycle[(at + 1) % cycle.len()].0;
                self.step(from, to, kind_of(kind))
            })
            .collect();
        let mut ops: Vec<OpId> = steps.iter().flat_map(|step| step.ops.clone()).collect();
        ops.sort_unstable();
        ops.dedup();
        let because = steps
            .iter()
            .map(|step| {
                let (from, to) = (self.history.txn_name(step.from), self.history.txn_name(step.to));
                format!("{from} < {to}, because {}", step.because)
            })
            .collect();
        Anomaly {
            name,
            also: familiar_names(self.history, &steps),
            transactions: cycle.iter().map(|step| step.0).collect(),
            steps,
            ops,
            because,
        }
    }

    fn step(&self, from: TxnId, to: TxnId, kind: Kind) -> Step {
        let history = self.history;
        let (a, b) = (history.txn_name(from), history.txn_name(to));
        let found = match self.given.get(&(from, to, kind as u8)) {
            Some(found) => Some(*found),
            None => self.operations(from, to, kind),
        };
        let because = match (kind, found) {
            (Kind::Session, _) => {
                let session = history.txns[from as usize].session as usize;
                let name = history.symbols.show(history.sessions[session]);
                format!("{b} came after {a} in session {name}")
            }
            (Kind::RealTime, _) => format!("{a} had been answered before {b} was invoked"),
            (_, Some((first, second))) => self.sentence(kind, &a, &b, first, second),
            (_, None) => format!("{b} depends on {a}"),
        };
        let ops = found.map_or_else(Vec::new, |(first, second)| vec![first, second]);
        Step { from, to, kind, ops, because }
    }

    fn sentence(&self, kind: Kind, a: &str, b: &str, first: OpId, second: OpId) -> String {
        let history = self.history;
        let key = history.key_name(history.ops[second as usize].key);
        let (before, after) = (value_text(history, first), value_text(history, second));
        let list = history.ops[second as usize].kind == OpKind::Append
            || history.ops[first as usize].kind == OpKind::Append;
        match kind {
            Kind::Wr if list => {
                format!("{b} read {key} = {after}, which ends in {before}, appended by {a}")
            }
            Kind::Wr => format!("{b} read {key} = {after}, which {a} wrote"),
            Kind::Ww if list => {
                format!("{b} appended {after} to {key} after {a} appended {before}")
            }
            Kind::Ww => format!("{b} wrote {key} = {after} over {key} = {before}, which {a} wrote"),
            Kind::Rw
                if self
                    .resolved
                    .seen
                    .get(first as usize)
                    .is_some_and(|seen| seen.source() == INIT) =>
            {
                format!("{a} read the initial state of {key}, which {b} replaced by {after}")
            }
            Kind::Rw if list => {
                format!(
                    "{a} read {key} = {before}, which does not have the {after} that {b} appended"
                )
            }
            Kind::Rw => format!("{a} read {key} = {before}, which {b} overwrote with {after}"),
            Kind::WrPredicate => format!(
                "{b} examined {key} = {before}, which {a} wrote, with {}",
                self.predicate(second)
            ),
            Kind::RwPredicate => format!(
                "{a} read {}, and {b} then wrote {key} = {after}, which changes what matches",
                self.predicate(first)
            ),
            _ => format!("{b} depends on {a} through {key}"),
        }
    }

    fn predicate(&self, op: OpId) -> String {
        let what = self.history.ops[op as usize];
        if what.kind != OpKind::ReadPredicate {
            return "a predicate".to_owned();
        }
        use crate::model::Predicate;
        match &self.history.predicates[what.value.bits() as usize].predicate {
            Predicate::True => "all rows".to_owned(),
            Predicate::Equals(value) => format!("the rows = {}", self.history.symbols.show(*value)),
            Predicate::Modulo(m, r) => format!("the rows mod {m} = {r}"),
            Predicate::Text(text) => format!("the rows where {text}"),
        }
    }

    /// The operations of a data dependency.
    fn operations(&self, from: TxnId, to: TxnId, kind: Kind) -> Option<(OpId, OpId)> {
        match kind {
            Kind::Wr => self.history.range(to).find_map(|op| {
                let seen = self.resolved.seen[op];
                (seen.writer() == Some(from)).then(|| (seen.source(), op as OpId))
            }),
            Kind::Ww => self.written(to).find_map(|op| {
                let before = self.predecessor(op)?;
                let writer = self.resolved.op_txn.get(before as usize)?;
                (*writer == from).then_some((before, op))
            }),
            Kind::Rw => self.written(to).find_map(|op| {
                let before = self.predecessor(op)?;
                let key = self.history.ops[op as usize].key;
                let saw = |source: u32| match before {
                    NONE => source == INIT || source == UNBORN,
                    before => source == before,
                };
                let read = self.history.range(from).find(|read| {
                    saw(self.resolved.source(*read)) && self.history.ops[*read].key == key
                })?;
                Some((read as OpId, op))
            }),
            Kind::WrPredicate | Kind::RwPredicate => {
                let edges = PredicateEdges::new(self.history, self.resolved, self.orders);
                let (read, _, write) = edges.explain(from, to, kind)?;
                Some(if kind == Kind::WrPredicate { (write, read) } else { (read, write) })
            }
            _ => None,
        }
    }

    fn written(&self, txn: TxnId) -> impl Iterator<Item = OpId> + '_ {
        let ops = &self.history.ops;
        self.history.range(txn).filter(|op| ops[*op].kind.is_write()).map(|op| op as OpId)
    }

    /// The version before this write: a write, [`NONE`] for the initial one, or not known.
    fn predecessor(&self, write: OpId) -> Option<OpId> {
        let key = self.history.ops[write as usize].key;
        for (at, chain) in self.orders.chains(key).enumerate() {
            let Some(place) = chain.iter().position(|op| *op == write) else { continue };
            if place > 0 {
                return Some(chain[place - 1]);
            }
            let first = self.orders.chain(key, 0);
            let after_first = at > 0 && self.orders.first_is_first(key);
            return Some(if after_first { first[first.len() - 1] } else { NONE });
        }
        None
    }

    /// Turns the findings of one kind of scan into an anomaly; the first is described in full.
    pub fn scanned(&self, name: &'static str, scans: &[&Scan]) -> Anomaly {
        let mut because: Vec<String> = scans.iter().take(3).map(|scan| self.tell(scan)).collect();
        if scans.len() > 3 {
            because.push(format!("and {} more", scans.len() - 3));
        }
        let mut transactions: Vec<TxnId> = Vec::new();
        let ops = scans[0].ops.clone();
        for op in &ops {
            let txn = self.resolved.op_txn[*op as usize];
            if !transactions.contains(&txn) {
                transactions.push(txn);
            }
        }
        Anomaly { name, also: Vec::new(), steps: Vec::new(), transactions, ops, because }
    }

    fn tell(&self, scan: &Scan) -> String {
        let history = self.history;
        let name = |op: OpId| history.txn_name(self.resolved.op_txn[op as usize]);
        let key = history.key_name(scan.key);
        let op = scan.ops[0];
        let seen = value_text(history, op);
        let value = scan.value.map_or_else(|| seen.clone(), |value| history.symbols.show(value));
        let reader = name(op);
        let other = scan.ops.get(1).map_or_else(String::new, |op| name(*op));
        let other_value = scan.ops.get(1).map_or_else(String::new, |op| value_text(history, *op));
        match scan.name {
            "G1a" => {
                format!("{reader} read {key} = {seen}, but {other}, which wrote {value}, aborted")
            }
            "G1b" => format!(
                "{reader} read {key} = {seen}, but {other} overwrote {value} itself before it ended"
            ),
            "thin-air-read" => format!(
                "{reader} read {key} = {seen}, but no transaction wrote that and it is not the \
                 initial value {}",
                history.symbols.show(history.initial_value(scan.key))
            ),
            crate::scans::UNBORN_READ => format!(
                "{reader} read {key} = {seen}, although {key} = {} in the initial state and nobody deleted it: \
                 {reader} is before the initial state, and the initial state is before every transaction",
                history.symbols.show(history.initial_value(scan.key))
            ),
            "internal" => format!(
                "{reader} read {key} = {seen}, but its own operation before that on {key} had {other_value}"
            ),
            "future-read" => format!("{reader} read {key} = {seen} before it wrote {value} itself"),
            "written-twice" => format!("{other} and {reader} both wrote {key} = {value}"),
            "duplicate-elements" => {
                format!("{reader} read {key} = {seen}, which has {value} twice")
            }
            "incompatible-order" => format!(
                "{reader} read {key} = {seen} and {other} read {key} = {other_value}: neither is \
                 the beginning of the other"
            ),
            "dirty-update" => format!(
                "{reader} committed {key} = {value} on top of what {other} wrote, which aborted"
            ),
            "lost-update" => {
                let all: Vec<String> = scan.ops.iter().take(4).map(|op| name(*op)).collect();
                let all = match &all[..] {
                    [one, other] => format!("{one} and {other} both"),
                    more => format!("{} all", more.join(", ")),
                };
                format!("{all} read {key} = {seen} and then wrote {key}")
            }
            "predicate-read-miss" => format!(
                "{reader} read {}, but did not get {key}, of which every version matches",
                self.predicate(op)
            ),
            _ => format!("{reader} read {key} = {seen}"),
        }
    }
}

/// Textbook names of a cycle's shape.
fn familiar_names(history: &History, steps: &[Step]) -> Vec<&'static str> {
    let keys: Vec<KeyId> = steps
        .iter()
        .filter_map(|step| step.ops.last().map(|op| history.ops[*op as usize].key))
        .collect();
    let count = |kind: Kind| steps.iter().filter(|step| step.kind == kind).count();
    let (ww, wr, rw) = (count(Kind::Ww), count(Kind::Wr), count(Kind::Rw));
    let predicates = count(Kind::RwPredicate) + count(Kind::WrPredicate);
    let one_key = keys.windows(2).all(|pair| pair[0] == pair[1]);
    let mut names = match (steps.len(), ww, wr, rw) {
        (2, 1, 0, 1) if one_key => vec!["lost update"],
        (2, 1, 0, 1) => vec!["read-write skew"],
        (2, 0, 1, 1) if one_key => vec!["non-repeatable read"],
        (2, 0, 1, 1) => vec!["read skew", "fractured read"],
        (2, 0, 0, 2) if one_key => vec!["lost update"],
        (2, 0, 0, 2) => vec!["write skew"],
        (4, 0, 2, 2) if steps[0].kind != steps[1].kind => vec!["long fork"],
        (_, 0, more, 1) if more > 1 && more + 1 == steps.len() => vec!["causal violation"],
        _ if predicates > 0 => vec!["phantom"],
        _ => Vec::new(),
    };
    // Adya's G-SIb: a snapshot that misses an effect that it must include. G-SIa, a snapshot taken too early, shows
    // only in real time: as a read of what began after the reader had ended (G1c-realtime).
    if rw + count(Kind::RwPredicate) == 1 {
        names.push("G-SI");
    }
    names
}
