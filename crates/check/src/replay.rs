//! Replays the history, one transaction after the other.
//!
//! Idea: where the order of all versions is known, a transaction can run as soon as its session has reached it, every
//! key has the version that it read, and for every key that it writes the previous version is there and has no reader
//! left. Running one never prevents another that could run, so no choice is ever wrong: if all of them run, a serial
//! order was found, and if not, there is none. This is the topological order of the dependency graph without the graph.
//! Blind spot: predicates and real time are not considered. Where versions have no known order, there is no answer.

use crate::hash::WordMap;
use crate::model::{History, KeyId, NONE, OpId, TxnId};
use crate::orders::Orders;
use crate::resolve::{FIRST_SPECIAL, INIT, Resolved};
use crate::sessions::Sessions;

/// The position of a version that comes after all others that were read, no matter when.
const LATE: u32 = NONE - 1;
/// Failed attempts allowed per operation; beyond this the graph is faster.
const PATIENCE: usize = 16;

/// The state of a key at some moment.
#[derive(Clone, Copy, Default)]
struct State {
    /// How many versions were written.
    version: u32,
    /// How many reads of the last of them are left.
    readers: u32,
    /// How many versions have to be there before late ones.
    known: u32,
}

/// Whether all transactions can be replayed, following their sessions. `false` proves nothing.
pub(crate) fn works(
    history: &History,
    resolved: &Resolved,
    sessions: &Sessions,
    orders: &Orders,
) -> bool {
    Replay::new(history, resolved, orders).is_some_and(|mut replay| replay.run(sessions))
}

struct Replay<'a> {
    history: &'a History,
    resolved: &'a Resolved,
    /// For reads the position of the version that was seen, for writes that of their own; [`NONE`] for everything else.
    places: Vec<u32>,
    /// How many reads saw what an operation wrote.
    readers: Vec<u32>,
    keys: Vec<State>,
    /// Writes whose transaction also wrote the version before, with that write.
    follows_own: WordMap<OpId, OpId>,
}

impl<'a> Replay<'a> {
    /// `None` if the order of some versions is not known.
    fn new(history: &'a History, resolved: &'a Resolved, orders: &Orders) -> Option<Replay<'a>> {
        let mut replay = Replay {
            history,
            resolved,
            places: vec![NONE; history.ops.len()],
            readers: vec![0; history.ops.len()],
            keys: vec![State::default(); history.keys.len()],
            follows_own: WordMap::default(),
        };
        for key in 0..orders.keys() as KeyId {
            replay.place_versions(key, orders)?;
        }
        for txn in 0..history.txns.len() {
            if resolved.included[txn] {
                history.range(txn as TxnId).try_for_each(|op| replay.place_read(op))?;
            }
        }
        Some(replay)
    }

    fn place_versions(&mut self, key: KeyId, orders: &Orders) -> Option<()> {
        let mut last = NONE;
        for (at, chain) in orders.chains(key).enumerate() {
            if at > 0 {
                let [write] = chain else { return None };
                orders.first_is_first(key).then(|| self.places[*write as usize] = LATE)?;
                self.note_own(last, *write);
                continue;
            }
            last = chain[chain.len() - 1];
            for pair in chain.windows(2) {
                self.note_own(pair[0], pair[1]);
            }
            self.keys[key as usize].known = chain.len() as u32;
            for (write, place) in chain.iter().zip(1..) {
                self.places[*write as usize] = place;
            }
        }
        Some(())
    }

    #[inline]
    fn note_own(&mut self, before: OpId, write: OpId) {
        let of = |op: OpId| self.resolved.op_txn[op as usize];
        if before < write && of(before) == of(write) {
            self.follows_own.insert(write, before);
        }
    }

    #[inline]
    fn place_read(&mut self, op: usize) -> Option<()> {
        let source = self.resolved.source(op);
        if source < FIRST_SPECIAL {
            let place = self.places[source as usize];
            self.places[op] = place;
            self.readers[source as usize] += 1;
            // Without a position: the writer overwrote it, or its order is not known.
            return (place < LATE).then_some(());
        }
        if source == INIT {
            self.places[op] = 0;
            self.keys[self.history.ops[op].key as usize].readers += 1;
        }
        Some(())
    }

    fn run(&mut self, sessions: &Sessions) -> bool {
        let mut queues = Queues::new(self.history, sessions);
        let mut patience = PATIENCE * (self.history.ops.len() + 64);
        while let Some(session) = queues.ready.pop() {
            while let Some(txn) = queues.head(session, sessions) {
                match self.try_to_run(txn) {
                    Ok(()) => {
                        queues.advance(session);
                        for op in self.history.range(txn) {
                            queues.wake(self.history.ops[op].key);
                        }
                    }
                    Err(key) => {
                        queues.wait(session, key);
                        let Some(left) = patience.checked_sub(1 + self.history.range(txn).len())
                        else {
                            return false;
                        };
                        patience = left;
                        break;
                    }
                }
            }
        }
        queues.are_empty()
    }

    /// Runs a transaction, or returns a key that is not in the right state.
    fn try_to_run(&mut self, txn: TxnId) -> Result<(), KeyId> {
        let range = self.history.range(txn);
        let wrong_read = range.clone().find(|op| self.is_read(*op) && !self.read(*op));
        let reads_end = wrong_read.unwrap_or(range.end);
        let stopped = wrong_read.or_else(|| range.clone().find(|op| !self.can_write(*op)));
        if let Some(stopped) = stopped {
            for op in range.start..reads_end {
                if self.is_read(op) {
                    self.state(op).readers += 1;
                }
            }
            return Err(self.history.ops[stopped].key);
        }
        for op in range {
            if self.places[op] != NONE && self.history.ops[op].kind.is_write() {
                let readers = self.readers[op];
                let state = self.state(op);
                state.version += 1;
                state.readers = readers;
            }
        }
        Ok(())
    }

    #[inline]
    fn state(&mut self, op: usize) -> &mut State {
        &mut self.keys[self.history.ops[op].key as usize]
    }

    /// Reads, if the version that was seen is there.
    #[inline]
    fn read(&mut self, op: usize) -> bool {
        let place = self.places[op];
        let state = self.state(op);
        let is_there = state.version == place;
        state.readers -= u32::from(is_there);
        is_there
    }

    #[inline]
    fn is_read(&self, op: usize) -> bool {
        self.places[op] != NONE && !self.history.ops[op].kind.is_write()
    }

    /// Whether a write could happen now; one without a position always can.
    #[inline]
    fn can_write(&self, op: usize) -> bool {
        let what = self.history.ops[op];
        let state = self.keys[what.key as usize];
        let now = match self.places[op] {
            NONE => return true,
            _ if !what.kind.is_write() => return true,
            LATE => state.version >= state.known,
            place => state.version + 1 == place,
        };
        if now { state.readers == 0 } else { self.wrote_before(op) }
    }

    /// Whether the transaction itself wrote the version before that of a write, and nobody else read that one.
    fn wrote_before(&self, op: usize) -> bool {
        let before = self.follows_own.get(&(op as OpId));
        before.is_some_and(|before| self.readers[*before as usize] == 0)
    }
}

/// Which transaction comes next in each session, and what it waits for.
struct Queues {
    /// Sessions whose next transaction may be able to run.
    ready: Vec<u32>,
    /// For each session the position of its next transaction in the order of all sessions, and the session's end.
    ranges: Vec<(u32, u32)>,
    /// For each key the first session that waits for it; the others follow one another.
    first_waiting: Vec<u32>,
    next_waiting: Vec<u32>,
}

impl Queues {
    fn new(history: &History, sessions: &Sessions) -> Queues {
        let mut ranges = vec![(0, 0); history.sessions.len()];
        for (at, txn) in (0..).zip(&sessions.order) {
            let range = &mut ranges[history.txns[*txn as usize].session as usize];
            if sessions.index[*txn as usize] == 0 {
                range.0 = at;
            }
            range.1 = at + 1;
        }
        Queues {
            ready: (0..ranges.len() as u32).rev().collect(),
            next_waiting: vec![NONE; ranges.len()],
            ranges,
            first_waiting: vec![NONE; history.keys.len()],
        }
    }

    fn head(&self, session: u32, sessions: &Sessions) -> Option<TxnId> {
        let (next, end) = self.ranges[session as usize];
        (next < end).then(|| sessions.order[next as usize])
    }

    fn advance(&mut self, session: u32) {
        self.ranges[session as usize].0 += 1;
    }

    fn wait(&mut self, session: u32, key: KeyId) {
        let first = &mut self.first_waiting[key as usize];
        self.next_waiting[session as usize] = std::mem::replace(first, session);
    }

    /// Lets all sessions that wait for a key try again.
    #[inline]
    fn wake(&mut self, key: KeyId) {
        let mut session = std::mem::replace(&mut self.first_waiting[key as usize], NONE);
        while session != NONE {
            self.ready.push(session);
            session = self.next_waiting[session as usize];
        }
    }

    fn are_empty(&self) -> bool {
        self.ranges.iter().all(|(next, end)| next == end)
    }
}
