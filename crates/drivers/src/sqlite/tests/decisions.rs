//! 10,000 random decisions per variant, none wrong in either direction.
//!
//! The truth comes from a second opinion that never asks SQLite: SQLite's documented locking rules as a small
//! machine ([`Rules`]; one per variant in `rules.rs`). Random schedules of four sessions run on both; every
//! outcome, every blocker and the order of resumed statements must agree, and at the end every
//! table holds exactly the committed increments, so nothing ran twice.

use super::super::Variant;
use super::Fixture;
use super::rules::{CacheRules, JournalRules, WalRules};

pub(super) const SESSIONS: usize = 4;
pub(super) const TABLES: [&str; 2] = ["a", "b"];
const DECISIONS: usize = 10_000;
const STEPS_PER_CASE: usize = 50;

/// A statement of a random schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Begin,
    BeginImmediate,
    BeginExclusive,
    Read(usize),
    Write(usize),
    Commit,
    Rollback,
}

impl Op {
    pub(super) fn sql(self) -> String {
        match self {
            Self::Begin => "BEGIN".to_owned(),
            Self::BeginImmediate => "BEGIN IMMEDIATE".to_owned(),
            Self::BeginExclusive => "BEGIN EXCLUSIVE".to_owned(),
            Self::Read(table) => format!("SELECT x FROM {}", TABLES[table]),
            Self::Write(table) => format!("UPDATE {} SET x = x + 1", TABLES[table]),
            Self::Commit => "COMMIT".to_owned(),
            Self::Rollback => "ROLLBACK".to_owned(),
        }
    }
}

/// What the rules say about an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attempt {
    Ok,
    /// Waits for these sessions.
    Wait(Vec<usize>),
    /// Fails with this class and code; the transaction stays.
    Refused(&'static str),
}

/// The locking rules of one variant.
pub(super) trait Rules {
    /// Tries the statement; `autocommit` if the session is in no explicit transaction. Called again for
    /// as long as it waits.
    fn attempt(&mut self, session: usize, op: Op, autocommit: bool) -> Attempt;
}

/// Numbers that look random and are the same each time.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("smaller than the limit")
    }
}

/// What a session is doing, whatever the locks.
#[derive(Default, Clone)]
pub(super) struct Actor {
    pub(super) in_transaction: bool,
    pub(super) waits: Option<Op>,
    written: [i128; 2],
}

impl Actor {
    pub(super) fn choose(&self, random: &mut Random) -> Op {
        let table = random.below(TABLES.len());
        match (self.in_transaction, random.below(10)) {
            (false, 0..=3) => Op::Begin,
            (false, 4) => Op::BeginImmediate,
            (false, 5) => Op::BeginExclusive,
            (false, 6..=7) | (true, 0..=3) => Op::Read(table),
            (false, _) | (true, 4..=6) => Op::Write(table),
            (true, 7..=8) => Op::Commit,
            (true, _) => Op::Rollback,
        }
    }

    /// Notes that a statement succeeded; `committed` counts what it made visible.
    pub(super) fn succeed(&mut self, op: Op, committed: &mut [i128; 2]) {
        match op {
            Op::Begin | Op::BeginImmediate | Op::BeginExclusive => self.in_transaction = true,
            Op::Read(_) => {}
            Op::Write(table) if self.in_transaction => self.written[table] += 1,
            Op::Write(table) => committed[table] += 1,
            Op::Commit | Op::Rollback => {
                if op == Op::Commit {
                    (0..2).for_each(|table| committed[table] += self.written[table]);
                }
                self.written = [0; 2];
                self.in_transaction = false;
            }
        }
    }
}

/// The rules with the sessions that live by them: tells what each submission must bring.
struct Oracle<R> {
    rules: R,
    actors: Vec<Actor>,
    queue: Vec<usize>,
    committed: [i128; 2],
}

impl<R: Rules> Oracle<R> {
    fn submit(&mut self, session: usize, op: Op) -> Vec<String> {
        let Some(own) = self.attempt(session, op) else {
            self.actors[session].waits = Some(op);
            self.queue.push(session);
            return vec![self.wait_of(session, op)];
        };
        let mut lines = vec![own];
        let mut released = true;
        while std::mem::take(&mut released) {
            for waiter in self.queue.clone() {
                let op = self.actors[waiter].waits.expect("who queues waits");
                if let Some(line) = self.attempt(waiter, op) {
                    self.queue.retain(|other| *other != waiter);
                    self.actors[waiter].waits = None;
                    lines.push(line);
                    released = true;
                }
            }
        }
        lines
    }

    /// The line of a statement that ended; `None` if it waits.
    fn attempt(&mut self, session: usize, op: Op) -> Option<String> {
        let autocommit = !self.actors[session].in_transaction;
        match self.rules.attempt(session, op, autocommit) {
            Attempt::Ok => {
                self.actors[session].succeed(op, &mut self.committed);
                Some(format!("t{session} ok"))
            }
            Attempt::Refused(error) => Some(format!("t{session} {error}")),
            Attempt::Wait(_) => None,
        }
    }

    fn wait_of(&mut self, session: usize, op: Op) -> String {
        let autocommit = !self.actors[session].in_transaction;
        match self.rules.attempt(session, op, autocommit) {
            Attempt::Wait(blockers) => {
                let names: Vec<String> = blockers.iter().map(|other| format!("t{other}")).collect();
                format!("t{session} waits for {}", names.join(" "))
            }
            other => panic!("an attempt changed its mind: {other:?}"),
        }
    }
}

/// Leaves out what the rules do not tell: rows, counts, the kind of a lock. Resumed statements in any order.
fn comparable(mut lines: Vec<String>) -> Vec<String> {
    for line in &mut lines {
        let end =
            if line.contains(" ok") { line.find(" ok").map(|at| at + 3) } else { line.find(':') };
        line.truncate(end.unwrap_or(line.len()));
    }
    lines[1..].sort();
    lines
}

fn compare<R: Rules>(variant: Variant, rules: impl Fn() -> R) {
    let mut random = Random(0x5eed_0000 + variant as u64);
    let mut decisions = 0;
    let mut waits = 0;
    while decisions < DECISIONS {
        let mut fixture = Fixture::new(variant, None, SESSIONS);
        for table in TABLES {
            fixture.run_lines(&format!(
                "t0 CREATE TABLE {table}(x)\nt0 INSERT INTO {table} VALUES (0)"
            ));
        }
        let actors = vec![Actor::default(); SESSIONS];
        let mut oracle = Oracle { rules: rules(), actors, queue: Vec::new(), committed: [0; 2] };
        let mut transcript = String::new();
        for _ in 0..STEPS_PER_CASE {
            let free: Vec<usize> =
                (0..SESSIONS).filter(|id| oracle.actors[*id].waits.is_none()).collect();
            let session = free[random.below(free.len())];
            let op = oracle.actors[session].choose(&mut random);
            let told = comparable(fixture.submit(session, &op.sql()));
            let expected = comparable(oracle.submit(session, op));
            transcript.push_str(&format!("t{session} {} => {}\n", op.sql(), told.join("; ")));
            assert_eq!(told, expected, "{variant:?}:\n{transcript}");
            decisions += 1;
            waits += usize::from(told[0].contains(" waits "));
        }
        let committed = oracle.committed;
        assert_eq!(final_values(fixture), committed, "{variant:?}:\n{transcript}");
    }
    assert!(waits > DECISIONS / 20, "too few waits to mean anything: {waits}");
}

/// Rolls everything back and reads the tables.
fn final_values(mut fixture: Fixture) -> [i128; 2] {
    fixture.sessions.clear();
    let mut reader = Fixture { pending: vec![false], ..fixture };
    reader.sessions.push(reader.schema.open(&super::options(None)).expect("a session opens"));
    TABLES.map(|table| {
        let told = reader.submit(0, &format!("SELECT x FROM {table}"));
        let value = told[0].strip_prefix("t0 ok [").and_then(|rest| rest.strip_suffix(']'));
        value.and_then(|value| value.parse().ok()).expect("one number is read")
    })
}

#[test]
fn rollback_journal() {
    compare(Variant::Journal, JournalRules::default);
}

#[test]
fn write_ahead_log() {
    compare(Variant::Wal, WalRules::default);
}

#[test]
fn shared_cache() {
    compare(Variant::SharedCache, CacheRules::default);
}
