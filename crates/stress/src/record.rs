//! What a transaction told: which versions it read, which it wrote and replaced.
//!
//! Idea: rows name their versions ([`crate::token`]), so an answer is a list of versions. What the answer alone proves
//! to be wrong is a [`Blunder`]: a row that is not there although nobody deletes it, a write that is not in the row, a
//! sum that is not that of the rows beside it. What is not certain is left out: a missing row counts as read only
//! where rows of its group are never deleted.

use anchorite_check::live;
use anchorite_check::model::Outcome;
use anchorite_model::{ErrorClass, Rows, Value};

use crate::plan::{Aggregate, End, Look, Op, Plan};
use crate::token::{token, version};
use crate::workload::{BALANCE, Workload};

/// Somebody changed a row that was read with a lock.
pub const LOCK_NOT_HELD: &str = "lock-not-held";

/// How a version was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By a plain read.
    Plain,
    /// By a locking read.
    Locking,
    /// As the one that a write replaced.
    Replaced,
    /// That a group has no such row, by a plain read.
    Absent,
}

/// A version that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The row.
    pub row: u64,
    /// How.
    pub way: Way,
    /// The token of the version that was there.
    pub token: u64,
    /// The token of the version that was written in its place; 0 if none was.
    pub wrote: u64,
    /// The number of writes that the row has had, this one included.
    pub n: u64,
}

/// What a single answer proves to be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blunder {
    /// Its name.
    pub name: &'static str,
    /// A sentence.
    pub because: String,
}

/// A transaction that has ended.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its number.
    pub number: u64,
    /// Its session.
    pub session: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, if it was meant to commit.
    pub error: Option<ErrorClass>,
    /// What it saw and wrote, in program order.
    pub seen: Vec<Seen>,
    /// What its answers prove.
    pub blunders: Vec<Blunder>,
    /// From its begin to its end, in microseconds.
    pub micros: u32,
}

/// Reads the answers of a transaction.
pub struct Reader<'p> {
    number: u64,
    plan: &'p Plan,
    seen: Vec<Seen>,
    blunders: Vec<Blunder>,
}

/// One row of an answer.
struct Row {
    id: u64,
    v: i64,
    w: u64,
    p: u64,
    n: u64,
    last: Value,
}

impl Row {
    fn read(cells: Vec<Value>) -> Option<Self> {
        let [id, v, w, p, n, last] = <[Value; 6]>::try_from(cells).ok()?;
        let whole = |value: &Value| match value {
            Value::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        let Value::Int(v) = v else { return None };
        let v = i64::try_from(v).ok()?;
        Some(Self { id: whole(&id)?, v, w: whole(&w)?, p: whole(&p)?, n: whole(&n)?, last })
    }
}

impl<'p> Reader<'p> {
    /// For one transaction.
    pub fn new(number: u64, plan: &'p Plan) -> Self {
        Self { number, plan, seen: Vec::new(), blunders: Vec::new() }
    }

    /// The answer to one operation of the plan; empty for an INSERT.
    pub fn answer(&mut self, place: usize, rows: Rows) {
        let own = token(self.number, place);
        let rows: Option<Vec<Row>> = rows.rows.into_iter().map(Row::read).collect();
        let Some(rows) = rows else {
            return self.blunder(
                "unreadable-row",
                format!("statement {} answered with a row that nobody wrote", place + 1),
            );
        };
        match self.plan.ops[place] {
            Op::Read(row, look) => {
                if rows.is_empty() {
                    self.missing(row, place);
                }
                rows.iter().for_each(|row| self.read(row, look, place));
            }
            Op::ReadGroup(group, look) => self.group(group, &rows, look, place),
            Op::Compute(aggregate, _) => self.computed(aggregate, &rows, place),
            Op::ReadCompound(..) => rows.iter().for_each(|row| self.read(row, Look::Plain, place)),
            Op::Write(row, _) | Op::Append(row) | Op::Replace(row) => {
                if rows.is_empty() {
                    self.missing(row, place);
                }
                rows.iter().for_each(|row| self.wrote(row, own, place));
            }
            Op::WriteGroup(..) => rows.iter().for_each(|row| self.wrote(row, own, place)),
            Op::Insert(row, _) => {
                self.seen.push(Seen { row, way: Way::Replaced, token: 0, wrote: own, n: 1 });
            }
            Op::Delete(_) => {
                for Row { id, w, n, .. } in &rows {
                    self.still_locked(*id, *w, place);
                    let (way, n) = (Way::Replaced, n + 1);
                    self.seen.push(Seen { row: *id, way, token: *w, wrote: own, n });
                }
            }
        }
    }

    /// What it did to rows whose answers never came: who reads that has read what does not count.
    pub fn attempted(&mut self, from: usize) {
        for (place, op) in self.plan.ops.iter().enumerate().skip(from) {
            if let Op::Write(row, _) | Op::Append(row) | Op::Replace(row) | Op::Insert(row, _) = *op
            {
                let wrote = token(self.number, place);
                self.seen.push(Seen { row, way: Way::Replaced, token: u64::MAX, wrote, n: 0 });
            }
        }
    }

    /// The record of it.
    pub fn finish(self, session: u32, outcome: Outcome) -> Record {
        let Self { number, seen, blunders, .. } = self;
        Record { number, session, outcome, error: None, seen, blunders, micros: 0 }
    }

    fn blunder(&mut self, name: &'static str, because: String) {
        self.blunders.push(Blunder { name, because });
    }

    fn last_own(&self, row: u64) -> Option<u64> {
        let own = self.seen.iter().rev().find(|seen| seen.row == row && seen.wrote > 0);
        own.map(|seen| seen.wrote)
    }

    fn missing(&mut self, row: u64, place: usize) {
        if Workload::is_permanent(row) {
            let what =
                format!("statement {} did not find row {row}, which nobody deletes", place + 1);
            self.blunder("row-missing", what);
        }
    }

    fn read(&mut self, row: &Row, look: Look, place: usize) {
        let Row { id, w, n, .. } = *row;
        if let Some(own) = self.last_own(id)
            && own != w
        {
            let what = format!(
                "statement {} does not see what its own transaction wrote to row {id}",
                place + 1
            );
            self.blunder("internal", what);
        }
        self.contents(row);
        let way = match look {
            Look::Plain => Way::Plain,
            Look::Locking => Way::Locking,
        };
        self.seen.push(Seen { row: id, way, token: w, wrote: 0, n });
    }

    fn group(&mut self, group: u64, rows: &[Row], look: Look, place: usize) {
        rows.iter().for_each(|row| self.read(row, look, place));
        for row in Workload::members(group).into_iter().flatten() {
            if rows.iter().any(|there| there.id == row) {
                continue;
            }
            self.missing(row, place);
            if self.last_own(row).is_some() {
                let what = format!(
                    "statement {} does not see row {row}, which its own transaction wrote",
                    place + 1
                );
                self.blunder("internal", what);
            } else if !Workload::is_permanent(row) && look == Look::Plain {
                self.seen.push(Seen { row, way: Way::Absent, token: 0, wrote: 0, n: 0 });
            }
        }
    }

    fn computed(&mut self, aggregate: Aggregate, rows: &[Row], place: usize) {
        rows.iter().for_each(|row| self.read(row, Look::Plain, place));
        let Some(first) = rows.first() else { return };
        let told = match &first.last {
            Value::Int(number) => Some(*number),
            Value::Decimal(text) => text.parse().ok(),
            _ => None,
        };
        let computed = aggregate.of(rows.iter().map(|row| row.v));
        if told != computed {
            let what = format!(
                "statement {} answered that {} is {:?} beside rows of which it is {}",
                place + 1,
                aggregate.sql(),
                first.last,
                computed.unwrap_or_default()
            );
            self.blunder("fractured-statement", what);
        }
    }

    fn wrote(&mut self, row: &Row, own: u64, place: usize) {
        let Row { id, w, p, n, .. } = *row;
        if w != own {
            let what = format!("what statement {} wrote to row {id} is not there", place + 1);
            return self.blunder("internal", what);
        }
        self.contents(row);
        self.still_locked(id, p, place);
        self.seen.push(Seen { row: id, way: Way::Replaced, token: p, wrote: own, n });
    }

    /// What a locking read has shown stays until its transaction ends, or writes it.
    fn still_locked(&mut self, row: u64, replaced: u64, place: usize) {
        let last = self.seen.iter().rev().find(|seen| seen.row == row && seen.way != Way::Plain);
        if let Some(seen) = last.filter(|seen| seen.way == Way::Locking && seen.token != replaced) {
            let what = format!(
                "row {row} was read with a lock as {} and is {replaced} when statement {} replaces it",
                seen.token,
                place + 1
            );
            self.blunder(LOCK_NOT_HELD, what);
        }
    }

    /// What a row holds belongs to the version that it says it is.
    fn contents(&mut self, row: &Row) {
        if row.w > 0 && row.w == row.p {
            let what =
                format!("row {} says that {} replaced itself: it was written twice", row.id, row.w);
            self.blunder("torn-row", what);
        }
        if Workload::of_row(row.id) == Some(Workload::Counters) && row.v != row.n as i64 {
            let what =
                format!("counter {} was incremented {} times and is {}", row.id, row.n, row.v);
            self.blunder("torn-row", what);
        }
        self.list(row);
    }

    /// The end of a list is the version, and what is before it the version before.
    fn list(&mut self, row: &Row) {
        let Value::Text(list) = &row.last else { return };
        let mut items = list.rsplit(',').filter_map(|item| item.parse::<u64>().ok());
        let (last, before) = (items.next(), items.next());
        let is_torn =
            last.is_some_and(|last| last != row.w) || before.is_some_and(|before| before != row.p);
        if is_torn {
            let what = format!(
                "row {} says that {} wrote it after {}, and its list ends with {list}",
                row.id, row.w, row.p
            );
            self.blunder("torn-row", what);
        }
    }
}

impl Record {
    /// For the judge of running histories; `ended` is its time.
    pub fn transaction(&self, ended: u64) -> live::Transaction {
        let reads = self.seen.iter().filter(|seen| seen.way != Way::Replaced);
        let reads = reads.map(|seen| live::Read { row: seen.row, version: version(seen.token) });
        let writes = self.seen.iter().filter(|seen| seen.way == Way::Replaced);
        let writes = writes.map(|seen| live::Write {
            row: seen.row,
            write: version(seen.wrote).write,
            replaced: if seen.token == u64::MAX {
                live::Version::INITIAL
            } else {
                version(seen.token)
            },
        });
        live::Transaction {
            number: self.number,
            session: self.session,
            ended,
            outcome: self.outcome,
            reads: reads.collect(),
            writes: writes.collect(),
        }
    }
}

/// The final state, as a transaction that read everything; and what it proves by itself.
pub fn final_state(number: u64, rows: Rows) -> (Record, Vec<Blunder>) {
    let plan = Plan { ops: Vec::new(), end: End::Commit, at_once: false };
    let mut reader = Reader::new(number, &plan);
    let all = rows.rows.into_iter().map(Row::read);
    let all: Vec<Row> = all.collect::<Option<_>>().unwrap_or_else(|| {
        reader.blunder("unreadable-row", "the final state has a row that nobody wrote".to_owned());
        Vec::new()
    });
    all.iter().for_each(|row| reader.read(row, Look::Plain, 0));
    let accounts = all.iter().filter(|row| Workload::of_row(row.id) == Some(Workload::Bank));
    let (count, total) = accounts.fold((0, 0), |(count, sum), row| (count + 1, sum + row.v));
    if total != count * BALANCE {
        let what =
            format!("{count} accounts hold {total} in the end instead of {}", count * BALANCE);
        reader.blunder("money-lost", what);
    }
    let mut record = reader.finish(u32::MAX, Outcome::Committed);
    let blunders = std::mem::take(&mut record.blunders);
    (record, blunders)
}
