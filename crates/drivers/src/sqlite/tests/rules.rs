//! SQLite's locking rules, written down from its documentation as three small machines.
//!
//! Source: <https://www.sqlite.org/lockingv3.html> (rollback journal), <https://www.sqlite.org/wal.html>,
//! <https://www.sqlite.org/sharedcache.html>. An attempt changes the locks exactly as SQLite does, also where it ends in
//! a wait: so a waiting COMMIT holds PENDING, and a waiting writer of a shared cache its transaction.

use super::decisions::{Attempt, Op, Rules, SESSIONS};

fn others(session: usize, blocks: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..SESSIONS).filter(|other| *other != session && blocks(*other)).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Lock {
    #[default]
    None,
    Shared,
    Reserved,
    Pending,
    Exclusive,
}

/// Rollback journal: five locks on the file.
#[derive(Debug, Default)]
pub(super) struct JournalRules {
    locks: [Lock; SESSIONS],
}

impl JournalRules {
    fn holders(&self, session: usize, at_least: Lock) -> Vec<usize> {
        others(session, |other| self.locks[other] >= at_least)
    }

    fn share(&mut self, session: usize) -> Attempt {
        let blockers = self.holders(session, Lock::Pending);
        if self.locks[session] == Lock::None && !blockers.is_empty() {
            return Attempt::Wait(blockers);
        }
        self.locks[session] = self.locks[session].max(Lock::Shared);
        Attempt::Ok
    }

    fn reserve(&mut self, session: usize) -> Attempt {
        let blockers = self.holders(session, Lock::Reserved);
        match self.locks[session] {
            Lock::None if !blockers.is_empty() => Attempt::Wait(blockers),
            // The writer will wait for this reader, so the reader must not wait for the writer.
            Lock::Shared if !blockers.is_empty() => Attempt::Refused("deadlock 5"),
            held => {
                self.locks[session] = held.max(Lock::Reserved);
                Attempt::Ok
            }
        }
    }

    fn exclude(&mut self, session: usize) -> Attempt {
        let readers = self.holders(session, Lock::Shared);
        self.locks[session] = if readers.is_empty() { Lock::Exclusive } else { Lock::Pending };
        if readers.is_empty() { Attempt::Ok } else { Attempt::Wait(readers) }
    }

    fn commit(&mut self, session: usize) -> Attempt {
        // Also a writer that has changed nothing takes the EXCLUSIVE lock.
        if self.locks[session] >= Lock::Reserved {
            let attempt = self.exclude(session);
            if attempt != Attempt::Ok {
                return attempt;
            }
        }
        self.end(session)
    }

    fn end(&mut self, session: usize) -> Attempt {
        self.locks[session] = Lock::None;
        Attempt::Ok
    }
}

impl Rules for JournalRules {
    fn attempt(&mut self, session: usize, op: Op, autocommit: bool) -> Attempt {
        let attempt = match op {
            Op::Begin => return Attempt::Ok,
            Op::Rollback => return self.end(session),
            Op::Commit => return self.commit(session),
            Op::Read(_) => self.share(session),
            Op::Write(_) | Op::BeginImmediate | Op::BeginExclusive => self.reserve(session),
        };
        match (op, attempt) {
            (Op::BeginExclusive, Attempt::Ok) => self.exclude(session),
            (Op::Write(_), Attempt::Ok) if autocommit => self.commit(session),
            (Op::Read(_), Attempt::Ok) if autocommit => self.end(session),
            (_, attempt) => attempt,
        }
    }
}

/// Write-ahead log: one write lock, and a snapshot per reader.
#[derive(Debug, Default)]
pub(super) struct WalRules {
    version: u64,
    snapshots: [Option<u64>; SESSIONS],
    writer: Option<usize>,
    dirty: bool,
}

impl WalRules {
    fn write(&mut self, session: usize) -> Attempt {
        match (self.writer, self.snapshots[session]) {
            (Some(writer), _) if writer == session => {}
            (Some(writer), None) => return Attempt::Wait(vec![writer]),
            // Its snapshot will be old when the writer is done, so waiting would be in vain.
            (Some(_), Some(_)) => return Attempt::Refused("deadlock 5"),
            (None, Some(snapshot)) if snapshot < self.version => {
                return Attempt::Refused("conflict 517");
            }
            (None, _) => {
                self.writer = Some(session);
                self.snapshots[session] = Some(self.version);
            }
        }
        Attempt::Ok
    }

    fn end(&mut self, session: usize, commit: bool) -> Attempt {
        if self.writer == Some(session) {
            self.version += u64::from(commit && self.dirty);
            self.writer = None;
            self.dirty = false;
        }
        self.snapshots[session] = None;
        Attempt::Ok
    }
}

impl Rules for WalRules {
    fn attempt(&mut self, session: usize, op: Op, autocommit: bool) -> Attempt {
        let attempt = match op {
            Op::Begin => return Attempt::Ok,
            Op::Commit => return self.end(session, true),
            Op::Rollback => return self.end(session, false),
            Op::Read(_) => {
                self.snapshots[session].get_or_insert(self.version);
                Attempt::Ok
            }
            Op::Write(_) | Op::BeginImmediate | Op::BeginExclusive => self.write(session),
        };
        self.dirty |= attempt == Attempt::Ok && matches!(op, Op::Write(_));
        match op {
            Op::Read(_) | Op::Write(_) if autocommit && attempt == Attempt::Ok => {
                self.end(session, true)
            }
            _ => attempt,
        }
    }
}

/// Shared cache: one writer, and a read or write lock per table.
#[derive(Debug, Default)]
pub(super) struct CacheRules {
    in_transaction: [bool; SESSIONS],
    writer: Option<usize>,
    /// The writer has begun as EXCLUSIVE.
    exclusive: bool,
    /// The writer waits for readers of a table, and nobody may begin meanwhile.
    pending: bool,
    reads: [[bool; 2]; SESSIONS],
    writes: [[bool; 2]; SESSIONS],
    waiting: [Option<Op>; SESSIONS],
}

impl CacheRules {
    /// Who keeps the statement from beginning the transaction that it needs.
    fn before_transaction(&self, session: usize, op: Op) -> Vec<usize> {
        let fresh = !self.in_transaction[session];
        others(session, |other| {
            let is_writer = self.writer == Some(other);
            // While somebody has the cache for himself, no statement can even be compiled.
            let shut_out = is_writer && self.exclusive;
            shut_out
                || match op {
                    Op::Begin | Op::Commit | Op::Rollback => false,
                    Op::Read(_) => fresh && is_writer && self.pending,
                    Op::Write(_) | Op::BeginImmediate => is_writer,
                    Op::BeginExclusive => is_writer || self.in_transaction[other],
                }
        })
    }

    /// Who keeps the statement from locking its table.
    fn before_table(&self, session: usize, op: Op) -> Vec<usize> {
        others(session, |other| match op {
            Op::Read(table) => self.writes[other][table],
            Op::Write(table) => self.writes[other][table] || self.reads[other][table],
            _ => false,
        })
    }

    fn blockers(&self, session: usize, op: Op) -> Vec<usize> {
        let first = self.before_transaction(session, op);
        let second = self.before_table(session, op);
        (0..SESSIONS).filter(|other| first.contains(other) || second.contains(other)).collect()
    }

    fn begin(&mut self, session: usize, op: Op) {
        self.in_transaction[session] |= op != Op::Begin;
        if matches!(op, Op::Write(_) | Op::BeginImmediate | Op::BeginExclusive) {
            self.writer = Some(session);
            self.exclusive |= op == Op::BeginExclusive;
        }
    }

    fn end(&mut self, session: usize) {
        self.in_transaction[session] = false;
        self.reads[session] = [false; 2];
        self.writes[session] = [false; 2];
        let left = others(session, |other| self.in_transaction[other]);
        if self.writer == Some(session) {
            (self.writer, self.exclusive, self.pending) = (None, false, false);
        } else if left.len() == 1 {
            // Only the writer is left.
            self.pending = false;
        }
    }

    fn closes_a_circle(&self, session: usize) -> bool {
        let mut seen = [false; SESSIONS];
        let mut next = vec![session];
        while let Some(one) = next.pop() {
            let blockers = self.waiting[one].map_or_else(Vec::new, |op| self.blockers(one, op));
            if blockers.contains(&session) {
                return true;
            }
            next.extend(
                blockers.into_iter().filter(|other| !std::mem::replace(&mut seen[*other], true)),
            );
        }
        false
    }

    fn wait(&mut self, session: usize, op: Op) -> Attempt {
        self.waiting[session] = Some(op);
        if self.closes_a_circle(session) {
            self.waiting[session] = None;
            return Attempt::Refused("deadlock 262");
        }
        Attempt::Wait(self.blockers(session, op))
    }
}

impl Rules for CacheRules {
    fn attempt(&mut self, session: usize, op: Op, autocommit: bool) -> Attempt {
        self.waiting[session] = None;
        let lets_go = autocommit && matches!(op, Op::Read(_) | Op::Write(_));
        if !self.before_transaction(session, op).is_empty() {
            return self.wait(session, op);
        }
        self.begin(session, op);
        if !self.before_table(session, op).is_empty() {
            self.pending |= matches!(op, Op::Write(_));
            // A refused statement outside of a transaction lets go of what it had begun.
            if lets_go {
                self.end(session);
            }
            return self.wait(session, op);
        }
        match op {
            Op::Read(table) => self.reads[session][table] = true,
            Op::Write(table) => self.writes[session][table] = true,
            _ => {}
        }
        if lets_go || matches!(op, Op::Commit | Op::Rollback) {
            self.end(session);
        }
        Attempt::Ok
    }
}
