//! The workloads: which transactions a run is made of.
//!
//! Idea: the ones that the field knows from Jepsen, each made to show certain anomalies. All of them use one table;
//! each workload has its own range of keys, so that a mixture of all is a workload, too. Rows that are there from the
//! beginning are never deleted; rows that are inserted have the number of their transaction in the key, so that no
//! two transactions insert the same one and nobody has to agree on anything.
//!
//! Source: Jepsen's workloads; Elle (list-append); Cerone and others (long fork).

use std::fmt;
use std::str::FromStr;

use crate::plan::{Aggregate, Change, Compound, End, Look, Op, Plan};
use crate::random::Random;

/// Keys per workload.
const SPAN: u64 = 1 << 40;

/// Rows of the register workload, and of others that have single rows.
const ROWS: u64 = 1_000;

/// Rows that get a part of all accesses.
const HOT: u64 = 12;

/// Rows of the hot workload that share a group.
const HOT_GROUP: u64 = 4;

/// Pairs, for write skew and long forks.
const PAIRS: u64 = 60;

/// Accounts of one bank.
const ACCOUNTS: u64 = 8;

/// Banks.
const BANKS: u64 = 20;

/// Transactions whose insertions share a group.
const GROUP: u64 = 12;

/// What an account holds at first.
pub const BALANCE: i64 = 1_000;

/// A workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Workload {
    /// Single rows are read and overwritten.
    Register,
    /// Single rows are read, and an item is appended to their lists.
    ListAppend,
    /// Money is moved between accounts; whole banks are read.
    Bank,
    /// Two rows are written by different transactions, and read together by others.
    LongFork,
    /// Two rows are read, one of them is overwritten.
    WriteSkew,
    /// A group is read by a condition, then a row is inserted into it.
    Predicate,
    /// Rows are inserted into a set; whole sets are read.
    Sets,
    /// Counters are incremented and read.
    Counters,
    /// A few rows are read, written and read again, by many transactions at once.
    Hot,
    /// Rows are inserted, replaced, changed by conditions, deleted, and computed with.
    Generated,
}

impl Workload {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Register,
        Self::ListAppend,
        Self::Bank,
        Self::LongFork,
        Self::WriteSkew,
        Self::Predicate,
        Self::Sets,
        Self::Counters,
        Self::Hot,
        Self::Generated,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::ListAppend => "list-append",
            Self::Bank => "bank",
            Self::LongFork => "long-fork",
            Self::WriteSkew => "write-skew",
            Self::Predicate => "predicate",
            Self::Sets => "sets",
            Self::Counters => "counters",
            Self::Hot => "hot",
            Self::Generated => "generated",
        }
    }

    const fn base(self) -> u64 {
        (self as u64 + 1) * SPAN
    }

    /// Which workload a key belongs to.
    pub fn of_row(row: u64) -> Option<Self> {
        let place = (row / SPAN).checked_sub(1)?;
        Self::ALL.get(usize::try_from(place).ok()?).copied()
    }

    /// The rows that are there from the beginning: key, group, value.
    pub fn initial(self) -> Vec<(u64, u64, i64)> {
        let base = self.base();
        let rows = |count: u64, size: u64, value: i64| {
            (0..count).map(|at| (base + at, base + at / size, value)).collect()
        };
        match self {
            Self::Register | Self::ListAppend | Self::Counters => rows(ROWS, ROWS, 0),
            Self::LongFork | Self::WriteSkew => rows(2 * PAIRS, 2, 0),
            Self::Bank => rows(BANKS * ACCOUNTS, ACCOUNTS, BALANCE),
            Self::Hot => rows(HOT, HOT_GROUP, 0),
            Self::Generated => rows(ROWS, 10, 1),
            Self::Predicate | Self::Sets => Vec::new(),
        }
    }

    /// The keys that a group can have: who reads a group and does not get one of them has seen that it was not there.
    /// `None` if rows of the group are deleted, so that a missing one does not say when it was missing.
    pub fn members(group: u64) -> Option<std::ops::Range<u64>> {
        let workload = Self::of_row(group)?;
        let at = group - workload.base();
        match workload {
            Self::Predicate | Self::Sets => {
                let first = workload.base() + at * GROUP;
                Some(first..first + GROUP)
            }
            Self::LongFork | Self::WriteSkew => {
                Some(workload.base() + 2 * at..workload.base() + 2 * at + 2)
            }
            Self::Bank => {
                let first = workload.base() + at * ACCOUNTS;
                Some(first..first + ACCOUNTS)
            }
            Workload::Hot => {
                let permanent = HOT / HOT_GROUP;
                let (first, size) = match at.checked_sub(permanent) {
                    None => (at * HOT_GROUP, HOT_GROUP),
                    Some(later) => (ROWS + later * GROUP, GROUP),
                };
                Some(workload.base() + first..workload.base() + first + size)
            }
            _ => None,
        }
    }

    /// Whether a row is there from the beginning to the end.
    pub fn is_permanent(row: u64) -> bool {
        Self::of_row(row).is_some_and(|workload| {
            let count = match workload {
                Self::Register | Self::ListAppend | Self::Counters | Self::Generated => ROWS,
                Self::LongFork | Self::WriteSkew => 2 * PAIRS,
                Self::Bank => BANKS * ACCOUNTS,
                Self::Hot => HOT,
                Self::Predicate | Self::Sets => 0,
            };
            row - workload.base() < count
        })
    }

    /// A transaction.
    pub(crate) fn ops(self, random: &mut Random, number: u64) -> Vec<Op> {
        let base = self.base();
        match self {
            Self::Register => register(base, random, number),
            Self::ListAppend => {
                let row = |random: &mut Random| base + some_row(random);
                let op = |random: &mut Random| match random.percent(50) {
                    true => Op::Read(row(random), Look::Plain),
                    false => Op::Append(row(random)),
                };
                (0..2 + random.below(3)).map(|_| op(random)).collect()
            }
            Self::Bank => bank(base, random),
            Self::LongFork => {
                let pair = base + 2 * random.below(PAIRS);
                match random.percent(50) {
                    true => vec![Op::Write(pair + random.below(2), Change::Set(number as i64))],
                    false => [pair, pair + 1].map(|row| Op::Read(row, Look::Plain)).to_vec(),
                }
            }
            Self::WriteSkew => {
                let pair = base + 2 * random.below(PAIRS);
                let written = pair + random.below(2);
                let reads = match random.percent(50) {
                    true => vec![Op::ReadGroup(base + (pair - base) / 2, Look::Plain)],
                    false => [pair, pair + 1].map(|row| Op::Read(row, Look::Plain)).to_vec(),
                };
                reads.into_iter().chain([Op::Write(written, Change::Set(number as i64))]).collect()
            }
            Self::Predicate => {
                let group = base + number / GROUP;
                vec![Op::ReadGroup(group, Look::Plain), Op::Insert(base + number, group)]
            }
            Self::Sets => {
                let group = base + number / GROUP;
                match random.percent(50) {
                    true => vec![Op::Insert(base + number, group)],
                    false => vec![Op::ReadGroup(group, Look::Plain)],
                }
            }
            Self::Counters => {
                let row = base + some_row(random);
                match random.percent(60) {
                    true => vec![Op::Write(row, Change::Add(1))],
                    false => vec![Op::Read(row, Look::Plain)],
                }
            }
            Self::Hot => hot(base, random, number),
            Self::Generated => generated(base, random, number),
        }
    }
}

/// A key below [`ROWS`], a few of them more often than the others.
fn some_row(random: &mut Random) -> u64 {
    if random.percent(15) { random.below(HOT) } else { random.below(ROWS) }
}

fn register(base: u64, random: &mut Random, number: u64) -> Vec<Op> {
    let mut ops = Vec::new();
    for at in 0..2 {
        let row = base + some_row(random);
        let write = Op::Write(row, Change::Set((number * 8 + at) as i64));
        match random.below(100) {
            0..45 => ops.push(Op::Read(row, Look::Plain)),
            45..55 => ops.extend([Op::Read(row, Look::Plain), write]),
            55..60 => ops.extend([Op::Read(row, Look::Locking), write]),
            _ => ops.push(write),
        }
    }
    ops
}

fn bank(base: u64, random: &mut Random) -> Vec<Op> {
    let bank = random.below(BANKS);
    let account = |at: u64| base + bank * ACCOUNTS + at;
    if random.percent(40) {
        return vec![Op::ReadGroup(base + bank, Look::Plain)];
    }
    let from = random.below(ACCOUNTS);
    let to = (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
    let amount = 1 + random.below(9) as i64;
    let look = if random.percent(30) { Look::Locking } else { Look::Plain };
    vec![
        Op::Read(account(from), look),
        Op::Read(account(to), look),
        Op::Write(account(from), Change::Add(-amount)),
        Op::Write(account(to), Change::Add(amount)),
    ]
}

/// What was read or written is looked at again, when others may have come between.
fn hot(base: u64, random: &mut Random, number: u64) -> Vec<Op> {
    let group = base + HOT / HOT_GROUP + number / GROUP;
    if random.percent(30) {
        let look = Op::ReadGroup(group, Look::Plain);
        let insert = Op::Insert(base + ROWS + number, group);
        return match random.percent(60) {
            true => vec![look, insert, look],
            false => vec![look, look],
        };
    }
    let rows = [0; 2].map(|_| base + random.below(HOT));
    let op = |random: &mut Random| {
        let row = rows[random.below(2) as usize];
        match random.below(100) {
            0..40 => Op::Read(row, Look::Plain),
            40..50 => Op::Read(row, Look::Locking),
            50..60 => Op::ReadGroup(base + (row - base) / HOT_GROUP, Look::Plain),
            60..85 => Op::Write(row, Change::Set(number as i64)),
            _ => Op::Write(row, Change::Add(1)),
        }
    };
    (0..3 + random.below(4)).map(|_| op(random)).collect()
}

fn generated(base: u64, random: &mut Random, number: u64) -> Vec<Op> {
    // New rows have keys behind the initial ones, and belong to the same groups.
    let group = |random: &mut Random| base + random.below(ROWS / 10);
    let mut has_inserted = false;
    let mut op = |random: &mut Random| match random.below(100) {
        0..25 => Op::Read(base + some_row(random), Look::Plain),
        25..40 => Op::ReadGroup(group(random), Look::Plain),
        40..45 => Op::ReadGroup(group(random), Look::Locking),
        45..52 => {
            let aggregate = Aggregate::ALL[random.below(4) as usize];
            Op::Compute(aggregate, group(random))
        }
        52..58 => {
            let all = [Compound::Union, Compound::Subquery, Compound::Join];
            let compound = all[random.below(3) as usize];
            let first = group(random);
            // Another one: no row is told twice.
            let second = base + (first - base + 1 + random.below(ROWS / 10 - 1)) % (ROWS / 10);
            Op::ReadCompound(compound, [first, second])
        }
        58..68 => Op::Write(base + some_row(random), Change::Set(number as i64)),
        68..74 => Op::Write(base + some_row(random), Change::Add(1)),
        74..80 => Op::Replace(base + some_row(random)),
        80..88 => Op::WriteGroup(group(random), Change::Add(1)),
        88..94 if !has_inserted => {
            has_inserted = true;
            Op::Insert(base + ROWS + number, group(random))
        }
        // What was inserted a while ago, so that the table does not grow for ever.
        _ => Op::Delete(base + ROWS + number.saturating_sub(1 + random.below(200))),
    };
    (0..2 + random.below(5)).map(|_| op(random)).collect()
}

/// The plan of a transaction; `number` is its own among all transactions of the run.
pub fn plan(workloads: &[Workload], seed: u64, number: u64) -> Plan {
    let mut random = Random::new(seed, number);
    let workload = workloads[random.below(workloads.len() as u64) as usize];
    let ops = workload.ops(&mut random, number);
    // Others can see what is rolled back only if it has been written, and for a moment.
    let rolled_back = if workload == Workload::Hot { 15 } else { 3 };
    let end = if random.percent(rolled_back) { End::Rollback } else { End::Commit };
    Plan { ops, end, at_once: random.percent(70) }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown workload '{0}'")]
pub struct UnknownWorkload(pub String);

impl FromStr for Workload {
    type Err = UnknownWorkload;

    fn from_str(text: &str) -> Result<Self, UnknownWorkload> {
        let found = Self::ALL.into_iter().find(|workload| workload.name() == text);
        found.ok_or_else(|| UnknownWorkload(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_made_again_from_seed_and_number() {
        for number in 1..500 {
            assert_eq!(plan(&Workload::ALL, 7, number), plan(&Workload::ALL, 7, number));
        }
        assert_ne!(
            (1..50).map(|n| plan(&Workload::ALL, 7, n)).collect::<Vec<_>>(),
            (1..50).map(|n| plan(&Workload::ALL, 8, n)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn initial_rows_are_members_of_their_groups() {
        for workload in Workload::ALL {
            for (row, group, _) in workload.initial() {
                assert_eq!(Workload::of_row(row), Some(workload));
                assert!(Workload::members(group).is_none_or(|members| members.contains(&row)));
            }
        }
        for number in 1..2_000 {
            for op in plan(&[Workload::Sets, Workload::Predicate, Workload::Hot], 3, number).ops {
                if let Op::Insert(row, group) = op {
                    assert!(Workload::members(group).expect("of sets").contains(&row));
                }
            }
        }
    }
}
