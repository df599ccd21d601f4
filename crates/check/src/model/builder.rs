//! Builds a [`History`] while a file is being read.
//!
//! Idea: parsers push transactions one after the other; formats that name the transaction on every line may return to
//! an earlier one, and only then is the array of operations sorted at the end. Nothing is kept besides the history
//! itself and two maps of names. Assumption: sessions run their transactions in the order in which they appear in the
//! input.

use super::{
    Atom, History, KeyId, ListRef, Lists, NONE, Op, OpKind, Outcome, PredicateRead, Symbols, Txn,
    Workload,
};
use crate::hash::WordMap;

/// A limit that a history must not exceed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BuildError {
    /// Operation ids are 32 bits wide.
    #[error("more than {0} operations")]
    TooManyOperations(u32),
}

const MAX_OPS: u32 = u32::MAX - 16;
/// Integer keys below this are looked up in an array instead of a map.
const DIRECT_KEYS: i64 = 1 << 22;

/// Collects a history.
#[derive(Debug)]
pub struct HistoryBuilder {
    history: History,
    direct_keys: Vec<KeyId>,
    other_keys: WordMap<Atom, KeyId>,
    session_ids: WordMap<Atom, u32>,
    /// By session, the transactions whose names increase, as they do in a log.
    growing: Vec<Vec<u32>>,
    /// All other named transactions.
    named: WordMap<(u32, i64), u32>,
    last_named: Option<((u32, i64), u32)>,
    /// List reads of transactions whose outcome is unknown: transaction, operation, list.
    doubtful: Vec<(u32, u32, Vec<Atom>)>,
    /// Transaction of every operation, if operations arrived out of order.
    scattered: Option<Vec<u32>>,
}

impl Default for HistoryBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl HistoryBuilder {
    /// An empty history whose keys start out as nil.
    pub fn new() -> HistoryBuilder {
        HistoryBuilder {
            history: History {
                ops: Vec::new(),
                txns: Vec::new(),
                keys: Vec::new(),
                sessions: Vec::new(),
                symbols: Symbols::default(),
                lists: Lists::default(),
                predicates: Vec::new(),
                initial: Atom::NIL,
                initial_of: Vec::new(),
                version_numbers: Vec::new(),
                texts: Vec::new(),
                workload: Workload::Registers,
            },
            direct_keys: Vec::new(),
            other_keys: WordMap::default(),
            session_ids: WordMap::default(),
            growing: Vec::new(),
            named: WordMap::default(),
            last_named: None,
            doubtful: Vec::new(),
            scattered: None,
        }
    }

    /// Reserves space for about this many operations.
    pub fn reserve(&mut self, ops: usize) {
        self.history.ops.reserve(ops);
    }

    /// How many operations there are so far.
    pub fn op_count(&self) -> u32 {
        self.history.ops.len() as u32
    }

    /// The table of symbols, for parsers.
    pub fn symbols(&mut self) -> &mut Symbols {
        &mut self.history.symbols
    }

    /// The value of all keys before the first write.
    pub fn set_initial(&mut self, value: Atom) {
        self.history.initial = value;
    }

    /// The value of one key before the first write.
    pub fn set_initial_of(&mut self, key: KeyId, value: Atom) {
        self.history.initial_of.push((key, value));
    }

    /// Sets the kind of workload.
    pub fn set_workload(&mut self, workload: Workload) {
        self.history.workload = workload;
    }

    /// The id of a key.
    #[inline]
    pub fn key(&mut self, name: Atom) -> KeyId {
        if let Some(number @ 0..DIRECT_KEYS) = name.as_int() {
            let at = number as usize;
            if at >= self.direct_keys.len() {
                self.direct_keys.resize((at + 1).next_power_of_two(), NONE);
            }
            let slot = &mut self.direct_keys[at];
            if *slot == NONE {
                *slot = self.history.keys.len() as KeyId;
                self.history.keys.push(name);
            }
            return *slot;
        }
        let keys = &mut self.history.keys;
        *self.other_keys.entry(name).or_insert_with(|| {
            keys.push(name);
            keys.len() as KeyId - 1
        })
    }

    /// The id of a session.
    pub fn session(&mut self, name: Atom) -> u32 {
        let sessions = &mut self.history.sessions;
        *self.session_ids.entry(name).or_insert_with(|| {
            sessions.push(name);
            sessions.len() as u32 - 1
        })
    }

    /// Starts a transaction; the operations that follow belong to it. One of unknown outcome may take effect after its
    /// last answer, so that time is forgotten.
    pub fn begin(&mut self, session: u32, label: i64, outcome: Outcome, time: (u64, u64)) -> u32 {
        self.last_named = None;
        let completed = if outcome == Outcome::Unknown { super::NO_TIME } else { time.1 };
        self.history.txns.push(Txn {
            first_op: self.history.ops.len() as u32,
            session,
            outcome,
            invoked: time.0,
            completed,
            label,
        });
        self.history.txns.len() as u32 - 1
    }

    /// Continues the transaction with this label in the session, or starts it.
    #[inline]
    pub fn resume(&mut self, session: u32, label: i64, outcome: Outcome) {
        let name = (session, label);
        if let Some((last, _)) = self.last_named
            && last == name
        {
            return;
        }
        let id = match self.find_named(name) {
            Some(known) => {
                if known as usize + 1 != self.history.txns.len() && self.scattered.is_none() {
                    self.scattered = Some(self.owners());
                }
                known
            }
            None => {
                let id = self.begin(session, label, outcome, (super::NO_TIME, super::NO_TIME));
                if self.grows(name) {
                    self.growing[session as usize].push(id);
                } else {
                    self.named.insert(name, id);
                }
                id
            }
        };
        self.last_named = Some((name, id));
    }

    /// Whether this label is greater than all increasing labels of the session so far.
    fn grows(&mut self, (session, label): (u32, i64)) -> bool {
        if self.growing.len() <= session as usize {
            self.growing.resize_with(session as usize + 1, Vec::new);
        }
        let last = self.growing[session as usize].last();
        last.is_none_or(|txn| self.history.txns[*txn as usize].label < label)
    }

    fn find_named(&mut self, name: (u32, i64)) -> Option<u32> {
        if self.grows(name) && self.named.is_empty() {
            return None;
        }
        let growing = &self.growing[name.0 as usize];
        let label = |txn: &u32| self.history.txns[*txn as usize].label;
        match growing.binary_search_by_key(&name.1, label) {
            Ok(at) => Some(growing[at]),
            Err(_) => self.named.get(&name).copied(),
        }
    }

    fn owners(&self) -> Vec<u32> {
        let mut owners = Vec::with_capacity(self.history.ops.capacity());
        for txn in 0..self.history.txns.len() as u32 {
            owners.extend(self.history.range(txn).map(|_| txn));
        }
        owners
    }

    /// Adds an operation to the current transaction.
    #[inline]
    pub fn push(&mut self, kind: OpKind, key: KeyId, value: Atom) -> Result<(), BuildError> {
        if self.history.ops.len() as u32 >= MAX_OPS {
            return Err(BuildError::TooManyOperations(MAX_OPS));
        }
        if let Some(owners) = &mut self.scattered {
            let current = self.last_named.map_or(self.history.txns.len() as u32 - 1, |last| last.1);
            owners.push(current);
        }
        self.history.ops.push(Op { key, kind, value });
        Ok(())
    }

    /// Adds a list read.
    pub fn push_list(&mut self, key: KeyId, list: &[Atom]) -> Result<(), BuildError> {
        let txn = self.history.txns.len() as u32 - 1;
        let stored = match self.history.txns[txn as usize].outcome {
            Outcome::Committed => self.history.lists.add(key, list),
            Outcome::Aborted => self.history.lists.add_apart(list),
            Outcome::Unknown => {
                self.doubtful.push((txn, self.op_count(), list.to_vec()));
                ListRef::Prefix(0)
            }
        };
        self.push(OpKind::ReadList, key, stored.to_atom())
    }

    /// Adds a predicate read.
    pub fn push_predicate(&mut self, read: PredicateRead) -> Result<(), BuildError> {
        self.history.predicates.push(read);
        let index = self.history.predicates.len() as u64 - 1;
        self.push(OpKind::ReadPredicate, NONE, Atom::from_bits(index))
    }

    /// Sets which version of its key the last operation wrote.
    pub fn version_number(&mut self, number: u64) {
        let last = self.history.ops.len() as u32 - 1;
        self.history.version_numbers.push((last, number));
    }

    /// Attaches a text to the last operation.
    pub fn text(&mut self, text: &str) {
        let atom = self.history.symbols.intern(super::SymbolKind::Text, text);
        self.history.texts.push((self.history.ops.len() as u32 - 1, atom));
    }

    /// The list reads of a transaction of unknown outcome say something about the order of appends if it committed:
    /// if an element of its own is in a list that counts, which may itself be one of these.
    fn settle_doubtful_lists(&mut self) {
        let mut open = std::mem::take(&mut self.doubtful);
        let mut seen: WordMap<(KeyId, Atom), ()> =
            self.history.lists.elements().map(|element| (element, ())).collect();
        loop {
            let history = &self.history;
            let counts = |txn: u32| appends(history, txn).any(|own| seen.contains_key(&own));
            let (count, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(|one| counts(one.0));
            open = rest;
            if count.is_empty() {
                break;
            }
            for (_, op, list) in count {
                let key = self.history.ops[op as usize].key;
                seen.extend(list.iter().map(|element| ((key, *element), ())));
                let stored = self.history.lists.add(key, &list);
                self.history.ops[op as usize].value = stored.to_atom();
            }
        }
        for (_, op, list) in open {
            let stored = self.history.lists.add_apart(&list);
            self.history.ops[op as usize].value = stored.to_atom();
        }
    }

    /// Ends the history.
    pub fn finish(mut self) -> History {
        if !self.doubtful.is_empty() {
            self.settle_doubtful_lists();
        }
        if let Some(owners) = self.scattered.take() {
            gather(&mut self.history, &owners);
        }
        self.history.initial_of.sort_unstable();
        if self.history.workload == Workload::ListAppend {
            for op in &mut self.history.ops {
                if op.kind == OpKind::Read && op.value.is_nil() {
                    op.kind = OpKind::ReadList;
                    op.value = ListRef::Prefix(0).to_atom();
                }
            }
        }
        self.history
    }
}

/// What a transaction appended: key and element.
fn appends(history: &History, txn: u32) -> impl Iterator<Item = (KeyId, Atom)> + '_ {
    let ops = history.ops[history.range(txn)].iter();
    ops.filter(|op| op.kind == OpKind::Append).map(|op| (op.key, op.value))
}

/// Puts operations of one transaction next to each other, keeping their order.
fn gather(history: &mut History, owners: &[u32]) {
    let mut starts = vec![0_u32; history.txns.len() + 1];
    for &owner in owners {
        starts[owner as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    for (txn, start) in history.txns.iter_mut().zip(&starts) {
        txn.first_op = *start;
    }
    let mut moved = vec![0_u32; owners.len()];
    for (slot, &owner) in moved.iter_mut().zip(owners) {
        *slot = starts[owner as usize];
        starts[owner as usize] += 1;
    }
    let mut sorted = history.ops.clone();
    for (op, &to) in history.ops.iter().zip(&moved) {
        sorted[to as usize] = *op;
    }
    history.ops = sorted;
    for (op, _) in &mut history.version_numbers {
        *op = moved[*op as usize];
    }
    for (op, _) in &mut history.texts {
        *op = moved[*op as usize];
    }
    history.version_numbers.sort_unstable();
    history.texts.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattered_operations_are_gathered() {
        let mut builder = HistoryBuilder::new();
        let key = builder.key(Atom::int(5).unwrap());
        for (session, label, value) in [(0, 1, 10), (1, 2, 20), (0, 1, 11), (1, 2, 21), (0, 3, 30)]
        {
            builder.resume(session, label, Outcome::Committed);
            builder.push(OpKind::Write, key, Atom::int(value).unwrap()).unwrap();
        }
        let history = builder.finish();
        let values: Vec<i64> = history.ops.iter().filter_map(|op| op.value.as_int()).collect();
        assert_eq!(values, [10, 11, 20, 21, 30]);
        assert_eq!(history.range(1), 2..4);
    }
}
