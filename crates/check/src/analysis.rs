//! One history with everything that is derived from it, each part computed once and on demand.

use crate::axiomatic::Context;
use crate::dsg::{Readers, data_edges, real_time_edges, session_edges};
use crate::graph::Kind;
use crate::model::{History, NO_TIME, Outcome, TxnId, Workload};
use crate::orders::{self, Clash, Orders};
use crate::polygraph::{Inputs, Limits, Reason};
use crate::predicates::PredicateEdges;
use crate::resolve::{Fault, Resolved};
use crate::scans::{Scan, lost_updates, scan};
use crate::sessions::Sessions;
use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

/// A history and what follows from it.
#[derive(Debug)]
pub struct Analysis<'a> {
    /// The history.
    pub history: &'a History,
    /// Its reads.
    pub resolved: Resolved,
    /// Its sessions.
    pub sessions: Sessions,
    /// When to give up.
    pub limits: Limits,
    /// How many threads may be used.
    pub threads: usize,
    txn_order: Option<Vec<u64>>,
    known: OnceLock<Orders>,
    derived: OnceLock<(Orders, Option<Clash>)>,
    readers: OnceLock<Readers>,
    scans: OnceLock<Vec<Scan>>,
    lost_updates: OnceLock<Vec<Scan>>,
    reason: Mutex<Option<Reason>>,
    pub(crate) serial_with_sessions: OnceLock<bool>,
    serial_as_given: OnceLock<bool>,
}

impl<'a> Analysis<'a> {
    /// Resolves the reads of a history; `txn_order` gives positions of all transactions, if known.
    pub fn new(history: &'a History, txn_order: Option<Vec<u64>>, limits: Limits) -> Analysis<'a> {
        Analysis::threaded(history, txn_order, limits, 1)
    }

    /// The same on several threads.
    pub fn threaded(
        history: &'a History,
        txn_order: Option<Vec<u64>>,
        limits: Limits,
        threads: usize,
    ) -> Analysis<'a> {
        let resolved = crate::resolve::resolve(history, threads);
        let sessions = Sessions::new(history, &resolved);
        Analysis {
            history,
            resolved,
            sessions,
            limits,
            threads,
            txn_order,
            known: OnceLock::new(),
            derived: OnceLock::new(),
            readers: OnceLock::new(),
            scans: OnceLock::new(),
            lost_updates: OnceLock::new(),
            reason: Mutex::new(None),
            serial_with_sessions: OnceLock::new(),
            serial_as_given: OnceLock::new(),
        }
    }

    /// The same history as Elle sees it: transactions of unknown outcome all count, and the rows of a
    /// closed universe took their values in the order of the input.
    pub fn as_elle(history: &'a History, limits: Limits) -> Analysis<'a> {
        let rows = history.workload == Workload::Predicates;
        let order = rows.then(|| (0..history.txns.len() as u64).collect());
        let mut analysis = Analysis::new(history, order, limits);
        for (included, txn) in analysis.resolved.included.iter_mut().zip(&history.txns) {
            *included = txn.outcome != Outcome::Aborted;
        }
        analysis.sessions = Sessions::new(history, &analysis.resolved);
        analysis
    }

    /// Version orders that are known without assuming a level.
    pub fn known(&self) -> &Orders {
        self.known
            .get_or_init(|| orders::known(self.history, &self.resolved, self.txn_order.as_deref()))
    }

    fn derivation(&self) -> &(Orders, Option<Clash>) {
        self.derived
            .get_or_init(|| orders::derive_from_updates(self.history, &self.resolved, self.known()))
    }

    /// Version orders with read-modify-write chains joined.
    pub fn derived(&self) -> &Orders {
        &self.derivation().0
    }

    /// Whether the order of some writes is not known.
    pub fn is_open(&self) -> bool {
        self.derived().is_open()
    }

    /// Two updates of the same version, if there are any.
    pub fn clash(&self) -> Option<Clash> {
        self.derivation().1
    }

    /// Readers of every version.
    pub fn readers(&self) -> &Readers {
        self.readers.get_or_init(|| Readers::new(self.history, &self.resolved))
    }

    /// Whether the input is a serial execution in its own order, so that every level holds; those with real time only
    /// if the order of the input follows it.
    pub(crate) fn is_serial_as_given(&self, real_time: bool) -> bool {
        let serial = *self.serial_as_given.get_or_init(|| {
            self.txn_order.is_none()
                && self.history.workload != Workload::Predicates
                && self.history.predicates.is_empty()
                && self.resolved.is_serial_as_given()
                && self.numbers_grow()
        });
        serial && (!real_time || self.follows_real_time())
    }

    /// Whether real time is known and no transaction ended before one that is earlier in the input began.
    fn follows_real_time(&self) -> bool {
        let mut latest_begin = 0;
        let follows = self.history.txns.iter().all(|txn| {
            if txn.invoked != NO_TIME {
                latest_begin = latest_begin.max(txn.invoked);
            }
            txn.completed >= latest_begin
        });
        follows && self.history.has_real_time()
    }

    /// Why the recorded times cannot be believed, if a session has a transaction that was answered before an earlier
    /// one of the same session was invoked.
    pub(crate) fn contradicting_times(&self) -> Option<String> {
        let mut latest = vec![None; self.history.sessions.len()];
        for &txn in &self.sessions.order {
            let what = self.history.txns[txn as usize];
            let slot: &mut Option<TxnId> = &mut latest[what.session as usize];
            let invoked = |txn: TxnId| self.history.txns[txn as usize].invoked;
            if let Some(before) = slot.filter(|before| what.completed < invoked(*before)) {
                let session = self.history.sessions[what.session as usize];
                return Some(format!(
                    "{} comes before {} in session {}, but its time is later",
                    self.history.txn_name(before),
                    self.history.txn_name(txn),
                    self.history.symbols.show(session)
                ));
            }
            let is_later = slot.is_none_or(|before| what.invoked > invoked(before));
            if what.invoked != NO_TIME && is_later {
                *slot = Some(txn);
            }
        }
        None
    }

    /// Whether the versions of each key have their numbers in the order of the input.
    fn numbers_grow(&self) -> bool {
        let numbers = &self.history.version_numbers;
        let keys = if numbers.is_empty() { 0 } else { self.history.keys.len() };
        let mut last = vec![None; keys];
        numbers.iter().all(|(op, number)| {
            let op = self.history.ops[*op as usize];
            !op.kind.is_write() || last[op.key as usize].replace(*number) < Some(*number)
        })
    }

    /// What the scans found, lost updates included.
    pub fn scans(&self) -> Vec<&Scan> {
        self.quick_scans().iter().chain(self.lost_updates()).collect()
    }

    /// Whether a scan found one of these anomalies.
    pub fn scanned(&self, names: &BTreeSet<&'static str>) -> bool {
        self.quick_scans().iter().any(|scan| names.contains(scan.name))
            || names.contains("lost-update") && !self.lost_updates().is_empty()
    }

    fn lost_updates(&self) -> &[Scan] {
        self.lost_updates.get_or_init(|| {
            // Two updates of one version are a clash, unless the writer of the version is unknown.
            let attributed = !self.resolved.ambiguous
                && !self.resolved.faults.iter().any(|at| at.fault == Fault::ThinAirRead);
            if attributed && self.clash().is_none() {
                return Vec::new();
            }
            lost_updates(self.history, &self.resolved)
        })
    }

    fn quick_scans(&self) -> &[Scan] {
        self.scans.get_or_init(|| {
            let mut found = scan(self.history, &self.resolved);
            if self.history.predicates.is_empty() {
                return found;
            }
            for miss in PredicateEdges::new(self.history, &self.resolved, self.known()).misses() {
                let ops = vec![miss.op];
                found.push(Scan { name: "predicate-read-miss", ops, key: miss.key, value: None });
            }
            found
        })
    }

    /// Whether nothing is known about version orders without assuming a level.
    pub fn orders_are_open(&self) -> bool {
        self.history.workload == Workload::Registers
            && self.history.version_numbers.is_empty()
            && self.txn_order.is_none()
    }

    /// The input of the axiomatic levels.
    pub fn context(&self) -> Context<'_> {
        Context { history: self.history, resolved: &self.resolved, sessions: &self.sessions }
    }

    /// What a polygraph is made from.
    pub fn inputs<'s>(
        &'s self,
        orders: &'s Orders,
        session: bool,
        real_time: bool,
        predicates: bool,
    ) -> Inputs<'s> {
        Inputs {
            history: self.history,
            resolved: &self.resolved,
            sessions: &self.sessions,
            orders,
            readers: self.readers(),
            session,
            real_time,
            predicates,
        }
    }

    /// All certain edges.
    pub fn edges(
        &self,
        orders: &Orders,
        session: bool,
        real_time: bool,
        mut add: impl FnMut(TxnId, TxnId, Kind),
    ) {
        data_edges(self.history, &self.resolved, orders, self.readers(), &mut add);
        PredicateEdges::new(self.history, &self.resolved, orders).visit(&mut add);
        if session {
            session_edges(&self.sessions, |from, to| add(from, to, Kind::Session));
        }
        if real_time {
            real_time_edges(self.history, &self.resolved, |from, to| add(from, to, Kind::RealTime));
        }
    }

    /// Records why a level fails although no single certain cycle shows it.
    pub(crate) fn note_reason(&self, reason: Reason) {
        if let Ok(mut slot) = self.reason.lock() {
            slot.get_or_insert(reason);
        }
    }

    /// Why some level fails although no single certain cycle shows it.
    pub fn reason(&self) -> Option<Reason> {
        self.reason.lock().ok().and_then(|slot| slot.clone())
    }
}
